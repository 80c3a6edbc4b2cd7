// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// updateMachineImagesStatus writes the images of all zones into the status of the Worker, so that they are still known when
// the CloudProfile has dropped them. A zone that cannot be resolved keeps the images of its site that the status has.
func (d *delegate) updateMachineImagesStatus(ctx context.Context, p *plan) error {
	before, err := codec.Decode[v1alpha1.WorkerStatus](d.worker.Status.ProviderStatus)
	if err != nil {
		before = &v1alpha1.WorkerStatus{}
	}

	after := &v1alpha1.WorkerStatus{}
	p.zones(func(pool *pool, z *zone) {
		image := pool.spec.MachineImage
		if z.err == nil {
			after.MachineImages = helper.AddMachineImage(after.MachineImages, image.Name, image.Version, *z.image)
			return
		}
		for _, last := range imagesOnSite(before.MachineImages, image.Name, image.Version, z.siteName) {
			after.MachineImages = helper.AddMachineImage(after.MachineImages, image.Name, image.Version, last)
		}
	})
	if d.worker.Status.ProviderStatus != nil && equality.Semantic.DeepEqual(before.MachineImages, after.MachineImages) {
		return nil
	}

	raw, err := codec.Encode(after)
	if err != nil {
		return err
	}
	patch := client.MergeFrom(d.worker.DeepCopy())
	d.worker.Status.ProviderStatus = raw
	if err := d.client.Status().Patch(ctx, d.worker, patch); err != nil {
		return fmt.Errorf("writing the machine images into the status of the Worker: %w", err)
	}
	return nil
}

func imagesOnSite(images []v1alpha1.MachineImage, name, version, siteName string) []helper.MachineImage {
	var found []helper.MachineImage
	for _, image := range images {
		if image.Name != name {
			continue
		}
		for _, v := range image.Versions {
			if v.Version != version {
				continue
			}
			for _, flavor := range v.CapabilityFlavors {
				for i := range flavor.Sites {
					if flavor.Sites[i].Name == siteName {
						found = append(found, helper.MachineImage{Capabilities: flavor.Capabilities, Site: &flavor.Sites[i]})
					}
				}
			}
		}
	}
	return found
}

// completeStatus fills in how many failed machines may be preserved, which the generic actuator leaves out of the status.
func (d *delegate) completeStatus(ctx context.Context) error {
	if d.planned == nil {
		return nil
	}
	var (
		before     = d.worker.DeepCopy()
		generated  = d.machineDeployments(d.planned)
		isComplete = true
	)
	for i := range d.worker.Status.MachineDeployments {
		status := &d.worker.Status.MachineDeployments[i]
		deployment := generated.FindByName(status.Name)
		if deployment == nil || deployment.AutoPreserveFailedMachineMax == 0 || status.AutoPreserveFailedMachineMax != nil {
			continue
		}
		status.AutoPreserveFailedMachineMax = new(deployment.AutoPreserveFailedMachineMax)
		isComplete = false
	}
	if isComplete {
		return nil
	}
	if err := d.client.Status().Patch(ctx, d.worker, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("completing the status of the Worker: %w", err)
	}
	return nil
}

// forgetLastError takes the error of the last reconciliation out of the status if nothing is wrong up to the wait for machines.
// gardenlet takes it for one of this reconciliation and would give up after 30 s, whatever the machines do.
func (d *delegate) forgetLastError(ctx context.Context) error {
	if d.worker.Status.LastError == nil || !d.allResolved() {
		return nil
	}
	patch := client.MergeFrom(d.worker.DeepCopy())
	d.worker.Status.LastError = nil
	if err := d.client.Status().Patch(ctx, d.worker, patch); err != nil {
		return fmt.Errorf("taking the last error out of the status of the Worker: %w", err)
	}
	return nil
}
