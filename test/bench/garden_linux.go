// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	gardenlab "github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/lab"
	landscapeshoot "github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
)

const (
	gardenTimeout = 15 * time.Minute

	// quantityCreated is the time from the creation of a Shoot to gardenlet's word that it has succeeded, in seconds.
	quantityCreated = "created"
	// quantityDeleted is the time from the deletion of a Shoot until it is gone, in seconds.
	quantityDeleted = "deleted"
)

// measureGarden lets a real Gardener create a shoot on all platforms.
func measureGarden(ctx context.Context, b *Bed) (m Measurement, err error) {
	ctx, cancel := context.WithTimeout(ctx, gardenTimeout)
	defer cancel()
	dir, err := landscape.CacheDir("garden")
	if err != nil {
		return m, err
	}
	own := dir + "-binaries"
	if _, err := landscapeshoot.Build(ctx, own, b.progress); err != nil {
		return m, err
	}
	l, err := gardenlab.Start(ctx, gardenlab.Options{Dir: dir, Own: own, Progress: b.progress, Log: logr.Discard()})
	defer func() { err = errors.Join(err, l.Stop(context.WithoutCancel(ctx))) }()
	if err != nil {
		return m, err
	}
	tell := func(message string) { fmt.Fprintln(b.progress, "  "+message) }
	for _, start := range []func(context.Context) error{
		l.StartVirtual, l.Register, l.CreateProfile, func(ctx context.Context) error { return l.Seed.Start(ctx) },
		func(ctx context.Context) error { return l.WaitSeed(ctx, l.Seed.Name, tell) },
	} {
		if err := start(ctx); err != nil {
			return m, err
		}
	}

	shoot := l.Shoot(gardenlab.Hybrid)
	object, err := shoot.Object(gardenlab.Cloud, gardenlab.VC, gardenlab.Racks)
	if err != nil {
		return m, err
	}
	begin := time.Now()
	if err := l.Client.Create(ctx, object); err != nil {
		return m, err
	}
	if err := shoot.WaitCreated(ctx, tell); err != nil {
		return m, err
	}
	created := time.Since(begin).Seconds()
	machines, err := shoot.Machines(ctx)
	if err != nil {
		return m, err
	}
	if err := shoot.Wait(ctx, begin, tell); err != nil {
		return m, err
	}
	begin = time.Now()
	if err := shoot.Delete(ctx, tell); err != nil {
		return m, err
	}
	deleted := time.Since(begin).Seconds()
	left, err := shoot.Left(ctx)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("left on the sites: %s", strings.Join(left, ", "))
	}
	m.Records = []Record{sample("shoot", quantityCreated, created), sample("shoot", quantityDeleted, deleted)}
	m.Note = fmt.Sprintf("real Gardener; %d machines on OpenStack, vSphere and bare metal; deleted in %.0f s", len(machines), deleted)
	return m, err
}
