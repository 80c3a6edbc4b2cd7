// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/gardener/gardener-extension-provider-hybrid/test/openstackstub"
)

// quantityConnections is the number of established connections.
const quantityConnections = "connections"

// measureSockets counts the connections that the driver's process holds after many calls and a garbage
// collection.
func measureSockets(ctx context.Context, b *Bed) (m Measurement, err error) {
	s, err := newStubCloud(stubShoot, openstackstub.Settings{})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	j, err := s.job(ctx, 1)
	if err != nil {
		return m, err
	}
	driver, err := newSubject(ctx, j, b.progress)
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
	m.Note = fmt.Sprintf("%s; %d driver calls by %d callers at once, %d requests; %d goroutines after them", stubNote, r.Machines, callers,
		len(m.Records)-1, r.Goroutines)
	return m, nil
}
