// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package ironcore

import (
	"context"

	metalv1alpha1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/ignition"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/bootdata"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

// ignitionKey is the key under which IronCore looks for the Ignition config of a server.
const ignitionKey = "ignition"

// writeIgnition writes the Secret that the claim refers to. It goes with the claim.
func (i *Inventory) writeIgnition(ctx context.Context, claim *metalv1alpha1.ServerClaim, data inventory.Data) error {
	files := []ignition.File{bootdata.HostnameFile(data.NodeName)}
	if len(data.NetworkData) > 0 {
		files = append(files, bootdata.NetworkFile(data.NetworkData))
	}
	config, err := bootdata.AddFiles(data.UserData, files...)
	if err != nil {
		return err
	}
	return bootdata.WriteSecret(ctx, i.Client(), i.Owner, claim.Name, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       claim.Namespace,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(claim, metalv1alpha1.GroupVersion.WithKind("ServerClaim"))},
		},
		Data: map[string][]byte{ignitionKey: config},
	})
}
