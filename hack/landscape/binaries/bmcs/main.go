// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Command bmcs runs the BMCs of servers that metal-operator tests itself with. Each argument is address=UUID of one of them.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/ironcore-dev/metal-operator/bmc/mock/server"
)

const (
	system       = "/redfish/v1/Systems/437XR1138R2"
	startTimeout = 10 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	for _, argument := range os.Args[1:] {
		go func() { cancel(run(ctx, argument)) }()
	}
	<-ctx.Done()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run runs one BMC until ctx ends.
func run(ctx context.Context, argument string) error {
	address, uuid, ok := strings.Cut(argument, "=")
	if !ok {
		return fmt.Errorf("%q is not address=UUID", argument)
	}
	failed := make(chan error, 1)
	go func() { failed <- server.NewMockServer(logr.Discard(), address).Start(ctx) }()
	if err := setUUID(ctx, address, uuid); err != nil {
		return err
	}
	return <-failed
}

// setUUID gives the system of a BMC its own UUID, once the BMC answers: all have the same one.
func setUUID(ctx context.Context, address, uuid string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = connection.Close()
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", address, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	body := strings.NewReader(fmt.Sprintf(`{"UUID":%q}`, uuid))
	request, err := http.NewRequestWithContext(ctx, http.MethodPatch, "http://"+address+system, body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s: set the UUID: %s", address, response.Status)
	}
	return nil
}
