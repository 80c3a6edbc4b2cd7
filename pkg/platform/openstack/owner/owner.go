// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package owner defines how objects on an OpenStack site are named and marked, and thereby which ones are ours.
package owner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Owner is the shoot and site that own objects.
type Owner struct {
	// Shoot is the technical ID of the shoot.
	Shoot string
	// Site is the name of the site.
	Site string
}

const (
	// MetadataShoot is the metadata key of servers with the technical ID of the shoot.
	MetadataShoot = "gardener-shoot"
	// MetadataSite is the metadata key of servers with the name of the site.
	MetadataSite = "gardener-site"
	// MetadataMachine is the metadata key of servers with the name of the machine, which stays when the server is renamed. Servers of version
	// 0.1 do not have it.
	MetadataMachine = "gardener-machine"
	// MetadataPort is the metadata key of servers with the ID of the port that was created for it.
	MetadataPort = "gardener-port"
	// MetadataMorePorts is the metadata key of servers whose machine may have further ports: a request for one got no response.
	MetadataMorePorts = "gardener-more-ports"
	// MetadataFloatingIP is the metadata key of servers whose machine has a floating IP. The machine class may change.
	MetadataFloatingIP = "gardener-floating-ip"
	// MetadataPool is the metadata key of servers with the name of the worker pool.
	MetadataPool = "gardener-pool"
)

// serverGroupHashLength is the number of hexadecimal digits of the hash in the names of server groups.
const serverGroupHashLength = 8

// bastionsSuffix follows the name of the site in the marks of bastions. No site has it in its name.
const bastionsSuffix = "/bastion"

// OfBastions returns the owner of the shoot's bastions on the site. Its marks differ from those of the site's machines.
func (o Owner) OfBastions() Owner {
	o.Site += bastionsSuffix
	return o
}

// exposureSuffix follows the name of the site in the marks of the load balancer of a self-hosted shoot. No site has it in its name.
const exposureSuffix = "/exposure"

// OfExposure returns the owner of the load balancer through which the API servers of a self-hosted shoot on the site are reached. It is not
// one of the shoot's Services.
func (o Owner) OfExposure() Owner {
	o.Site += exposureSuffix
	return o
}

// BastionRule is the description of a rule of the nodes' security group that is for a bastion, which may be on another site.
func (o Owner) BastionRule(bastion string) string {
	return fmt.Sprintf("%s%s, bastion %s.", descriptionPrefix, o.Shoot, bastion)
}

// ExposureRule is the description of a rule of the nodes' security group that is for the load balancer of a self-hosted shoot.
func (o Owner) ExposureRule() string {
	return fmt.Sprintf("%s%s, exposure.", descriptionPrefix, o.Shoot)
}

// OwnsBastionRule reports whether a rule with the description is for a bastion of the shoot.
func (o Owner) OwnsBastionRule(description string) bool {
	return strings.HasPrefix(description, descriptionPrefix+o.Shoot+", bastion ")
}

// Name is the name of objects that a shoot has once per site.
func (o Owner) Name() string {
	return o.Shoot + "-" + o.Site
}

// Description marks objects whose API supports descriptions. Unlike tags, it is stored with the object in one request, so the object never
// exists without it.
func (o Owner) Description() string {
	return fmt.Sprintf("%s%s, site %s.", descriptionPrefix, o.Shoot, o.Site)
}

// MachineDescription marks objects of a machine that have no name, such as floating IPs.
func (o Owner) MachineDescription(machine string) string {
	return o.Description() + machineInfix + machine
}

// OwnsForMachine reports whether an object with the description was created for a machine of the shoot on the site.
func (o Owner) OwnsForMachine(description string) bool {
	return strings.HasPrefix(description, o.Description()+machineInfix)
}

// Tags mark objects whose API supports tags. Neutron permits 60 characters per tag.
func (o Owner) Tags() []string {
	return []string{"managed-by=provider-hybrid", shootTagPrefix + o.Shoot, "gardener-site=" + o.Site}
}

// Metadata marks servers.
func (o Owner) Metadata() map[string]string {
	return map[string]string{MetadataShoot: o.Shoot, MetadataSite: o.Site}
}

// Owns reports whether an object with the given description and tags is ours.
func (o Owner) Owns(description string, tags []string) bool {
	if description == o.Description() {
		return true
	}
	return !slices.ContainsFunc(o.Tags(), func(tag string) bool { return !slices.Contains(tags, tag) })
}

// OwnsServer reports whether a server with the given metadata is ours.
func (o Owner) OwnsServer(metadata map[string]string) bool {
	return metadata[MetadataShoot] == o.Shoot && metadata[MetadataSite] == o.Site
}

// ServerGroupName is the name of a pool's server group. Server groups have neither description nor tags, so the name is the mark: it
// contains a hash of shoot, site, pool and policy.
func (o Owner) ServerGroupName(pool, policy string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{o.Shoot, o.Site, pool, policy}, "\x00")))
	return fmt.Sprintf("%s-%s-%s", o.Name(), pool, hex.EncodeToString(sum[:])[:serverGroupHashLength])
}

// OwnsServerGroup reports whether a server group with the given name and policy is ours.
func (o Owner) OwnsServerGroup(name, policy string) bool {
	rest, ok := strings.CutPrefix(name, o.Name()+"-")
	if !ok || len(rest) <= serverGroupHashLength {
		return false
	}
	return name == o.ServerGroupName(rest[:len(rest)-serverGroupHashLength-1], policy)
}

const (
	descriptionPrefix = "Managed by gardener-extension-provider-hybrid for shoot "
	machineInfix      = " Machine "
	shootTagPrefix    = "gardener-shoot="
	servicePrefix     = "kube_service_"
)

// IsForeign reports whether the description or a tag marks an object as that of another shoot, or of a Service in one. Objects without a
// mark are not foreign.
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

// IsForeignLoadBalancer reports whether the name or a tag of a load balancer is that of a Service in another cluster, or its description
// that of the API servers of another shoot.
func (o Owner) IsForeignLoadBalancer(name, description string, tags []string) bool {
	return slices.ContainsFunc(append([]string{name}, tags...), func(text string) bool {
		return strings.HasPrefix(text, servicePrefix) && !o.OwnsLoadBalancer(text)
	}) || o.IsForeign(description, tags)
}

// IsForeignVolume reports whether the metadata of a volume, snapshot or backup is that of another cluster's Cinder CSI driver.
func (o Owner) IsForeignVolume(metadata map[string]string) bool {
	return metadata[metadataCluster] != "" && !o.OwnsVolume(metadata)
}

// IsForeignServer reports whether the metadata of a server is that of a machine of another shoot.
func (o Owner) IsForeignServer(metadata map[string]string) bool {
	return metadata[MetadataShoot] != "" && metadata[MetadataShoot] != o.Shoot
}

// metadataShareCluster is the metadata key of shares with the technical ID of the shoot. The Manila CSI driver of cloud-provider-openstack
// sets it, too.
const metadataShareCluster = "manila.csi.openstack.org/cluster"

// ShareMetadata marks shares.
func (o Owner) ShareMetadata() map[string]string {
	return map[string]string{metadataShareCluster: o.Shoot}
}

// OwnsShare reports whether a share with the metadata is ours.
func (o Owner) OwnsShare(metadata map[string]string) bool {
	return metadata[metadataShareCluster] == o.Shoot
}

// metadataCluster is the metadata key for the name of the cluster that the Cinder CSI driver sets on volumes.
const metadataCluster = "cinder.csi.openstack.org/cluster"

// Descriptions of objects for Services have the form <prefix><namespace>/<name><infix><cluster>.
const (
	floatingIPPrefix    = "Floating IP for Kubernetes external service "
	fromCluster         = " from cluster "
	securityGroupPrefix = "Security Group for "
	inCluster           = " Service LoadBalancer in cluster "
)

// OwnsLoadBalancer reports whether the shoot's cloud-controller-manager named the load balancer:
// kube_service_<cluster>_<namespace>_<service>. Namespaces and Services have no underscore in their names.
func (o Owner) OwnsLoadBalancer(name string) bool {
	service, ok := strings.CutPrefix(name, servicePrefix+o.Shoot+"_")
	return ok && isPair(service, "_")
}

// OwnsFloatingIP reports whether the shoot's cloud-controller-manager created a floating IP with the description.
func (o Owner) OwnsFloatingIP(description string) bool {
	return o.describesService(description, floatingIPPrefix, fromCluster)
}

// OwnsServiceSecurityGroup reports whether the shoot's cloud-controller-manager created a security group with the description for a
// Service.
func (o Owner) OwnsServiceSecurityGroup(description string) bool {
	return o.describesService(description, securityGroupPrefix, inCluster)
}

// OwnsVolume reports whether the shoot's Cinder CSI driver created a volume with the metadata.
func (o Owner) OwnsVolume(metadata map[string]string) bool {
	return metadata[metadataCluster] == o.Shoot
}

// describesService reports whether the description is that of an object for a Service in the shoot.
func (o Owner) describesService(description, before, after string) bool {
	rest, ok := strings.CutPrefix(description, before)
	if !ok {
		return false
	}
	service, ok := strings.CutSuffix(rest, after+o.Shoot)
	return ok && isPair(service, "/")
}

// isPair reports whether the text consists of a namespace and a name.
func isPair(text, separator string) bool {
	namespace, name, ok := strings.Cut(text, separator)
	return ok && isName(namespace) && isName(name)
}

func isName(text string) bool {
	return text != "" && !strings.ContainsAny(text, "_/ ")
}
