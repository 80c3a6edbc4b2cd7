// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	mergePatch = types.MergePatchType

	availableTimeout = 2 * time.Minute
	available        = "available"
	provisioned      = "provisioned"
	hostLabel        = "environment.metal3.io"

	annotationProvisionTime = "landscape/provision-time"
)

// Batch are hosts that are alike.
type Batch struct {
	// Prefix is what the hosts' names begin with. A number follows.
	Prefix string
	// Count is how many there are.
	Count int
	// Labels are the labels of each.
	Labels map[string]string
	// Provisioning is how long writing an image to a BareMetalHost takes. Default: that of all hosts of the inventory.
	Provisioning time.Duration
	// Retain is whether an IronCore server stays with its claim until Clean. BareMetalHosts are always cleaned.
	Retain bool
}

// Host is a BareMetalHost or a Server.
type Host struct {
	// Name is its name.
	Name string
	// Labels are its labels.
	Labels map[string]string
	// State is the state that its operator reports.
	State string
	// On is whether it is powered on.
	On bool
	// Consumer is namespace/name of what uses the host, empty if nothing does.
	Consumer string
	// Image is what the operator wrote to the BareMetalHost, empty if it wrote nothing.
	Image string
	// Error is the operator's message about what is wrong with a BareMetalHost. A Server has none: its state is Error.
	Error string
}

// MakeHosts makes BareMetalHosts, waits until they are available and returns their names.
func (i *Inventory) MakeHosts(ctx context.Context, batch Batch) ([]string, error) {
	var (
		names       []string
		annotations map[string]string
	)
	if batch.Provisioning > 0 {
		annotations = map[string]string{annotationProvisionTime: batch.Provisioning.String()}
	}
	for n := range batch.Count {
		name := fmt.Sprintf("%s-%d", batch.Prefix, n+1)
		names = append(names, name)
		if err := i.CreateHost(ctx, name, batch.Labels, annotations); err != nil {
			return nil, fmt.Errorf("host %s: %w", name, err)
		}
	}
	return names, i.WaitForHosts(ctx, available, names...)
}

// CreateHost creates a BareMetalHost with the credentials of its BMC.
func (i *Inventory) CreateHost(ctx context.Context, name string, labels, annotations map[string]string) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name + "-bmc", Namespace: Namespace, Labels: map[string]string{hostLabel: "baremetal"}},
		StringData: map[string]string{"username": "admin", "password": "secret"},
	}
	if err := i.Client.Create(ctx, secret); err != nil {
		return err
	}
	host := object(metal3, kindHost, Namespace, name)
	host.SetLabels(maps.Clone(labels))
	host.SetAnnotations(annotations)
	host.Object["spec"] = map[string]any{
		"online":         false,
		"bootMACAddress": mac(i.macs.Add(1)),
		"bmc": map[string]any{"address": "redfish-virtualmedia+http://127.0.0.1:1/redfish/v1/Systems/" + name,
			"credentialsName": secret.Name},
		"automatedCleaningMode": "metadata",
		"rootDeviceHints":       map[string]any{"deviceName": "/dev/sda"},
	}
	return i.Client.Create(ctx, host)
}

// Hosts returns the BareMetalHosts by name.
func (i *Inventory) Hosts(ctx context.Context) (map[string]Host, error) {
	objects, err := i.list(ctx, metal3, kindHost, client.InNamespace(Namespace))
	hosts := map[string]Host{}
	for n := range objects {
		host := &objects[n]
		hosts[host.GetName()] = Host{
			Name: host.GetName(), Labels: host.GetLabels(), State: text(host, "status", "provisioning", "state"),
			On: is(host, "status", "poweredOn"), Consumer: consumerOf(host),
			Image: text(host, "status", "provisioning", "image", "url"), Error: text(host, "status", "errorMessage"),
		}
	}
	return hosts, err
}

// WaitForHosts waits until BareMetalHosts have a state.
func (i *Inventory) WaitForHosts(ctx context.Context, state string, names ...string) error {
	return until(ctx, availableTimeout, fmt.Sprintf("hosts %v are %s", names, state), func(ctx context.Context) (bool, error) {
		hosts, err := i.Hosts(ctx)
		for _, name := range names {
			if hosts[name].State != state {
				return false, err
			}
		}
		return true, err
	})
}

// consumerOf is namespace/name of what uses a BareMetalHost or a Server.
func consumerOf(host *unstructured.Unstructured) string {
	field := "consumerRef"
	if host.GetKind() == kindServer {
		field = "serverClaimRef"
	}
	if name := text(host, "spec", field, "name"); name != "" {
		return text(host, "spec", field, "namespace") + "/" + name
	}
	return ""
}

// mac is the nth locally administered MAC address.
func mac(n uint32) string {
	return fmt.Sprintf("02:00:%02x:%02x:%02x:%02x", byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}
