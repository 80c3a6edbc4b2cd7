// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
)

const (
	// hybridGuest is how long a virtual machine of the simulated vCenter boots.
	hybridGuest   = time.Second
	hybridTimeout = 6 * time.Minute
)

// hybrid is a seed with machine-controller-manager and the driver, and machine deployments without machines on three sites.
type hybrid struct {
	*lab

	progress io.Writer
	cloud    *Bed
	vc       *vsphereSite
	metal    *metalSite
}

// newHybrid starts a seed and three sites, the one of bare metal with so many hosts.
func newHybrid(ctx context.Context, b *Bed, hosts int) (*hybrid, error) {
	h := &hybrid{progress: b.progress}
	if err := h.start(ctx, b, hosts); err != nil {
		return nil, errors.Join(err, h.close(ctx))
	}
	return h, nil
}

func (h *hybrid) start(ctx context.Context, b *Bed, hosts int) (err error) {
	if h.cloud, err = b.another(ctx); err != nil {
		return err
	}
	if err := h.cloud.prepare(ctx); err != nil {
		return err
	}
	if h.lab, err = newLab(ctx, h.progress, h.cloud.shoot); err != nil {
		return err
	}
	fmt.Fprintf(h.progress, "  start a vCenter and an inventory with %d hosts\n", hosts)
	if h.vc, err = newVSphereSite(ctx, vcenter.Options{Guest: hybridGuest}); err != nil {
		return err
	}
	if h.metal, err = newMetalSite(ctx, h.namespace); err != nil {
		return err
	}
	if err := h.metal.makeHosts(ctx, hosts); err != nil {
		return err
	}
	if err := h.deployAll(ctx); err != nil {
		return err
	}
	h.playKubelets(openstack.NewWatch(h.namespace, h.cloud.inspector).Active, time.Second)
	h.playKubelets(vcenter.NewWatch(h.vc.server, h.namespace).Active, time.Second)
	h.playKubelets(metal.NewWatch(h.metal.inventory, h.namespace).Active, time.Second)
	return errors.Join(h.MCM.Start(), h.Driver.Start())
}

func (h *hybrid) deployAll(ctx context.Context) error {
	spec, err := h.cloud.machineSpec(ctx, nil)
	if err != nil {
		return err
	}
	class, err := h.cloud.machineClass(h.deploymentOn(siteName), spec)
	if err != nil {
		return err
	}
	if err := h.deployClass(ctx, h.cloud.secret(), class); err != nil {
		return err
	}
	if class, err = newMachineClass(h.namespace, h.deploymentOn(vsphereSiteName), h.vc.spec); err != nil {
		return err
	}
	if err := h.deployClass(ctx, newSecret(h.namespace, h.vc.site), class); err != nil {
		return err
	}
	return h.deploySite(ctx, h.deploymentOn(metalSiteName), h.metal)
}

// deploymentOn is the name of the machine deployment on a site.
func (h *hybrid) deploymentOn(site string) string {
	return h.namespace + "-" + site
}

// wave is how long it took until the machines of each site were running.
type wave map[string]time.Duration

// last is how long all of them took.
func (w wave) last() time.Duration {
	var last time.Duration
	for _, took := range w {
		last = max(last, took)
	}
	return last
}

func (w wave) String() string {
	var sites []string
	for _, site := range []string{siteName, vsphereSiteName, metalSiteName} {
		if took, ok := w[site]; ok {
			sites = append(sites, fmt.Sprintf("%s %.1f s", site, took.Seconds()))
		}
	}
	return strings.Join(sites, ", ")
}

// create creates machines on sites and waits until those of some of the sites are running.
func (h *hybrid) create(ctx context.Context, sizes map[string]int, await ...string) (wave, error) {
	deployments, awaited := map[string]int{}, map[string]int{}
	for site, size := range sizes {
		deployments[h.deploymentOn(site)] = size
	}
	for _, site := range await {
		awaited[h.deploymentOn(site)] = sizes[site]
	}
	start := time.Now()
	if err := h.resize(ctx, deployments); err != nil {
		return nil, err
	}
	running, err := h.waitRunning(ctx, awaited, hybridTimeout)
	if err != nil {
		return nil, err
	}
	w := wave{}
	for _, site := range await {
		for machine, at := range running {
			if strings.HasPrefix(machine, h.deploymentOn(site)+"-") {
				w[site] = max(w[site], at.Sub(start))
			}
		}
	}
	return w, nil
}

// clear deletes all machines.
func (h *hybrid) clear(ctx context.Context) error {
	_, err := h.create(ctx, map[string]int{siteName: 0, vsphereSiteName: 0, metalSiteName: 0}, siteName, vsphereSiteName, metalSiteName)
	return err
}

// close removes everything that was made and stops what was started.
func (h *hybrid) close(ctx context.Context) error {
	var errs []error
	if h.lab != nil {
		h.lab.close()
	}
	if h.metal != nil {
		if conflicts := h.metal.inventory.Journal.Conflicts(); len(conflicts) > 0 {
			errs = append(errs, fmt.Errorf("hosts were used twice: %s", strings.Join(conflicts, "; ")))
		}
		errs = append(errs, h.metal.close())
	}
	if h.vc != nil {
		errs = append(errs, h.vc.close())
	}
	if h.cloud != nil {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		errs = append(errs, h.cloud.close(cleanup))
	}
	return errors.Join(errs...)
}
