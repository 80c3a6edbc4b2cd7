// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"

	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// list reads hosts.
func list(ctx context.Context, reader client.Reader, options ...client.ListOption) ([]metal3v1alpha1.BareMetalHost, error) {
	found := &metal3v1alpha1.BareMetalHostList{}
	err := reader.List(ctx, found, options...)
	return found.Items, err
}

// strip removes what is not read from a host, because a process keeps all hosts of an inventory.
func strip(object any) (any, error) {
	if host, ok := object.(*metal3v1alpha1.BareMetalHost); ok {
		host.ManagedFields = nil
		host.OwnerReferences = nil
		delete(host.Annotations, metal3v1alpha1.HardwareDetailsAnnotation)
		delete(host.Annotations, metal3v1alpha1.StatusAnnotation)
		host.Spec.BMC = metal3v1alpha1.BMCDetails{}
		host.Spec.RAID = nil
		host.Spec.RootDeviceHints = nil
		host.Status.HardwareDetails = nil
		host.Status.GoodCredentials = metal3v1alpha1.CredentialsStatus{}
		host.Status.TriedCredentials = metal3v1alpha1.CredentialsStatus{}
		host.Status.OperationHistory = metal3v1alpha1.OperationHistory{Provision: host.Status.OperationHistory.Provision}
		host.Status.Conditions = nil
		host.Status.Provisioning = metal3v1alpha1.ProvisionStatus{State: host.Status.Provisioning.State}
	}
	return object, nil
}
