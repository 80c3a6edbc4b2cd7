// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"encoding/base64"
	"encoding/json"
	"maps"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/extraconfig"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

const (
	encodingBase64 = "base64"
	// maxUserData is what a guest can read of an entry, in bytes before it is encoded.
	maxUserData = 512 << 10
)

// metadata is what cloud-init reads from guestinfo.metadata.
type metadata struct {
	InstanceID    string `json:"instance-id"`
	LocalHostname string `json:"local-hostname"`
}

// extraConfig returns the extra configuration of a virtual machine: what was configured, the marks of its owner, and the user data
// where its image looks for it.
func extraConfig(request platform.MachineRequest, o owner.Owner, uuid string) (map[string]string, error) {
	if size := len(request.UserData); size > maxUserData {
		return nil, platform.NewError(platform.ClassConfiguration, "user data has %d bytes, a guest can read at most %d", size, maxUserData)
	}
	for key := range request.Spec.VSphere.ExtraConfig {
		if problem := extraconfig.Problem(key); problem != "" {
			return nil, platform.NewError(platform.ClassConfiguration, "extraConfig[%s]: %s", key, problem)
		}
	}
	result := map[string]string{}
	maps.Copy(result, request.Spec.VSphere.ExtraConfig)
	maps.Copy(result, o.ExtraConfig())
	result[owner.KeyMachine] = request.Name
	// Without it the guest does not see the IDs by which the CSI driver finds disks.
	result["disk.EnableUUID"] = "TRUE"
	if rule := request.Spec.VSphere.AntiAffinityRule; rule != "" {
		result[owner.KeyRule] = rule
	}

	if request.Spec.UserDataFormat == v1alpha1.UserDataFormatIgnition {
		result["guestinfo.ignition.config.data"] = base64.StdEncoding.EncodeToString(request.UserData)
		result["guestinfo.ignition.config.data.encoding"] = encodingBase64
		return result, nil
	}
	data, err := json.Marshal(metadata{InstanceID: uuid, LocalHostname: request.Name})
	if err != nil {
		return nil, err
	}
	result["guestinfo.userdata"] = base64.StdEncoding.EncodeToString(request.UserData)
	result["guestinfo.userdata.encoding"] = encodingBase64
	result["guestinfo.metadata"] = base64.StdEncoding.EncodeToString(data)
	result["guestinfo.metadata.encoding"] = encodingBase64
	return result, nil
}
