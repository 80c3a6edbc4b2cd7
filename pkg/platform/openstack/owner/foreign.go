// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"slices"
	"strings"
)

const (
	descriptionPrefix = "Managed by gardener-extension-provider-hybrid for shoot "
	shootTagPrefix    = "gardener-shoot="
	servicePrefix     = "kube_service_"
)

// IsForeign reports whether the description or a tag of an object is the mark of another shoot, or of a Service of one. Objects without
// a mark are nobody's.
func (o Owner) IsForeign(description string, tags []string) bool {
	if rest, ok := strings.CutPrefix(description, descriptionPrefix); ok && !strings.HasPrefix(rest, o.Shoot+", site ") {
		return true
	}
	for _, made := range []struct {
		prefix, before string
		ours           func(string) bool
	}{
		{floatingIPPrefix, fromCluster, o.OwnsFloatingIP},
		{securityGroupPrefix, inCluster, o.OwnsServiceSecurityGroup},
	} {
		if strings.HasPrefix(description, made.prefix) && strings.Contains(description, made.before) && !made.ours(description) {
			return true
		}
	}
	return slices.ContainsFunc(tags, func(tag string) bool { return strings.HasPrefix(tag, shootTagPrefix) && tag != shootTagPrefix+o.Shoot })
}

// IsForeignLoadBalancer reports whether the name or a tag of a load balancer is that of a Service of another cluster.
func (o Owner) IsForeignLoadBalancer(name string, tags []string) bool {
	return slices.ContainsFunc(append([]string{name}, tags...), func(text string) bool {
		return strings.HasPrefix(text, servicePrefix) && !o.OwnsLoadBalancer(text)
	}) || o.IsForeign("", tags)
}

// IsForeignVolume reports whether the metadata of a volume, snapshot or backup is that of the Cinder CSI driver of another cluster.
func (o Owner) IsForeignVolume(metadata map[string]string) bool {
	return metadata[metadataCluster] != "" && !o.OwnsVolume(metadata)
}

// IsForeignServer reports whether the metadata of a server is that of a machine of another shoot.
func (o Owner) IsForeignServer(metadata map[string]string) bool {
	return metadata[MetadataShoot] != "" && metadata[MetadataShoot] != o.Shoot
}
