// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
)

// vsphereMachines is how many machines are looked at one after the other, so that nobody shares a request.
const vsphereMachines = 5

// measureVSphereCreate creates machines, the first of them in a new process that has to log in and to read what all have in common.
func measureVSphereCreate(ctx context.Context, b *Bed) (m Measurement, err error) {
	s, err := newVSphereSite(ctx, vcenter.Options{})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	peer := s.newPeer(ctx, b)
	defer peer.close()
	s.restart()
	var first, steady []Record
	for i := range vsphereMachines {
		name := fmt.Sprintf("create-%d", i+1)
		records, err := s.observe(ctx, name, func(ctx context.Context) error {
			request := s.request(name)
			return s.create(ctx, &request)
		})
		if err != nil {
			return m, err
		}
		if i == 0 {
			first = records
		} else if len(records) > len(steady) {
			steady = records
		}
		m.Records = append(m.Records, records...)
		peer.make(ctx, name, name)
	}
	m.Peer = peer.measured()
	m.Peer.Note = "a look and a creation (" + peer.worst() + ")"
	m.Note = fmt.Sprintf("%s; worst of %d machines one after the other, looks at tasks counted; the first of a process with its logins: "+
		"%d; worst of the others: %d (%s)",
		vsphereNote, vsphereMachines, len(first), len(steady), methods(steady))
	return m, nil
}

// measureVSphereGet asks for machines that exist, by their ID.
func measureVSphereGet(ctx context.Context, b *Bed) (m Measurement, err error) {
	s, err := newVSphereSite(ctx, vcenter.Options{})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	peer := s.newPeer(ctx, b)
	defer peer.close()
	for i := range vsphereMachines {
		name := fmt.Sprintf("get-%d", i+1)
		request := s.request(name)
		if err := s.create(ctx, &request); err != nil {
			return m, err
		}
		records, err := s.observe(ctx, request.Name, func(ctx context.Context) error {
			_, err := s.machines.Get(ctx, request)
			return err
		})
		if err != nil {
			return m, err
		}
		m.Records = append(m.Records, records...)
		m.Note = fmt.Sprintf("%s; warm session; worst of %d machines (%s)", vsphereNote, vsphereMachines, methods(records))
		made := peer.make(ctx, "", name)
		peer.do(ctx, name, order{Do: doLook, Machine: made.Machine, ProviderID: made.ProviderID})
	}
	m.Peer = peer.measured()
	m.Peer.Note = peer.worst()
	return m, nil
}

// measureVSphereDelete deletes machines whose guests can shut down, one after the other.
func measureVSphereDelete(ctx context.Context, b *Bed) (m Measurement, err error) {
	s, err := newVSphereSite(ctx, vcenter.Options{Guest: time.Millisecond})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	peer := s.newPeer(ctx, b)
	defer peer.close()
	var worst []Record
	for i := range vsphereMachines {
		name := fmt.Sprintf("delete-%d", i+1)
		request := s.request(name)
		if err := s.create(ctx, &request); err != nil {
			return m, err
		}
		records, err := s.observe(ctx, request.Name, func(ctx context.Context) error { return s.machines.Delete(ctx, request) })
		if err != nil {
			return m, err
		}
		if len(records) > len(worst) {
			worst = records
		}
		m.Records = append(m.Records, records...)
		made := peer.make(ctx, "", name)
		peer.do(ctx, name, order{Do: doDelete, Machine: made.Machine, ProviderID: made.ProviderID})
	}
	m.Peer = peer.measured()
	m.Peer.Note = peer.worst()
	m.Note = fmt.Sprintf("%s; warm session; worst of %d machines one after the other, looks at tasks counted (%s)", vsphereNote,
		vsphereMachines, methods(worst))
	return m, nil
}
