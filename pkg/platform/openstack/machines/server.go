// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"cmp"
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

const (
	providerIDPrefix = "openstack:///"

	statusBuild   = "BUILD"
	statusError   = "ERROR"
	statusDeleted = "DELETED"
	// statusSoft is the status of a server that the compute API retains for a while after its deletion, including its volumes and quota.
	statusSoft = "SOFT_DELETED"

	taskScheduling = "scheduling"
	taskDeleting   = "deleting"
)

// server is what the driver needs to know about a server.
type server struct {
	ID        string               `json:"id"`
	Name      string               `json:"name"`
	Status    string               `json:"status"`
	Task      string               `json:"OS-EXT-STS:task_state"`
	Metadata  map[string]string    `json:"metadata"`
	Addresses map[string][]address `json:"addresses"`
	Volumes   []attachedVolume     `json:"os-extended-volumes:volumes_attached"`
	Fault     serverFault          `json:"fault"`
}

// address is an address of a server in one of its networks.
type address struct {
	Address string `json:"addr"`
	Type    string `json:"OS-EXT-IPS:type"`
}

// attachedVolume is a volume of a server. Volumes created with the server are deleted on its termination.
type attachedVolume struct {
	ID                  string `json:"id"`
	DeleteOnTermination bool   `json:"delete_on_termination"`
}

// serverFault is the reason for status ERROR.
type serverFault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// getServer reads a server from the API.
func getServer(ctx context.Context, compute *gophercloud.ServiceClient, id string) (*server, error) {
	result := &server{}
	return client.Extracted(result, servers.Get(ctx, compute, id).ExtractInto(result))
}

// gone reports whether a visible server does not run and never will.
func (s *server) gone() bool {
	return s.Status == statusDeleted || s.Status == statusSoft
}

// machineName is the name of the machine, even if the server was renamed.
func (s *server) machineName() string {
	return cmp.Or(s.Metadata[owner.MetadataMachine], s.Name)
}

// better compares two servers of a machine, the preferred one first: a creation without a response may continue while it is retried. Only
// one of the servers gets the port; the other one fails.
func better(a, b *server) int {
	worth := func(s *server) int {
		switch {
		case s.Status == statusError:
			return 0
		case len(s.Addresses) == 0:
			return 1
		default:
			return 2
		}
	}
	return cmp.Or(worth(b)-worth(a), cmp.Compare(a.ID, b.ID))
}

// unscheduled reports whether the server has not been scheduled yet.
func (s *server) unscheduled() bool {
	return s.Status == statusBuild && s.Task == taskScheduling
}

// ownVolumes returns the IDs of the volumes that were created with the server.
func (s *server) ownVolumes() []string {
	var ids []string
	for _, volume := range s.Volumes {
		if volume.DeleteOnTermination {
			ids = append(ids, volume.ID)
		}
	}
	return ids
}

func (s *server) machine() platform.Machine {
	return platform.Machine{Name: s.machineName(), ProviderID: providerIDPrefix + s.ID, Addresses: s.nodeAddresses()}
}

// nodeAddresses returns the addresses in a stable order: by network, IPv4 first.
func (s *server) nodeAddresses() []corev1.NodeAddress {
	result := []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: s.machineName()}}
	for _, network := range slices.Sorted(maps.Keys(s.Addresses)) {
		addresses := slices.SortedStableFunc(slices.Values(s.Addresses[network]), func(a, b address) int {
			return cmp.Compare(a.family(), b.family())
		})
		for _, a := range addresses {
			addressType := corev1.NodeInternalIP
			if a.Type == "floating" {
				addressType = corev1.NodeExternalIP
			}
			result = append(result, corev1.NodeAddress{Type: addressType, Address: a.Address})
		}
	}
	return result
}

func (a address) family() int {
	ip, err := netip.ParseAddr(a.Address)
	if err != nil {
		return 0
	}
	return ip.BitLen()
}

// err returns the error of a server that will never run, and nil while it is being built.
func (s *server) err() error {
	if s.Status != statusError {
		return nil
	}
	// The compute API reports errors of the scheduler and the volume service only as text.
	class := platform.ClassConflict
	switch message := strings.ToLower(s.Fault.Message); {
	case strings.Contains(message, "quota"):
		class = platform.ClassQuota
	case strings.Contains(message, "no valid host was found"), strings.Contains(message, "exceeded maximum number of retries"):
		class = platform.ClassExhausted
	}
	return platform.NewError(class, "server %q is in status ERROR: %d %s", s.Name, s.Fault.Code, s.Fault.Message)
}

// deletion returns the state of an accepted deletion. If the compute API fails to delete a server, it leaves it in status ERROR without
// retrying.
func (s *server) deletion() error {
	if s.Status == statusError && s.Task == "" {
		return platform.NewError(platform.ClassTransient, "server %q (%s) is in status ERROR after its deletion was accepted", s.Name, s.ID)
	}
	return platform.NewProgress("server %q (%s) is being deleted", s.Name, s.ID)
}

func serverID(providerID string) string {
	return strings.TrimPrefix(providerID, providerIDPrefix)
}
