// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

type mutator struct {
	client client.Reader
	log    logr.Logger
}

// NewMutator returns a mutator of Networks. It reads the Cluster and the Infrastructure of the namespace with the client, which
// should have a cache: nothing else is asked.
func NewMutator(c client.Reader, log logr.Logger) extensionswebhook.Mutator {
	return &mutator{client: c, log: log}
}

// Mutate sets the MTU and the overlay in the providerConfig of a Network of type calico or cilium that is to be reconciled. Sites
// that are not known to the CloudProfile are left out: their mistakes are reported where they are reconciled.
func (m *mutator) Mutate(ctx context.Context, object, old client.Object) error {
	network, ok := object.(*extensionsv1alpha1.Network)
	if !ok {
		return fmt.Errorf("a Network was expected, it is a %T", object)
	}
	set, ok := settings[network.Spec.Type]
	if !ok || network.DeletionTimestamp != nil || !wantsReconciliation(network, old) {
		return nil
	}
	carried, err := m.carried(ctx, network.Namespace)
	if err != nil || carried == 0 {
		return err
	}

	config, err := readConfig(network, set.apiVersion)
	if err != nil {
		return err
	}
	if err := set.apply(config, network.Spec.IPFamilies, carried); err != nil {
		return fmt.Errorf("spec.providerConfig.%w", err)
	}
	return config.write(network)
}

// wantsReconciliation tells what gardenlet writes to have it carried out from other writes, such as those before a deletion, which
// no mistake may keep off.
func wantsReconciliation(network *extensionsv1alpha1.Network, old client.Object) bool {
	switch network.Annotations[v1beta1constants.GardenerOperation] {
	case v1beta1constants.GardenerOperationReconcile, v1beta1constants.GardenerOperationRestore:
		return true
	}
	before, ok := old.(*extensionsv1alpha1.Network)
	return !ok || !equality.Semantic.DeepEqual(before.Spec, network.Spec)
}

// carried returns what the node networks of all sites carry, in bytes; zero if there is no Infrastructure or it has no sites.
func (m *mutator) carried(ctx context.Context, namespace string) (int32, error) {
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

	profile, err := codec.Decode[v1alpha1.CloudProfileConfig](cluster.CloudProfile.Spec.ProviderConfig)
	if err != nil {
		return 0, fmt.Errorf("spec.providerConfig of the CloudProfile: %w", err)
	}
	config, err := codec.Decode[v1alpha1.InfrastructureConfig](infrastructure.Spec.ProviderConfig)
	if err != nil {
		return 0, fmt.Errorf("spec.providerConfig of the Infrastructure: %w", err)
	}
	sites, err := site.Resolve(site.Input{Profile: profile, Config: config})
	if err != nil {
		if len(sites) == 0 {
			return 0, err
		}
		m.log.Info("The MTU is that of the sites that are known", "namespace", namespace, "error", err.Error())
	}
	return smallestMTU(sites, readStatus(infrastructure)), nil
}

// readStatus returns what the sites came to, which is nothing before the first reconciliation.
func readStatus(infrastructure *extensionsv1alpha1.Infrastructure) *v1alpha1.InfrastructureStatus {
	status, err := codec.Decode[v1alpha1.InfrastructureStatus](infrastructure.Status.ProviderStatus)
	if err != nil {
		return &v1alpha1.InfrastructureStatus{}
	}
	return status
}
