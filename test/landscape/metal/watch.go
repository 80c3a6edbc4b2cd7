// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
)

// Machine is a system that runs on a host, as the host was told.
type Machine struct {
	// Host is the name of the host.
	Host string
	// NodeName is the name of its node.
	NodeName string
	// ProviderID is the provider ID of its node.
	ProviderID string
	// Addresses are those that were claimed for it.
	Addresses []string
}

// NodeAddresses are the addresses as the machine's node reports them.
func (m Machine) NodeAddresses() []corev1.NodeAddress {
	addresses := []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: m.NodeName}}
	for _, address := range m.Addresses {
		addresses = append(addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
	}
	return addresses
}

// Watch looks at the systems that a shoot has on the hosts.
type Watch struct {
	inventory *Inventory
	shoot     string
}

// NewWatch watches the systems whose provider IDs end with a name that begins with that of the shoot.
func NewWatch(inventory *Inventory, shoot string) *Watch {
	return &Watch{inventory: inventory, shoot: shoot}
}

// Machines returns the systems that run by the last element of their provider ID.
func (w *Watch) Machines(ctx context.Context) (map[string]Machine, error) {
	machines := map[string]Machine{}
	for _, find := range []func(context.Context) ([]Machine, error){w.onHosts, w.onServers} {
		found, err := find(ctx)
		if err != nil {
			return nil, fmt.Errorf("look at the inventory: %w", err)
		}
		for _, m := range found {
			if id := path.Base(m.ProviderID); strings.HasPrefix(id, w.shoot) {
				machines[id] = m
			}
		}
	}
	if w.inventory.IPAM == nil || len(machines) == 0 {
		return machines, nil
	}
	return machines, w.addAddresses(ctx, machines)
}

// Active returns the systems for the kubelets.
func (w *Watch) Active(ctx context.Context) (map[string]kubelets.Server, error) {
	machines, err := w.Machines(ctx)
	active := map[string]kubelets.Server{}
	for id, m := range machines {
		active[id] = kubelets.Server{NodeName: m.NodeName, ProviderID: m.ProviderID, Addresses: m.NodeAddresses()}
	}
	return active, err
}

// onHosts are the systems of BareMetalHosts that are provisioned and shall be on. They are told in the metadata who they are.
func (w *Watch) onHosts(ctx context.Context) ([]Machine, error) {
	if w.inventory.Metal3 == nil {
		return nil, nil
	}
	hosts, err := w.inventory.list(ctx, metal3, kindHost, client.InNamespace(Namespace))
	var machines []Machine
	for n := range hosts {
		host := &hosts[n]
		if text(host, "status", "provisioning", "state") != provisioned || !is(host, "spec", "online") {
			continue
		}
		content, err := w.inventory.secret(ctx, text(host, "spec", "metaData", "name"), "value", "metaData")
		if err != nil {
			return nil, err
		}
		var metadata struct {
			Hostname   string `json:"local-hostname"`
			ProviderID string `json:"providerid"`
		}
		if json.Unmarshal(content, &metadata) == nil && metadata.ProviderID != "" {
			machines = append(machines, Machine{Host: host.GetName(), NodeName: metadata.Hostname, ProviderID: metadata.ProviderID})
		}
	}
	return machines, err
}

// onServers are the systems of Servers that are claimed and on. They are named as the claim, unless their ignition says otherwise.
func (w *Watch) onServers(ctx context.Context) ([]Machine, error) {
	if w.inventory.IronCore == nil {
		return nil, nil
	}
	servers, err := w.inventory.list(ctx, ironCore, kindServer)
	if err != nil {
		return nil, err
	}
	claims, err := w.inventory.Claims(ctx)
	var machines []Machine
	for n := range servers {
		server := &servers[n]
		claim, claimed := claims[text(server, "spec", "serverClaimRef", "name")]
		if !claimed || text(server, "status", "state") != "Reserved" || text(server, "status", "powerState") != "On" {
			continue
		}
		m := Machine{Host: server.GetName(), NodeName: claim.GetName(), ProviderID: "ironcore-metal://" + Namespace + "/" + claim.GetName()}
		if name, err := w.hostname(ctx, &claim); err != nil {
			return nil, err
		} else if name != "" {
			m.NodeName = name
		}
		machines = append(machines, m)
	}
	return machines, err
}

// hostname is the content of /etc/hostname in the ignition of a claim, empty if there is none.
func (w *Watch) hostname(ctx context.Context, claim *unstructured.Unstructured) (string, error) {
	content, err := w.inventory.secret(ctx, text(claim, "spec", "ignitionSecretRef", "name"), "ignition")
	if err != nil {
		return "", err
	}
	var ignition struct {
		Storage struct {
			Files []struct {
				Path     string `json:"path"`
				Contents struct {
					Source string `json:"source"`
				} `json:"contents"`
			} `json:"files"`
		} `json:"storage"`
	}
	if len(content) == 0 || json.Unmarshal(content, &ignition) != nil {
		return "", nil
	}
	for _, file := range ignition.Storage.Files {
		if file.Path == "/etc/hostname" {
			return dataOf(file.Contents.Source)
		}
	}
	return "", nil
}

// dataOf is the content of a data URL.
func dataOf(source string) (string, error) {
	header, data, _ := strings.Cut(source, ",")
	if strings.HasSuffix(header, ";base64") {
		decoded, err := base64.StdEncoding.DecodeString(data)
		return strings.TrimSpace(string(decoded)), err
	}
	decoded, err := url.PathUnescape(data)
	return strings.TrimSpace(decoded), err
}

// addAddresses adds the addresses of the claims that have a machine's label.
func (w *Watch) addAddresses(ctx context.Context, machines map[string]Machine) error {
	claims, err := w.inventory.list(ctx, ipam, kindAddressClaim, client.InNamespace(Namespace))
	if err != nil {
		return err
	}
	addresses, err := w.inventory.Addresses(ctx)
	for n := range claims {
		id := claims[n].GetLabels()[owner.LabelMachine]
		m, ok := machines[id]
		if address := addresses[claims[n].GetName()]; ok && address != "" {
			m.Addresses = append(m.Addresses, address)
			machines[id] = m
		}
	}
	return err
}
