// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"

	library "k8s.io/cloud-provider-openstack/pkg/csi/cinder/openstack"
	"k8s.io/cloud-provider-openstack/pkg/util/metadata"

	drivers "github.com/gardener/gardener-extension-provider-hybrid/pkg/csi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// cloudKey is the key of a cloud among the values of its session.
type cloudKey struct {
	blockStorage library.BlockStorageOpts
	metadata     metadata.Opts
}

// Connect returns the library's cloud with our session. Its constructor would log in on its own, without a timeout, and writes to an
// unguarded global map. So the constructor's fields are set here.
func Connect(ctx context.Context, session *client.Session, config *drivers.Config, _ *drivers.SiteConfig) (library.IOpenStack, error) {
	compute, err := session.Compute(ctx)
	if err != nil {
		return nil, err
	}
	volume, err := session.Volume(ctx)
	if err != nil {
		return nil, err
	}
	_, endpoints := session.Provider()
	made := session.Value(cloudKey{config.BlockStorage, config.Metadata}, func() any {
		cloud := &library.OpenStack{}
		if err := client.SetFields(cloud, map[string]any{
			"compute":      compute,
			"blockstorage": volume,
			"bsOpts":       config.BlockStorage,
			"epOpts":       endpoints,
			"metadataOpts": config.Metadata,
		}); err != nil {
			return err
		}
		return cloud
	})
	if err, ok := made.(error); ok {
		return nil, err
	}
	return made.(library.IOpenStack), nil
}
