// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"cmp"
	"regexp"
	"strings"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

// maxLabelValue is the maximum length of a label's value.
const maxLabelValue = 63

var notOfLabels = regexp.MustCompile(`[^A-Za-z0-9]+`)

// unknownType is the type of hosts whose vendor and model are not known.
const unknownType = "bare-metal"

// nodeName returns the name that the machine on the host was given.
func nodeName(host *inventory.Host) string {
	return cmp.Or(host.NodeName, host.Machine)
}

// instanceType returns the vendor and model of the host, because an inventory has no names for sizes.
func instanceType(host *inventory.Host) string {
	text := strings.Trim(notOfLabels.ReplaceAllString(host.Vendor+" "+host.Model, "-"), "-")
	if len(text) > maxLabelValue {
		text = strings.Trim(text[:maxLabelValue], "-")
	}
	return cmp.Or(text, unknownType)
}

// mayHave reports whether the UUID that a kubelet reports can be that of the host. Old firmware reports the first three fields with their
// bytes in reverse order. It returns true if either UUID is unknown: without one in the firmware, a kubelet reports the machine ID.
func mayHave(host *inventory.Host, info *corev1.NodeSystemInfo) bool {
	known, err := uuid.Parse(host.SystemUUID)
	if err != nil {
		return true
	}
	id, err := uuid.Parse(info.SystemUUID)
	return err != nil || id == known || platform.ReversedUUID(id) == known || info.SystemUUID == info.MachineID
}

// zones are the zones of the site.
type zones struct {
	shoot     string
	names     []string
	selectors []labels.Selector
}

func newZones(shoot string, config []v1alpha1.MetalCloudControllerZone) (zones, error) {
	z := zones{shoot: shoot}
	for _, zone := range config {
		selector := labels.Everything()
		if zone.HostSelector != nil {
			var err error
			if selector, err = metav1.LabelSelectorAsSelector(zone.HostSelector); err != nil {
				return zones{}, platform.NewError(platform.ClassConfiguration, "zone %q: hostSelector: %w", zone.Name, err)
			}
		}
		z.names, z.selectors = append(z.names, zone.Name), append(z.selectors, selector)
	}
	return z, nil
}

// of returns the zones that select the host. If several do, it returns the one that the machine was created for, if the machine's name
// begins with that of the zone's MachineDeployment. The node may be named after its host.
func (z zones) of(host *inventory.Host, node *corev1.Node) []string {
	var selected, named []string
	for i, name := range z.names {
		if !z.selectors[i].Matches(labels.Set(host.Labels)) {
			continue
		}
		selected = append(selected, name)
		if strings.HasPrefix(host.Machine, helper.MachineDeploymentName(z.shoot, node.Labels[v1beta1constants.LabelWorkerPool], name)+"-") {
			named = append(named, name)
		}
	}
	if len(named) == 1 {
		return named
	}
	return selected
}
