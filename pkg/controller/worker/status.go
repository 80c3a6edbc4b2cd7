// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"slices"
	"strings"
	"time"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// updateMachineImagesStatus writes the images of all zones into the status of the Worker, so that they are known after the CloudProfile
// has dropped them. For an unresolved zone the status retains the images of its site.
func updateMachineImagesStatus(ctx context.Context, c *call, zones []*resolved) error {
	before, _ := readStatus(c.worker)
	after := &v1alpha1.WorkerStatus{}
	for _, z := range zones {
		image := z.spec.MachineImage
		if z.err == nil {
			after.MachineImages = helper.AddMachineImage(after.MachineImages, image.Name, image.Version, *z.image)
			continue
		}
		for _, last := range imagesOnSite(before.MachineImages, image.Name, image.Version, z.siteName) {
			after.MachineImages = helper.AddMachineImage(after.MachineImages, image.Name, image.Version, last)
		}
	}
	if c.worker.Status.ProviderStatus != nil && equality.Semantic.DeepEqual(before.MachineImages, after.MachineImages) {
		return nil
	}
	return writeStatus(ctx, c, "writing the machine images into", after)
}

func writeStatus(ctx context.Context, c *call, what string, status *v1alpha1.WorkerStatus) error {
	raw, err := codec.Encode(status)
	if err != nil {
		return err
	}
	return c.patchStatus(ctx, what, func(s *extensionsv1alpha1.WorkerStatus) { s.ProviderStatus = raw })
}

// writeOrphans writes the machines that a forced deletion left behind into the status of the Worker, if it still exists.
func writeOrphans(ctx context.Context, c *call, orphans []v1alpha1.Orphan) error {
	status, _ := readStatus(c.worker)
	status.Orphans = orphans
	return client.IgnoreNotFound(writeStatus(ctx, c, "writing the orphans into", status))
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

// completeStatus adds the number of failed machines to be preserved to the status, which the generic actuator omits.
func completeStatus(ctx context.Context, c *call, zones []*resolved) error {
	missing := map[string]int32{}
	for _, z := range zones {
		missing[z.deploymentName] = z.share.autoPreserveMax
	}
	isMissing := func(m extensionsv1alpha1.MachineDeployment) bool {
		return missing[m.Name] != 0 && m.AutoPreserveFailedMachineMax == nil
	}
	if !slices.ContainsFunc(c.worker.Status.MachineDeployments, isMissing) {
		return nil
	}
	return c.patchStatus(ctx, "completing", func(s *extensionsv1alpha1.WorkerStatus) {
		for i, m := range s.MachineDeployments {
			if isMissing(m) {
				s.MachineDeployments[i].AutoPreserveFailedMachineMax = new(missing[m.Name])
			}
		}
	})
}

// clearLastError removes the error of the last reconciliation from the status if all zones are complete: gardenlet would treat it as an
// error of this reconciliation and give up after 30 s. An error about machines that were not ready in time is kept if it answers the last
// request, because the controller retries within milliseconds, before gardenlet has read it.
func clearLastError(ctx context.Context, c *call, zones []*resolved) error {
	if c.worker.Status.LastError == nil || !complete(zones) || answersLastRequest(c.worker) {
		return nil
	}
	return c.patchStatus(ctx, "clearing the last error in", func(s *extensionsv1alpha1.WorkerStatus) { s.LastError = nil })
}

// answersLastRequest returns whether the last error is about machines that were not ready in time, and newer than the last request.
func answersLastRequest(w *extensionsv1alpha1.Worker) bool {
	requested, err := time.Parse(time.RFC3339Nano, w.Annotations[v1beta1constants.GardenerTimestamp])
	if err != nil || !strings.Contains(w.Status.LastError.Description, notReady) {
		return false
	}
	written := w.Status.LastError.LastUpdateTime
	return written != nil && written.After(requested)
}
