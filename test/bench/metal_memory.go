// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

const (
	manyHosts = 1000

	// A host has as many disks, network cards and processor flags as one in a data center.
	hostDisks, hostCards, hostFlags = 12, 8, 150
)

// measureMetalMemory reads the memory of the driver when many machines are running on a part of an inventory without an operator.
func measureMetalMemory(ctx context.Context, b *Bed) (m Measurement, err error) {
	s, l, err := newMetalLab(ctx, b, func(ctx context.Context, s *metalSite) error {
		fmt.Fprintf(b.progress, "  make %d hosts\n", manyHosts)
		return s.populate(ctx, manyHosts)
	})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	defer l.close()
	l.playKubelets(l.created, time.Second)

	fmt.Fprintf(b.progress, "  create %d machines\n", memoryMachines)
	start := time.Now()
	m.Records, err = s.record(ctx, "create", func(ctx context.Context) error {
		_, err := l.scale(ctx, memoryMachines, memoryTimeout)
		return err
	})
	if err != nil {
		return m, err
	}
	size, err := s.sizeOfHost(ctx)
	if err != nil {
		return m, err
	}
	m.Note = fmt.Sprintf("kube-apiserver without operator; real machine-controller-manager; %d hosts of %.0f KiB each; %d machines were "+
		"running after %.0f s with %.1f requests for each",
		manyHosts, size, memoryMachines, time.Since(start).Seconds(), requests(m.Records)/memoryMachines)
	return m, m.addMemory(l.Driver)
}

// created are the machines that were created: their nodes join at once.
func (l *lab) created(ctx context.Context) (map[string]kubelets.Server, error) {
	machines := &machinev1alpha1.MachineList{}
	err := l.Client.List(ctx, machines, client.InNamespace(l.namespace))
	servers := map[string]kubelets.Server{}
	for _, m := range machines.Items {
		if m.Spec.ProviderID != "" {
			servers[path.Base(m.Spec.ProviderID)] = kubelets.Server{}
		}
	}
	return servers, err
}

// populate ends the operator and makes hosts that look as if it had inspected them.
func (s *metalSite) populate(ctx context.Context, count int) error {
	s.inventory.Metal3.Stop(ctx)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range count {
		group.Go(func() error {
			name := fmt.Sprintf("host-%d", i+1)
			if err := s.inventory.CreateHost(ctx, name, map[string]string{rackLabel: rackName}, nil); err != nil {
				return err
			}
			patch, err := json.Marshal(map[string]any{"status": inspected(name)})
			if err != nil {
				return err
			}
			return s.inventory.Client.Status().Patch(ctx, rawHost(name), client.RawPatch(types.MergePatchType, patch))
		})
	}
	return group.Wait()
}

// sizeOfHost is the size of a host in JSON, in KiB.
func (s *metalSite) sizeOfHost(ctx context.Context) (float64, error) {
	host := rawHost("host-1")
	if err := s.inventory.Client.Get(ctx, client.ObjectKeyFromObject(host), host); err != nil {
		return 0, err
	}
	content, err := json.Marshal(host)
	return float64(len(content)) / 1024, err
}

func rawHost(name string) *unstructured.Unstructured {
	host := &unstructured.Unstructured{}
	host.SetGroupVersionKind(metal3v1alpha1.GroupVersion.WithKind("BareMetalHost"))
	host.SetNamespace(metal.Namespace)
	host.SetName(name)
	return host
}

// inspected is the status of a host that is available.
func inspected(name string) metal3v1alpha1.BareMetalHostStatus {
	details := &metal3v1alpha1.HardwareDetails{
		SystemVendor: metal3v1alpha1.HardwareSystemVendor{Manufacturer: "Example", ProductName: "Server 1", SerialNumber: name},
		Firmware:     metal3v1alpha1.Firmware{BIOS: metal3v1alpha1.BIOS{Date: "2026-01-01", Vendor: "Example", Version: "1.0"}},
		RAMMebibytes: 512 << 10,
		CPU:          metal3v1alpha1.CPU{Arch: "x86_64", Model: "Example Processor", ClockMegahertz: 3000, Count: 128},
		Hostname:     name,
	}
	for i := range hostFlags {
		details.CPU.Flags = append(details.CPU.Flags, fmt.Sprintf("flag_%d", i))
	}
	for i := range hostDisks {
		details.Storage = append(details.Storage, metal3v1alpha1.Storage{
			Name: fmt.Sprintf("/dev/disk/by-path/pci-0000:c1:00.0-nvme-%d", i), AlternateNames: []string{fmt.Sprintf("/dev/nvme%dn1", i)},
			Type: metal3v1alpha1.NVME, SizeBytes: 4 << 40, Vendor: "Example", Model: "Disk 1", SerialNumber: fmt.Sprintf("%s-%d", name, i),
			WWN: fmt.Sprintf("eui.%032x", i), HCTL: fmt.Sprintf("0:0:%d:0", i),
		})
	}
	for i := range hostCards {
		details.NIC = append(details.NIC, metal3v1alpha1.NIC{
			Name: fmt.Sprintf("enp%ds0", i), Model: "0x8086 0x1592", MAC: fmt.Sprintf("02:00:00:00:01:%02x", i), SpeedGbps: 100,
			LLDP: &metal3v1alpha1.LLDP{SwitchID: "02:00:00:00:02:00", PortID: fmt.Sprintf("Ethernet1/%d", i),
				SwitchSystemName: "switch-" + strings.ToLower(name)},
		})
	}
	return metal3v1alpha1.BareMetalHostStatus{
		OperationalStatus: metal3v1alpha1.OperationalStatusOK,
		HardwareProfile:   "unknown",
		HardwareDetails:   details,
		Provisioning:      metal3v1alpha1.ProvisionStatus{State: metal3v1alpha1.StateAvailable, ID: name},
	}
}
