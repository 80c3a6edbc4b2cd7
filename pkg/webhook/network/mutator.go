// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/podnetwork"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

type mutator struct {
	client client.Reader
	log    logr.Logger
}

// NewMutator returns a mutator of Networks. It reads the Cluster and the Infrastructure of the namespace with the client, which should be
// a cache.
func NewMutator(c client.Reader, log logr.Logger) extensionswebhook.Mutator {
	return &mutator{client: c, log: log}
}

// Mutate sets the MTU and the overlay in the providerConfig of a Network of type calico or cilium that is about to be reconciled. Other
// fields, also unknown ones, stay as they are. Sites that cannot be resolved are ignored: the Infrastructure reports them.
func (m *mutator) Mutate(ctx context.Context, object, old client.Object) error {
	network, ok := object.(*extensionsv1alpha1.Network)
	if !ok {
		return fmt.Errorf("expected a Network, got %T", object)
	}
	setMTU := mtuSetters[network.Spec.Type]
	if setMTU == nil || network.DeletionTimestamp != nil || !wantsReconciliation(network, old) {
		return nil
	}
	nodeMTU, err := m.nodeMTU(ctx, network.Namespace)
	if err != nil || nodeMTU == 0 {
		return err
	}
	config, err := podnetwork.ReadConfig(network.Spec.Type, network.Spec.ProviderConfig)
	if err != nil {
		return fmt.Errorf("spec.providerConfig: %w", err)
	}
	overlayChanged := config.EnableOverlay()
	mtuChanged, err := setMTU(config, slices.Contains(network.Spec.IPFamilies, extensionsv1alpha1.IPFamilyIPv6), nodeMTU)
	if err != nil {
		return fmt.Errorf("spec.providerConfig.%w", err)
	}
	if !overlayChanged && !mtuChanged {
		return nil
	}
	raw, err := json.Marshal(config)
	if err != nil {
		return err
	}
	network.Spec.ProviderConfig = &runtime.RawExtension{Raw: raw}
	return nil
}

// wantsReconciliation reports whether gardenlet is about to have the Network reconciled. Other writes, such as those before a deletion,
// must succeed even if the configuration is invalid.
func wantsReconciliation(network *extensionsv1alpha1.Network, old client.Object) bool {
	switch network.Annotations[v1beta1constants.GardenerOperation] {
	case v1beta1constants.GardenerOperationReconcile, v1beta1constants.GardenerOperationRestore:
		return true
	}
	before, ok := old.(*extensionsv1alpha1.Network)
	return !ok || !equality.Semantic.DeepEqual(before.Spec, network.Spec)
}

// nodeMTU returns the smallest MTU of the sites' node networks in bytes, zero if there is no Infrastructure or it has no sites.
func (m *mutator) nodeMTU(ctx context.Context, namespace string) (int32, error) {
	cluster, err := extensionscontroller.GetCluster(ctx, m.client, namespace)
	if err != nil {
		return 0, fmt.Errorf("could not read the Cluster: %w", err)
	}
	if cluster.Shoot == nil || cluster.CloudProfile == nil {
		return 0, fmt.Errorf("the Cluster of namespace %q has no Shoot or no CloudProfile", namespace)
	}
	infrastructure := &extensionsv1alpha1.Infrastructure{}
	if err := m.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: cluster.Shoot.Name}, infrastructure); err != nil {
		if apierrors.IsNotFound(err) {
			return 0, nil
		}
		return 0, fmt.Errorf("could not read the Infrastructure: %w", err)
	}
	input, err := shootsites.Configured(shootsites.OfInfrastructure(infrastructure), cluster)
	if err != nil {
		return 0, err
	}
	sites, err := site.Resolve(input)
	if err != nil {
		if len(sites) == 0 {
			return 0, err
		}
		m.log.Info("Ignoring sites that cannot be resolved for the MTU", "namespace", namespace, "error", err.Error())
	}
	// There is no valid status before the first reconciliation.
	status, _ := shootsites.DecodeOptional[v1alpha1.InfrastructureStatus]("status.providerStatus", infrastructure.Status.ProviderStatus)
	return smallestMTU(sites, status), nil
}

// ethernetMTU is the assumed MTU in bytes of a node network whose MTU is unknown.
const ethernetMTU = 1500

// smallestMTU returns the smallest MTU of the sites' node networks in bytes, zero without sites. The MTU of a site is the smaller one of
// the configured and the discovered MTU.
func smallestMTU(sites []site.Site, status *v1alpha1.InfrastructureStatus) int32 {
	var smallest int32
	for i := range sites {
		mtu := sites[i].Network.MTU
		if found := slices.IndexFunc(status.Sites, func(s v1alpha1.SiteStatus) bool { return s.Name == sites[i].Name }); found >= 0 {
			mtu = smaller(mtu, status.Sites[found].DiscoveredMTU())
		}
		if mtu == 0 {
			mtu = ethernetMTU
		}
		smallest = smaller(smallest, mtu)
	}
	return smallest
}

// smaller returns the smaller one of two MTUs. Zero is an unknown MTU.
func smaller(a, b int32) int32 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// mtuSetters set the MTU in the providerConfig for the MTU of the node networks, by type of Network, and report whether they changed it.
// Their errors begin with the field.
var mtuSetters = map[string]func(config podnetwork.Fields, ipv6 bool, nodeMTU int32) (bool, error){
	podnetwork.TypeCalico: setCalicoMTU,
	podnetwork.TypeCilium: setCiliumMTU,
}

// setCalicoMTU sets the MTU of pods, which is that of the node networks minus the encapsulation. Calico uses it for tunnels too.
func setCalicoMTU(config podnetwork.Fields, ipv6 bool, nodeMTU int32) (bool, error) {
	encapsulation, err := config.CalicoEncapsulation(ipv6)
	if err != nil {
		return false, err
	}
	asked, err := config.CalicoMTU()
	if err != nil {
		return false, err
	}
	current, _ := config.Text(podnetwork.FieldVethMTU)
	wanted := strconv.Itoa(int(smaller(asked, nodeMTU-encapsulation.Overhead(ipv6))))
	config[podnetwork.FieldVethMTU] = wanted
	return wanted != current, nil
}

// setCiliumMTU sets the MTU of the node networks. Cilium subtracts the encapsulation itself.
func setCiliumMTU(config podnetwork.Fields, _ bool, nodeMTU int32) (bool, error) {
	asked, err := config.CiliumMTU()
	wanted := smaller(asked, nodeMTU)
	if err != nil || wanted == asked {
		return false, err
	}
	config[podnetwork.FieldMTU] = int64(wanted)
	return true, nil
}
