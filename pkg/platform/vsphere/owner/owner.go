// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package owner defines the names and marks of the objects of a shoot on a vSphere site.
package owner

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Owner is the shoot and site that an object belongs to.
type Owner struct {
	// Shoot is the technical ID of the shoot.
	Shoot string
	// Site is the name of the site.
	Site string
}

const (
	// TagCategory is the category of the tags of shoots.
	TagCategory = "gardener-shoot"
	// KeyShoot is the key in the extra configuration of virtual machines with the technical ID of the shoot.
	KeyShoot = "gardener.shoot"
	// KeySite is the key in the extra configuration of virtual machines with the name of the site.
	KeySite = "gardener.site"
	// KeyMachine is the key in the extra configuration of virtual machines with the name of the machine. Older versions did
	// not write it.
	KeyMachine = "gardener.machine"
	// KeyUserData is the key in the extra configuration of bastions with the hash of their user data.
	KeyUserData = "gardener.user-data"
	// KeyAddress is the key in the extra configuration of virtual machines with the address that they got from a pool.
	KeyAddress = "gardener.address"
	// KeyRule is the key in the extra configuration of virtual machines with the name of their anti-affinity rule.
	KeyRule = "gardener.rule"
)

// bastionsSuffix follows the name of the site in the marks of bastions. No site has it in its name.
const bastionsSuffix = "/bastion"

// OfBastions returns the owner of the shoot's bastions on the site. Its marks differ from those of the site's machines.
func (o Owner) OfBastions() Owner {
	o.Site += bastionsSuffix
	return o
}

// Name returns the name of objects that a shoot has once on a site. It is unique, because names of shoots and sites contain no dot.
func (o Owner) Name() string {
	return o.Shoot + "." + o.Site
}

// RuleName returns the name of the anti-affinity rule of a pool's machines in a zone.
func (o Owner) RuleName(pool, zone string) string {
	return o.Name() + "." + pool + "." + zone
}

// OwnsRule reports whether an anti-affinity rule with the name belongs to the owner.
func (o Owner) OwnsRule(name string) bool {
	return strings.HasPrefix(name, o.Name()+".")
}

// ExtraConfig returns the marks of virtual machines. A virtual machine is created with them, and so never exists without.
func (o Owner) ExtraConfig() map[string]string {
	return map[string]string{KeyShoot: o.Shoot, KeySite: o.Site}
}

// HashOf returns the hash of user data.
func HashOf(userData []byte) string {
	sum := sha256.Sum256(userData)
	return hex.EncodeToString(sum[:])
}

// OwnsVM reports whether a virtual machine with the extra configuration belongs to the owner.
func (o Owner) OwnsVM(extraConfig map[string]string) bool {
	return extraConfig[KeyShoot] == o.Shoot && extraConfig[KeySite] == o.Site
}

// UUID returns the UUID of the virtual machine with the name. It is deterministic, so that it is known before the virtual machine exists.
func (o Owner) UUID(name string) string {
	return uuid.NewSHA1(uuidNamespace, []byte(strings.Join([]string{o.Shoot, o.Site, name}, "/"))).String()
}

// MachineOf returns the first of the names that belongs to a machine with the UUID, or an empty string. A renamed virtual machine has
// another name than its machine, and a copied one has another UUID.
func (o Owner) MachineOf(id string, names ...string) string {
	i := slices.IndexFunc(names, func(name string) bool { return name != "" && strings.EqualFold(o.UUID(name), id) })
	if i < 0 {
		return ""
	}
	return names[i]
}

// uuidNamespace must never change: the UUIDs of all machines depend on it.
var uuidNamespace = uuid.MustParse("5b1e0e0c-3c5c-4f43-9b0a-0d5d1f2f7c8a")
