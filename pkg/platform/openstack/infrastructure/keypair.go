// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

var keyPairKind = kind[keypairs.KeyPair]{
	name:     "key pair",
	own:      ownedKeyPairs,
	describe: func(k *keypairs.KeyPair) object { return object{id: k.Name, name: k.Name} },
	remove: func(ctx context.Context, f *flow, name string) error {
		return keypairs.Delete(ctx, f.compute, name, nil).ExtractErr()
	},
}

// keyPairHashLength is the number of hexadecimal digits of the hash in the names of key pairs, formerKeyPairHashLength that of version 0.1.
const (
	keyPairHashLength       = 16
	formerKeyPairHashLength = 8
)

// keyPairName contains a hash of the owner and the public key: a rotated key gets a new key pair, and since key pairs cannot be marked, one
// is ours if its name matches its content. The rest of the name is not a mark: another shoot and site may result in the same one.
func (f *flow) keyPairName(publicKey string) string {
	return f.keyPairNameOf(f.owner.Shoot+"\x00"+f.owner.Site+"\x00"+publicKey, keyPairHashLength)
}

// formerKeyPairName is the name in version 0.1, which hashed only the key. Such a key pair is ours only if it is in the state.
func (f *flow) formerKeyPairName(publicKey string) string {
	return f.keyPairNameOf(publicKey, formerKeyPairHashLength)
}

func (f *flow) keyPairNameOf(content string, length int) string {
	sum := sha256.Sum256([]byte(content))
	return f.owner.Name() + "-" + hex.EncodeToString(sum[:])[:length]
}

func (f *flow) publicKey() string {
	return strings.TrimSpace(string(f.site.SSHPublicKey))
}

func (f *flow) ownsKeyPair(pair keypairs.KeyPair) bool {
	key := strings.TrimSpace(pair.PublicKey)
	return pair.Name == f.keyPairName(key) || pair.Name == f.formerKeyPairName(key) && f.knowsKeyPair(pair.Name)
}

// knowsKeyPair reports whether the state has a key pair with the name.
func (f *flow) knowsKeyPair(name string) bool {
	state := f.State()
	return slices.ContainsFunc([]*v1alpha1.OpenStackObject{state.KeyPair, state.FormerKeyPair}, func(known *v1alpha1.OpenStackObject) bool {
		return known != nil && known.ID == name
	})
}

func observeKeyPair(ctx context.Context, f *flow) error {
	if f.publicKey() == "" {
		return nil
	}
	name := f.keyPairName(f.publicKey())
	if former := f.formerKeyPairName(f.publicKey()); f.knowsKeyPair(former) {
		name = former
	}
	pair, err := client.Extracted(keypairs.Get(ctx, f.compute, name, nil).Extract())
	if client.IsNotFound(err) {
		return nil
	}
	f.observed.keyPair = pair
	return err
}

func keyPair(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject { return &s.KeyPair }

// ensureKeyPair keeps the key pair of before a rotation until the next rotation.
func ensureKeyPair(ctx context.Context, f *flow) error {
	observed := &f.observed
	if f.publicKey() == "" {
		return nil
	}
	if observed.keyPair == nil {
		created, err := client.Extracted(keypairs.Create(ctx, f.compute,
			keypairs.CreateOpts{Name: f.keyPairName(f.publicKey()), PublicKey: f.publicKey()}).Extract())
		if err != nil {
			return err
		}
		observed.keyPair = created
	} else if !f.ownsKeyPair(*observed.keyPair) {
		return platform.NewError(platform.ClassConflict, "key pair %q exists with another public key", observed.keyPair.Name)
	}

	old := f.State().KeyPair
	if old == nil || old.ID == observed.keyPair.Name {
		return f.recordObject(ctx, observed.keyPair.Name, true, keyPair)
	}
	// Machine classes refer to the old one until the Worker is reconciled, which a problem of another site can delay.
	if err := deleteKeyPairs(ctx, f, old.ID, observed.keyPair.Name); err != nil {
		return err
	}
	return f.Record(ctx, func(state *v1alpha1.OpenStackState) {
		state.FormerKeyPair, state.KeyPair = old, &v1alpha1.OpenStackObject{ID: observed.keyPair.Name, Managed: true}
	})
}

func ownedKeyPairs(ctx context.Context, f *flow) ([]keypairs.KeyPair, error) {
	found, err := client.List(ctx, keypairs.List(f.compute, nil), keypairs.ExtractKeyPairs)
	return slices.DeleteFunc(found, func(pair keypairs.KeyPair) bool { return !f.ownsKeyPair(pair) }), err
}

// deleteKeyPairs deletes our key pairs except those with the given names.
func deleteKeyPairs(ctx context.Context, f *flow, keep ...string) error {
	found, err := ownedKeyPairs(ctx, f)
	if err != nil {
		return err
	}
	return keyPairKind.deleteAll(ctx, f, slices.DeleteFunc(found, func(k keypairs.KeyPair) bool { return slices.Contains(keep, k.Name) }))
}

func formerKeyPair(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject { return &s.FormerKeyPair }
