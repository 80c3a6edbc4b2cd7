// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Command vsphere-node stands for the node service of vSphere's CSI driver on machines without the firmware of a virtual machine, which the
// original reads. It says who it is, and mounts nothing.
package main

import (
	"context"
	"flag"
	"net"
	"os"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"k8s.io/klog/v2"
)

const driver = "csi.vsphere.vmware.com"

type node struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedNodeServer
}

func main() {
	flag.String("fss-name", "", "Is not used.")
	flag.String("fss-namespace", "", "Is not used.")
	flag.Parse()
	socket := strings.TrimPrefix(os.Getenv("CSI_ENDPOINT"), "unix://")
	_ = os.Remove(socket) // of who ran before
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", socket)
	if err != nil {
		klog.ErrorS(err, "Failed")
		klog.FlushAndExit(klog.ExitFlushTimeout, 1)
	}
	server, service := grpc.NewServer(), &node{}
	csi.RegisterIdentityServer(server, service)
	csi.RegisterNodeServer(server, service)
	klog.ErrorS(server.Serve(listener), "Ended")
}

// GetPluginInfo says what the driver is.
func (*node) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: driver, VendorVersion: "played"}, nil
}

// GetPluginCapabilities says that it has none.
func (*node) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	return &csi.GetPluginCapabilitiesResponse{}, nil
}

// Probe says that it is ready.
func (*node) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(true)}, nil
}

// NodeGetInfo says which node this is.
func (*node) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: os.Getenv("NODE_NAME")}, nil
}

// NodeGetCapabilities says that it has none.
func (*node) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	return &csi.NodeGetCapabilitiesResponse{}, nil
}
