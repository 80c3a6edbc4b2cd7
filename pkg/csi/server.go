// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package csi is what the CSI drivers for OpenStack share: they serve all sites of a shoot in one process, open sites on demand, and
// distinguish temporary from permanent errors.
package csi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"runtime/debug"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"
)

// Services are the CSI services of the process. Controller or Node may be nil.
type Services struct {
	// Identity describes the driver.
	Identity csi.IdentityServer
	// Controller creates, deletes and attaches volumes.
	Controller csi.ControllerServer
	// Node mounts volumes.
	Node csi.NodeServer
}

// Serve serves CSI at the endpoint, unix://<path> or tcp://<address>, until ctx is done and running requests have completed.
func Serve(ctx context.Context, endpoint string, services Services) error {
	listener, err := listen(endpoint)
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(intercept))
	csi.RegisterIdentityServer(server, services.Identity)
	if services.Controller != nil {
		csi.RegisterControllerServer(server, services.Controller)
	}
	if services.Node != nil {
		csi.RegisterNodeServer(server, services.Node)
	}
	defer context.AfterFunc(ctx, server.GracefulStop)()
	klog.InfoS("Serving", "endpoint", endpoint, "controller", services.Controller != nil, "node", services.Node != nil)
	if err := server.Serve(listener); !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil // ctx was done before the server started
}

func listen(endpoint string) (net.Listener, error) {
	network, address, ok := strings.Cut(endpoint, "://")
	if !ok || address == "" || network != "unix" && network != "tcp" {
		return nil, fmt.Errorf("endpoint must be unix://<path> or tcp://<address>, got %q", endpoint)
	}
	if network == "unix" {
		// Remove the socket of a killed process.
		if err := os.Remove(address); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return net.Listen(network, address)
}

// intercept logs failed requests, and converts panics to errors so that the process keeps serving other sites.
func intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (answer any, err error) {
	defer func() {
		if r := recover(); r != nil {
			klog.ErrorS(nil, "Request panicked", "method", info.FullMethod, "panic", r, "stack", string(debug.Stack()))
			answer, err = nil, status.Errorf(codes.Internal, "%s panicked", info.FullMethod)
		}
		if err != nil {
			klog.ErrorS(err, "Request failed", "method", info.FullMethod)
		}
	}()
	return handler(ctx, request)
}
