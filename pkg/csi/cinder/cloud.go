// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"reflect"
	"unsafe"

	library "k8s.io/cloud-provider-openstack/pkg/csi/cinder/openstack"
	"k8s.io/cloud-provider-openstack/pkg/util/metadata"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// cloudKey is the key of a cloud among the values of its session.
type cloudKey struct {
	blockStorage library.BlockStorageOpts
	metadata     metadata.Opts
}

// cloudOf returns the library's cloud with our session. Its own constructor would log in by itself, without a limit of time, and
// puts what it made into a map of the process that nothing guards. So the fields that it sets are set here.
func cloudOf(ctx context.Context, session *client.Session, config *Config) (library.IOpenStack, error) {
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
		for _, err := range []error{
			setField(cloud, "compute", compute),
			setField(cloud, "blockstorage", volume),
			setField(cloud, "bsOpts", config.BlockStorage),
			setField(cloud, "epOpts", endpoints),
			setField(cloud, "metadataOpts", config.Metadata),
		} {
			if err != nil {
				return err
			}
		}
		return cloud
	})
	if err, ok := made.(error); ok {
		return nil, err
	}
	return made.(library.IOpenStack), nil
}

// setField sets an unexported field of the library's cloud. It fails if another version of the library has no such field.
func setField[T any](cloud *library.OpenStack, name string, value T) error {
	field := reflect.ValueOf(cloud).Elem().FieldByName(name)
	if !field.IsValid() || field.Type() != reflect.TypeFor[T]() {
		return platform.NewError(platform.ClassConfiguration, "this version of cloud-provider-openstack has no field %q of type %s", name,
			reflect.TypeFor[T]())
	}
	*(*T)(unsafe.Pointer(field.UnsafeAddr())) = value // #nosec G103 -- the type is checked
	return nil
}
