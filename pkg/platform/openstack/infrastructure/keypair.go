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

func (f *flow) ensureKeyPair(seen *seen) func(context.Context) error {
	place := func(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject { return &s.KeyPair }
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
		if err := f.recordObject(ctx, seen.keyPair.Name, true, place); err != nil {
			return err
		}
		if old != nil && old.ID != seen.keyPair.Name {
			return client.IgnoreNotFound(keypairs.Delete(ctx, f.compute, old.ID, nil).ExtractErr())
		}
		return nil
	}
}

func (f *flow) ownedKeyPairs(ctx context.Context) ([]keypairs.KeyPair, error) {
	found, err := client.List(ctx, keypairs.List(f.compute, nil), keypairs.ExtractKeyPairs)
	return slices.DeleteFunc(found, func(pair keypairs.KeyPair) bool { return !f.ownsKeyPair(pair) }), err
}

func (f *flow) deleteKeyPairs(ctx context.Context) error {
	found, err := f.ownedKeyPairs(ctx)
	if err != nil {
		return err
	}
	for _, pair := range found {
		if err := client.IgnoreNotFound(keypairs.Delete(ctx, f.compute, pair.Name, nil).ExtractErr()); err != nil {
			return err
		}
	}
	return f.forget(ctx, func(s *v1alpha1.OpenStackState) **v1alpha1.OpenStackObject { return &s.KeyPair })
}
