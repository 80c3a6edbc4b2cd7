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

// keyPairHashLength is the number of hexadecimal characters of the hash in the names of key pairs, formerKeyPairHashLength that of
// version 0.1.
const (
	keyPairHashLength       = 16
	formerKeyPairHashLength = 8
)

// keyPairName holds a hash of the owner and the public key: a rotated key gets a new key pair, and since key pairs cannot be marked, one
// is ours if its name and its content belong together. The rest of the name is no mark: it may be that of another shoot and site, too.
func (f *flow) keyPairName(publicKey string) string {
	return f.keyPairNameOf(f.owner.Shoot+"\x00"+f.owner.Site+"\x00"+publicKey, keyPairHashLength)
}

// formerKeyPairName is the name of version 0.1, whose hash was that of the key alone. It is ours only if the state says so.
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

func (f *flow) lookKeyPair(ctx context.Context) (*keypairs.KeyPair, error) {
	if f.publicKey() == "" {
		return nil, nil
	}
	name := f.keyPairName(f.publicKey())
	if former := f.formerKeyPairName(f.publicKey()); f.knowsKeyPair(former) {
		name = former
	}
	pair, err := client.Extracted(keypairs.Get(ctx, f.compute, name, nil).Extract())
	if client.IsNotFound(err) {
		return nil, nil
	}
	return pair, client.Classify(err)
}

func keyPair(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject { return &s.KeyPair }

// ensureKeyPair keeps the key pair that there was before a rotation until the next one.
func (f *flow) ensureKeyPair(seen *seen) func(context.Context) error {
	return func(ctx context.Context) error {
		if f.publicKey() == "" {
			return nil
		}
		if seen.keyPair == nil {
			created, err := client.Extracted(keypairs.Create(ctx, f.compute, keypairs.CreateOpts{Name: f.keyPairName(f.publicKey()), PublicKey: f.publicKey()}).Extract())
			if err != nil {
				return client.Classify(err)
			}
			seen.keyPair = created
		} else if !f.ownsKeyPair(*seen.keyPair) {
			return platform.NewError(platform.ClassConflict, "key pair %q exists with another public key", seen.keyPair.Name)
		}

		old := f.State().KeyPair
		if old == nil || old.ID == seen.keyPair.Name {
			return f.recordObject(ctx, seen.keyPair.Name, true, keyPair)
		}
		// Machine classes name the old one until the Worker is reconciled, which a problem of another site can delay.
		if err := f.deleteKeyPairs(ctx, old.ID, seen.keyPair.Name); err != nil {
			return err
		}
		return f.Record(ctx, func(state *v1alpha1.OpenStackState) {
			state.FormerKeyPair, state.KeyPair = old, &v1alpha1.OpenStackObject{ID: seen.keyPair.Name, Managed: true}
		})
	}
}

func (f *flow) ownedKeyPairs(ctx context.Context) ([]keypairs.KeyPair, error) {
	found, err := client.List(ctx, keypairs.List(f.compute, nil), keypairs.ExtractKeyPairs)
	return slices.DeleteFunc(found, func(pair keypairs.KeyPair) bool { return !f.ownsKeyPair(pair) }), err
}

// deleteKeyPairs deletes all that are ours but those with the names.
func (f *flow) deleteKeyPairs(ctx context.Context, keep ...string) error {
	found, err := f.ownedKeyPairs(ctx)
	if err != nil {
		return err
	}
	for _, pair := range found {
		if slices.Contains(keep, pair.Name) {
			continue
		}
		if err := client.IgnoreNotFound(keypairs.Delete(ctx, f.compute, pair.Name, nil).ExtractErr()); err != nil {
			return err
		}
	}
	return nil
}

func (f *flow) orphanedKeyPairs(ctx context.Context) ([]v1alpha1.Orphan, error) {
	found, err := f.ownedKeyPairs(ctx)
	return orphansOf(f, "key pair", found, func(k keypairs.KeyPair) (string, string) { return k.Name, k.Name }), err
}
