// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"encoding/json"
	"fmt"

	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/ignition"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/bootdata"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/hosts"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/userdata"
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

// secretOf returns the Secret with the machine's data for its first boot. It is deleted with the host.
func secretOf(host *metal3v1alpha1.BareMetalHost, machine string, data inventory.Data) (*corev1.Secret, error) {
	userData := data.UserData
	if ignition.VersionOf(userData) != "" {
		var err error
		if userData, err = userdata.Extend(userData, []ignition.File{bootdata.HostnameFile(data.NodeName)}); err != nil {
			return nil, err
		}
	}
	meta, err := json.Marshal(metaData{
		Name:             data.NodeName,
		LocalHostname:    data.NodeName,
		LocalHostnameOld: data.NodeName,
		ProviderID:       hosts.ProviderID(providerIDPrefix, host, machine),
		Machine:          machine,
		Host:             host.Name,
	})
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	content := map[string][]byte{userDataKey: userData, metaDataKey: meta}
	if len(data.NetworkData) > 0 {
		content[networkDataKey] = data.NetworkData
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: host.Namespace,
			Labels:    map[string]string{environmentLabel: environment},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: metal3v1alpha1.GroupVersion.String(), Kind: kindHost, Name: host.Name, UID: host.UID,
			}},
		},
		Data: content,
	}, nil
}
