// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
)

// measureVSphereSockets counts the connections that the driver's process holds after many calls and a garbage collection.
func measureVSphereSockets(ctx context.Context, b *Bed) (m Measurement, err error) {
	s, err := newVSphereSite(ctx, vcenter.Options{})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	class, err := newMachineClass(vsphereShoot, vsphereShoot, s.spec)
	if err != nil {
		return m, err
	}
	driver, err := newSubject(ctx, job{Classes: []*machinev1alpha1.MachineClass{class}, Secret: newSecret(vsphereShoot, s.site)}, b.progress)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, driver.stop()) }()
	var r report
	m.Records, err = s.record(ctx, "calls", func(context.Context) (err error) {
		r, err = driver.do(order{Do: doCalls})
		return err
	})
	if err != nil {
		return m, err
	}
	m.Records = append(m.Records, sample("calls", quantityConnections, float64(r.Connections)))
	m.Note = fmt.Sprintf("%s; %d driver calls by %d callers at once, %d requests; %d goroutines after them", vsphereNote, r.Machines, callers,
		len(m.Records)-1, r.Goroutines)
	peer := s.newPeer(ctx, b)
	defer peer.close()
	fmt.Fprintln(b.progress, "  let the peer make its calls")
	r = peer.do(ctx, "calls", order{Do: doCalls})
	m.Peer = peer.measured()
	m.Peer.Records = append(m.Peer.Records, sample("calls", quantityConnections, float64(r.Connections)))
	m.Peer.Note = fmt.Sprintf("%d driver calls by one caller, %d requests, %d goroutines after them", r.Machines, len(m.Peer.Records)-1,
		r.Goroutines)
	return m, nil
}
