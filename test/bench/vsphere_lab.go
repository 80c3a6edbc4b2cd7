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
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

// vsphereTimeout limits how long machine-controller-manager may take.
const vsphereTimeout = 4 * time.Minute

// measureVSphereLab creates many machines with machine-controller-manager and the driver's process. Machine-controller-manager's own
// rate limit decides how long that takes.
func measureVSphereLab(ctx context.Context, b *Bed) (m Measurement, err error) {
	s, err := newVSphereSite(ctx, vcenter.Options{Guest: time.Millisecond})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	l, err := newLab(ctx, b.progress, vsphereShoot)
	if err != nil {
		return m, err
	}
	defer l.close()
	class, err := newMachineClass(vsphereShoot, l.deploymentName(), s.spec)
	if err != nil {
		return m, err
	}
	if err := l.deployClass(ctx, newSecret(vsphereShoot, s.site), class); err != nil {
		return m, err
	}
	l.playKubelets(vcenter.NewWatch(s.server, vsphereShoot).Active, look)
	if err := s.server.Set(ctx, control.Settings{Task: vsphereTask}); err != nil {
		return m, err
	}

	fmt.Fprintf(b.progress, "  create %d machines\n", vsphereWave)
	start := time.Now()
	m.Records, err = s.record(ctx, "create", func(ctx context.Context) error {
		if err := errors.Join(l.MCM.Start(), l.Driver.Start()); err != nil {
			return err
		}
		_, err := l.scale(ctx, vsphereWave, vsphereTimeout)
		return err
	})
	if err != nil {
		return m, err
	}
	m.Note = fmt.Sprintf("%s, tasks take %s; real machine-controller-manager, driver and kube-apiserver; %d machines were running after "+
		"%.0f s, with %.1f requests for each",
		vsphereNote, vsphereTask, vsphereWave, time.Since(start).Seconds(), requests(m.Records)/vsphereWave)
	if err := m.addMemory(l.Driver); err != nil {
		return m, err
	}
	m.Peer, err = peerLogins(ctx, b)
	return m, err
}

// peerLogins lets the peer make as many machines on a vCenter of its own. Its driver gets the calls by which machine-controller-manager
// looks for a machine and creates it, by as many callers as machine-controller-manager has workers.
func peerLogins(ctx context.Context, b *Bed) (run *PeerRun, err error) {
	s, err := newVSphereSite(ctx, vcenter.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	peer := s.newPeer(ctx, b)
	defer peer.close()
	fmt.Fprintf(b.progress, "  let the peer create %d machines\n", vsphereWave)
	r := peer.do(ctx, "create", order{Do: doCreate})
	run = peer.measured()
	run.Note = fmt.Sprintf("a look and a creation of %d machines by the driver, without machine-controller-manager, %d requests",
		r.Machines, len(run.Records))
	return run, nil
}
