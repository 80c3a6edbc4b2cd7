// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package owner says how objects in a vSphere site are named and marked, and so which ones are ours.
package owner

import (
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Owner is the shoot and site that objects are made for.
type Owner struct {
	// Shoot is the technical ID of the shoot.
	Shoot string
	// Site is the name of the site.
	Site string
}

const (
	// TagCategory is the category of the tags that mark what belongs to a shoot.
	TagCategory = "gardener-shoot"
	// KeyShoot is the key in the extra configuration of virtual machines with the technical ID of the shoot.
	KeyShoot = "gardener.shoot"
	// KeySite is the key in the extra configuration of virtual machines with the name of the site.
	KeySite = "gardener.site"
	// KeyMachine is the key in the extra configuration of virtual machines with the name of the machine. Versions before did not write it.
	KeyMachine = "gardener.machine"
	// KeyRule is the key in the extra configuration of virtual machines with the name of the rule that keeps them apart.
	KeyRule = "gardener.rule"
)

// Name is the name of the objects that a shoot has once on a site. The dot, which neither shoots nor sites have in their names,
// makes it the name of no other shoot's objects.
func (o Owner) Name() string {
	return o.Shoot + "." + o.Site
}

// RuleName is the name of the anti-affinity rule of a pool's machines in a zone.
func (o Owner) RuleName(pool, zone string) string {
	return o.Name() + "." + pool + "." + zone
}

// OwnsRule reports whether an anti-affinity rule with the name is one of the shoot on the site.
func (o Owner) OwnsRule(name string) bool {
	return strings.HasPrefix(name, o.Name()+".")
}

// ExtraConfig marks virtual machines. It is written with the virtual machine itself, so that there is no moment in which one
// exists without it.
func (o Owner) ExtraConfig() map[string]string {
	return map[string]string{KeyShoot: o.Shoot, KeySite: o.Site}
}

// OwnsVM reports whether a virtual machine with the given extra configuration is ours.
func (o Owner) OwnsVM(extraConfig map[string]string) bool {
	return extraConfig[KeyShoot] == o.Shoot && extraConfig[KeySite] == o.Site
}

// UUID returns the UUID of the virtual machine with the name: always the same, so that the ID of a machine is known before the
// machine exists.
func (o Owner) UUID(name string) string {
	return uuid.NewSHA1(uuidNamespace, []byte(strings.Join([]string{o.Shoot, o.Site, name}, "/"))).String()
}

// MachineOf returns the first of the names that is that of a machine with the UUID, empty if none is. A virtual machine that somebody
// renamed has another name than its machine, and one that somebody copied has another UUID.
func (o Owner) MachineOf(id string, names ...string) string {
	i := slices.IndexFunc(names, func(name string) bool { return name != "" && strings.EqualFold(o.UUID(name), id) })
	if i < 0 {
		return ""
	}
	return names[i]
}

// uuidNamespace never changes: the UUIDs of all machines depend on it.
var uuidNamespace = uuid.MustParse("5b1e0e0c-3c5c-4f43-9b0a-0d5d1f2f7c8a")
