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

// updateMachineImagesStatus writes the images of all zones into the status of the Worker, so that they are still known when
// the CloudProfile has dropped them. A zone that cannot be resolved keeps the images of its site that the status has.
func updateMachineImagesStatus(ctx context.Context, c *call, zones []*resolved) error {
	before, err := codec.Decode[v1alpha1.WorkerStatus](c.worker.Status.ProviderStatus)
	if err != nil {
		before = &v1alpha1.WorkerStatus{}
	}

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

// writeOrphans writes the machines that a forced deletion leaves behind into the status of the Worker, if it is still there.
func writeOrphans(ctx context.Context, c *call, orphans []v1alpha1.Orphan) error {
	status, err := codec.Decode[v1alpha1.WorkerStatus](c.worker.Status.ProviderStatus)
	if err != nil {
		status = &v1alpha1.WorkerStatus{}
	}
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

// completeStatus fills in how many failed machines may be preserved, which the generic actuator leaves out of the status.
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

// forgetLastError takes the error of the last reconciliation out of the status if nothing is wrong up to the wait for machines.
// gardenlet takes it for one of this reconciliation and would give up after 30 s, whatever the machines do. That the machines were not
// ready in time is kept if it is about what was asked for last: it is the answer to that, and the controller tries again within
// milliseconds, long before gardenlet looks.
func forgetLastError(ctx context.Context, c *call, zones []*resolved) error {
	if c.worker.Status.LastError == nil || !isWhole(zones) || answers(c.worker) {
		return nil
	}
	return c.patchStatus(ctx, "taking the last error out of", func(s *extensionsv1alpha1.WorkerStatus) { s.LastError = nil })
}

// answers reports whether the last error says that the machines were not ready in time, and was written after the last request.
func answers(w *extensionsv1alpha1.Worker) bool {
	requested, err := time.Parse(time.RFC3339Nano, w.Annotations[v1beta1constants.GardenerTimestamp])
	if err != nil || !strings.Contains(w.Status.LastError.Description, notReady) {
		return false
	}
	written := w.Status.LastError.LastUpdateTime
	return written != nil && written.After(requested)
}
