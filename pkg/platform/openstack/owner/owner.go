// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package owner says how objects in an OpenStack site are named and marked, and so which ones are ours.
package owner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Owner is the shoot and site that objects are made for.
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
	// MetadataMachine is the metadata key of servers with the name of the machine, which stays when somebody renames the server.
	// Servers of version 0.1 do not have it.
	MetadataMachine = "gardener-machine"
	// MetadataPort is the metadata key of servers with the ID of the port that was made for it.
	MetadataPort = "gardener-port"
	// MetadataMorePorts is the metadata key of servers whose machine may have further ports: a request for one got no answer.
	MetadataMorePorts = "gardener-more-ports"
	// MetadataPool is the metadata key of servers with the name of the worker pool.
	MetadataPool = "gardener-pool"
)

// serverGroupHashLength is the number of hexadecimal characters of the hash in the names of server groups.
const serverGroupHashLength = 8

// Name is the name of the objects that a shoot has once on a site.
func (o Owner) Name() string {
	return o.Shoot + "-" + o.Site
}

// Description marks the objects whose API can store a description. Unlike tags it is stored with the object itself, so
// that there is no moment in which an object exists without it.
func (o Owner) Description() string {
	return fmt.Sprintf("%s%s, site %s.", descriptionPrefix, o.Shoot, o.Site)
}

// Tags are the tags of the objects whose API can store tags. Neutron allows 60 characters a tag.
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

// ServerGroupName is the name of the server group of a pool. Server groups have neither description nor tags, so the name is the
// mark: its hash is that of shoot, site, pool and policy.
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
