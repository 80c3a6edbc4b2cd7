// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package csi

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/apiserver/pkg/server/routes"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// headerTimeout limits how long a client may take to send its headers.
const headerTimeout = 10 * time.Second

// ServeMetrics serves metrics at the address until ctx is done. It serves none if the address is empty.
func ServeMetrics(ctx context.Context, address string) error {
	if err := legacyregistry.Registerer().Register(platform.RequestDuration); err != nil {
		return err
	}
	if address == "" {
		return nil
	}
	handler := http.NewServeMux()
	handler.Handle("/metrics", legacyregistry.HandlerWithReset())
	return serve(ctx, address, handler)
}

// ServeProfiles serves profiles at the address until ctx is done. It serves none if the address is empty.
func ServeProfiles(ctx context.Context, address string) error {
	if address == "" {
		return nil
	}
	recorder := mux.NewPathRecorderMux("profiles")
	routes.Profiling{}.Install(recorder)
	return serve(ctx, address, recorder)
}

func serve(ctx context.Context, address string, handler http.Handler) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			klog.ErrorS(err, "Server failed", "address", address)
		}
	}()
	return nil
}
