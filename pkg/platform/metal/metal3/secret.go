// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"encoding/json"
	"fmt"

	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/ignition"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/bootdata"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

const (
	// environmentLabel is the label of Secrets that baremetal-operator watches.
	environmentLabel = "environment.metal3.io"
	environment      = "baremetal"

	// The keys under which baremetal-operator looks for what a host refers to.
	userDataKey    = "userData"
	metaDataKey    = "metaData"
	networkDataKey = "networkData"
)

// metaData is what a host's config drive says about it. What is not here is added by baremetal-operator.
type metaData struct {
	Name             string `json:"name"`
	LocalHostname    string `json:"local-hostname"`
	LocalHostnameOld string `json:"local_hostname"`
	ProviderID       string `json:"providerid"`
	Machine          string `json:"machine"`
	Host             string `json:"host"`
}

// writeSecret writes the Secret with the machine's data for its first boot. It is deleted with the host.
func (i *Inventory) writeSecret(ctx context.Context, host *metal3v1alpha1.BareMetalHost, machine string, data inventory.Data) error {
	userData := data.UserData
	if ignition.VersionOf(userData) != "" {
		var err error
		if userData, err = bootdata.AddFiles(userData, bootdata.HostnameFile(data.NodeName)); err != nil {
			return err
		}
	}
	meta, err := json.Marshal(metaData{
		Name:             data.NodeName,
		LocalHostname:    data.NodeName,
		LocalHostnameOld: data.NodeName,
		ProviderID:       providerIDOf(host, machine),
		Machine:          machine,
		Host:             host.Name,
	})
	if err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	content := map[string][]byte{userDataKey: userData, metaDataKey: meta}
	if len(data.NetworkData) > 0 {
		content[networkDataKey] = data.NetworkData
	}
	return bootdata.WriteSecret(ctx, i.Client(), i.Owner, machine, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: host.Namespace,
			Labels:    map[string]string{environmentLabel: environment},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: metal3v1alpha1.GroupVersion.String(), Kind: kindHost, Name: host.Name, UID: host.UID,
			}},
		},
		Data: content,
	})
}

// restoreSecret rewrites the Secret if it was deleted before the host's image was written, because baremetal-operator needs it until
// then.
func (i *Inventory) restoreSecret(ctx context.Context, host *metal3v1alpha1.BareMetalHost, request *inventory.Claim) error {
	if isProvisioned(host) {
		return nil
	}
	if exists, err := bootdata.SecretExists(ctx, i.Client(), host.Namespace, i.Owner, request.Machine); exists || err != nil {
		return err
	}
	data, err := request.Data(ctx, new(hostOf(host, request.Machine, "")))
	if err != nil {
		return err
	}
	return i.writeSecret(ctx, host, request.Machine, data)
}
