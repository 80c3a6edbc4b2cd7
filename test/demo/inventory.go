// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

const (
	// provisioningTime is how long it takes to write an image to a host of Metal3. Real hosts take many minutes.
	provisioningTime = 5 * time.Second
	// cleaningTime is how long it takes to clean a host of Metal3.
	cleaningTime = 3 * time.Second
)

// inventory is the cluster that the sites of bare metal share.
type inventory struct {
	*metal.Inventory
	// built is closed when the operators' executables are there.
	built <-chan struct{}
	// metal3 and ironCore are whether a site needs them.
	metal3, ironCore bool

	credentials metal.Credentials

	mutex   sync.Mutex
	started bool
	err     error
}

// start starts the inventory for the first site that needs it.
func (i *inventory) start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-i.built:
	}
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if !i.started {
		i.started = true
		i.err = i.startOnce(ctx)
	}
	return i.err
}

func (i *inventory) startOnce(ctx context.Context) error {
	dir, err := landscape.CacheDir("demo-inventory")
	if err != nil {
		return err
	}
	i.Inventory, err = metal.Start(ctx, metal.Options{
		Dir: dir, Metal3: i.metal3, IronCore: i.ironCore, IPAM: i.metal3, Provisioning: provisioningTime, Cleaning: cleaningTime,
	})
	if err != nil {
		return err
	}
	if err := i.Grant(ctx); err != nil {
		return err
	}
	i.credentials, err = i.Token(ctx)
	return err
}

// stop ends what start started. It may be called for each site.
func (i *inventory) stop() error {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if i.Inventory == nil {
		return nil
	}
	err := i.Check()
	i.Stop()
	i.Inventory = nil
	return err
}

// imageOf is the image of a server claim.
func imageOf(claim unstructured.Unstructured) string {
	image, _, _ := unstructured.NestedString(claim.Object, "spec", "image")
	return image
}
