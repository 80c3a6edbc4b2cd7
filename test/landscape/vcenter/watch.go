// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
)

// watchTimeout is how long Watch waits for the vCenter.
const watchTimeout = 5 * time.Second

// csiDriver is the name of the CSI driver of vSphere. What its controller adds to the labels of nodes is not played.
const csiDriver = "csi.vsphere.vmware.com"

// Machine is a virtual machine as the vCenter sees it.
type Machine struct {
	// ID is the UUID of the virtual machine.
	ID string
	// Name is its name.
	Name string
	// On is whether it is powered on.
	On bool
	// Guest is the guest operating system, which is that of the template it was made of.
	Guest string
	// Addresses are what the guest reports, without those that are only for the link.
	Addresses []string
}

// NodeAddresses are the addresses as the machine's node reports them.
func (m Machine) NodeAddresses() []corev1.NodeAddress {
	addresses := []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: m.Name}}
	for _, address := range m.Addresses {
		addresses = append(addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
	}
	return addresses
}

// Watch looks at the virtual machines of a shoot.
type Watch struct {
	server *VCenter
	prefix string

	mutex  sync.Mutex
	client *vim25.Client
}

// NewWatch watches the virtual machines whose names begin with prefix.
func NewWatch(server *VCenter, prefix string) *Watch {
	return &Watch{server: server, prefix: prefix}
}

// Machines returns the virtual machines by UUID.
func (w *Watch) Machines(ctx context.Context) (map[string]Machine, error) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	client, err := w.connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at the vCenter: %w", err)
	}
	found, err := retrieve[mo.VirtualMachine](ctx, client, "VirtualMachine", "name", "config.uuid", "config.guestId", "runtime.powerState",
		"guest.net")
	if err != nil {
		return nil, fmt.Errorf("look at the vCenter: %w", err)
	}
	machines := map[string]Machine{}
	for _, vm := range found {
		if !strings.HasPrefix(vm.Name, w.prefix) || vm.Config == nil {
			continue
		}
		m := Machine{ID: vm.Config.Uuid, Name: vm.Name, On: vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn,
			Guest: vm.Config.GuestId}
		if vm.Guest != nil {
			for _, card := range vm.Guest.Net {
				m.Addresses = append(m.Addresses, slices.DeleteFunc(card.IpAddress, isLinkLocal)...)
			}
		}
		slices.Sort(m.Addresses)
		machines[m.ID] = m
	}
	return machines, nil
}

// isLinkLocal reports whether nodes do not have the address.
func isLinkLocal(address string) bool {
	parsed, err := netip.ParseAddr(address)
	return err != nil || parsed.IsLinkLocalUnicast()
}

func (w *Watch) connect(ctx context.Context) (*vim25.Client, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.client != nil {
		return w.client, nil
	}
	client, err := w.server.Client(ctx)
	if err == nil {
		w.client = client
	}
	return client, err
}

// Active returns the virtual machines for the kubelets whose guests have an address.
func (w *Watch) Active(ctx context.Context) (map[string]kubelets.Server, error) {
	machines, err := w.Machines(ctx)
	active := map[string]kubelets.Server{}
	for id, m := range machines {
		if m.On && len(m.Addresses) > 0 {
			active[id] = kubelets.Server{Addresses: m.NodeAddresses(), SystemUUID: id, Topology: map[string]map[string]string{csiDriver: {}}}
		}
	}
	return active, err
}

// retrieve reads properties of all objects of a type.
func retrieve[T any](ctx context.Context, client *vim25.Client, kind string, properties ...string) ([]T, error) {
	v, err := view.NewManager(client).CreateContainerView(ctx, client.ServiceContent.RootFolder, []string{kind}, true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Destroy(ctx) }()
	var found []T
	return found, v.Retrieve(ctx, []string{kind}, properties, &found)
}
