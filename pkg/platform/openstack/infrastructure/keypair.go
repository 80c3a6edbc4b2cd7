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

// keyPairName holds a hash of the public key: a rotated key gets a new key pair, and since key pairs cannot be marked, one
// is ours if its name and its content belong together.
func (f *flow) keyPairName(publicKey string) string {
	sum := sha256.Sum256([]byte(publicKey))
	return f.owner.Name() + "-" + hex.EncodeToString(sum[:4])
}

func (f *flow) publicKey() string {
	return strings.TrimSpace(string(f.site.SSHPublicKey))
}

func (f *flow) ownsKeyPair(pair keypairs.KeyPair) bool {
	return pair.Name == f.keyPairName(strings.TrimSpace(pair.PublicKey))
}

func (f *flow) lookKeyPair(ctx context.Context) (*keypairs.KeyPair, error) {
	if f.publicKey() == "" {
		return nil, nil
	}
	pair, err := keypairs.Get(ctx, f.compute, f.keyPairName(f.publicKey()), nil).Extract()
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
			created, err := keypairs.Create(ctx, f.compute, keypairs.CreateOpts{Name: f.keyPairName(f.publicKey()), PublicKey: f.publicKey()}).Extract()
			if err != nil {
				return client.Classify(err)
			}
			seen.keyPair = created
		} else if !f.ownsKeyPair(*seen.keyPair) {
			return platform.NewError(platform.ClassConflict, "key pair %q exists with another public key", seen.keyPair.Name)
		}

		old := f.State().KeyPair
		if err := f.recordObject(ctx, seen.keyPair.Name, true, keyPair); err != nil {
			return err
		}
		if old == nil || old.ID == seen.keyPair.Name {
			return nil
		}
		// Machine classes name the old one until the Worker is reconciled, which a problem of another site can delay.
		return f.deleteKeyPairs(ctx, old.ID, seen.keyPair.Name)
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
