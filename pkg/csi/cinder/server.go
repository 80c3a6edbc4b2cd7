// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cinder

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

// Services are those of the process. The controller or the node service may be nil.
type Services struct {
	// Identity says what the driver is.
	Identity csi.IdentityServer
	// Controller creates, deletes and attaches volumes.
	Controller csi.ControllerServer
	// Node mounts volumes.
	Node csi.NodeServer
}

// Serve serves CSI at the endpoint, unix://<path> or tcp://<address>, until ctx ends and the requests that run are answered.
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
	return nil // ctx ended before the server began
}

func listen(endpoint string) (net.Listener, error) {
	network, address, ok := strings.Cut(endpoint, "://")
	if !ok || address == "" || network != "unix" && network != "tcp" {
		return nil, fmt.Errorf("endpoint %q is neither unix://<path> nor tcp://<address>", endpoint)
	}
	if network == "unix" {
		// What a process left that was killed.
		if err := os.Remove(address); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return net.Listen(network, address)
}

// intercept logs requests that fail, and lets a request that panics fail instead of the process, which serves other sites, too.
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
