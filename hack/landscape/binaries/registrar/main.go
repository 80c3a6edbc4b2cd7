// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Command csi-registrar stands for csi-node-driver-registrar and for csi-liveness-probe, which the Go module proxy does not have. With
// the flags of the former, it registers a CSI driver at kubelet; with those of the latter, it says by HTTP whether the driver is ready.
package main

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/kubernetes-csi/csi-lib-utils/connection"
	"github.com/kubernetes-csi/csi-lib-utils/rpc"
	"google.golang.org/grpc"
	"k8s.io/klog/v2"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

var (
	driverSocket = flag.String("csi-address", "/run/csi/socket", "Socket of the CSI driver.")

	kubeletPath     = flag.String("kubelet-registration-path", "", "Socket of the CSI driver as kubelet sees it. Registers the driver.")
	registrationDir = flag.String("plugin-registration-path", "/registration", "Folder that kubelet watches.")
	timeout         = flag.Duration("timeout", time.Second, "How long the driver may take to say its name.")

	httpEndpoint = flag.String("http-endpoint", "", "Address to serve /healthz at, if the driver is not registered.")
	probeTimeout = flag.Duration("probe-timeout", time.Second, "How long a probe of the driver may take.")
)

func main() {
	klog.InitFlags(nil)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil && ctx.Err() == nil {
		klog.ErrorS(err, "Failed")
		klog.FlushAndExit(klog.ExitFlushTimeout, 1)
	}
}

// run connects to the driver, however long it takes to start, and does what the flags say until ctx ends.
func run(ctx context.Context) error {
	if *kubeletPath == "" && *httpEndpoint == "" {
		return errors.New("neither --kubelet-registration-path nor --http-endpoint is set")
	}
	driver, err := connection.Connect(ctx, *driverSocket, nil, connection.WithTimeout(0))
	if err != nil {
		return err
	}
	defer func() { _ = driver.Close() }()
	if *kubeletPath != "" {
		return register(ctx, driver)
	}
	return serveProbe(ctx, driver)
}

// register serves what kubelet asks a plugin for, until ctx ends or kubelet does not register the driver.
func register(ctx context.Context, driver *grpc.ClientConn) error {
	limited, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	name, err := rpc.GetDriverName(limited, driver)
	if err != nil {
		return err
	}

	socket := filepath.Join(*registrationDir, name+"-reg.sock")
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return err
	}
	klog.InfoS("Serve kubelet", "driver", name, "socket", socket)
	ctx, end := context.WithCancelCause(ctx)
	server := grpc.NewServer()
	registerapi.RegisterRegistrationServer(server, &registration{name: name, end: end})
	go func() { end(server.Serve(listener)) }()
	<-ctx.Done()
	server.GracefulStop() // removes the socket, too
	return context.Cause(ctx)
}

// registration is what kubelet asks a plugin for.
type registration struct {
	registerapi.UnimplementedRegistrationServer
	name string
	end  context.CancelCauseFunc
}

// GetInfo says where the driver is.
func (r *registration) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{
		Type:              registerapi.CSIPlugin,
		Name:              r.name,
		Endpoint:          *kubeletPath,
		SupportedVersions: []string{"1.0.0"},
	}, nil
}

// NotifyRegistrationStatus ends the process if kubelet did not register the driver, as restarts of it are seen.
func (r *registration) NotifyRegistrationStatus(_ context.Context, status *registerapi.RegistrationStatus) (
	*registerapi.RegistrationStatusResponse, error) {
	if !status.PluginRegistered {
		r.end(errors.New("kubelet did not register the driver: " + status.Error))
	} else {
		klog.InfoS("Kubelet registered the driver", "driver", r.name)
	}
	return &registerapi.RegistrationStatusResponse{}, nil
}

// serveProbe serves /healthz, which is well if the driver is ready.
func serveProbe(ctx context.Context, driver *grpc.ClientConn) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, request *http.Request) {
		ctx, cancel := context.WithTimeout(request.Context(), *probeTimeout)
		defer cancel()
		ready, err := rpc.Probe(ctx, driver)
		if err == nil && !ready {
			err = errors.New("the driver is not ready")
		}
		if err != nil {
			klog.ErrorS(err, "Probe failed")
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	server := &http.Server{Addr: *httpEndpoint, Handler: mux, ReadHeaderTimeout: *probeTimeout}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return server.ListenAndServe()
}
