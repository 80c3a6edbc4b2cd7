// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machineclasses

import (
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// change is a line of docs/usage/node-rolling.md and what it is about.
type change struct {
	line  string
	rolls bool
	apply func(*platform.MachineClassRequest)
}

var changes = []change{
	{"the pool's extra configuration on the site", true, func(r *platform.MachineClassRequest) {
		r.Settings.VSphere.ExtraConfig["a"] = "2"
	}},
	{"the extra configuration of the machine type in the CloudProfile", true, func(r *platform.MachineClassRequest) {
		r.MachineType.VSphere.ExtraConfig = nil
	}},
	{"the storage policy that the pool's `dataVolumes` sets for a data volume on the site", true, func(r *platform.MachineClassRequest) {
		r.DataVolumes[0].Settings.VSphere = &v1alpha1.VSphereVolumeType{StoragePolicy: "fast"}
	}},
	{"the pool's tags on the site change", false, func(r *platform.MachineClassRequest) { r.Settings.VSphere.Tags = nil }},
	{"the pool gets anti-affinity on the site or loses it", false,
		func(r *platform.MachineClassRequest) { r.Settings.VSphere.AntiAffinity = false }},
	{"memory reservation is switched on or off for the machine type in the CloudProfile", false, func(r *platform.MachineClassRequest) {
		r.MachineType.VSphere.MemoryReservationLockedToMax = true
	}},
	{"the CloudProfile gives a volume type of the pool another storage policy in the site", false, func(r *platform.MachineClassRequest) {
		r.DataVolumes[1].Type = &v1alpha1.SiteVolumeType{VSphere: &v1alpha1.VSphereVolumeType{StoragePolicy: "fast"}}
	}},
	{"the CPUs or memory of the machine type change in the CloudProfile, or those of its `capacity` for the site", false,
		func(r *platform.MachineClassRequest) {
			r.MachineType.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8")}
			r.Capacity = r.MachineType.Capacity
		}},
	{"the network of the nodes changes, in the Shoot for the site or in the CloudProfile for a zone", false,
		func(r *platform.MachineClassRequest) {
			r.Status.VSphere.Zones[0].Network.ID = "network-2"
		}},
}

func newRollingRequest() platform.MachineClassRequest {
	return platform.MachineClassRequest{
		Status: &v1alpha1.SiteStatus{VSphere: &v1alpha1.VSphereStatus{Zones: []v1alpha1.VSphereZoneStatus{{
			Name: "vc-1", Network: v1alpha1.VSphereNetworkReference{Type: "Network", ID: "network-1"},
		}}}},
		Capacity:    corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
		MachineType: &v1alpha1.SiteMachineType{VSphere: &v1alpha1.VSphereMachineType{ExtraConfig: map[string]string{"b": "1"}}},
		DataVolumes: []platform.DataVolume{
			{Name: "a", Settings: v1alpha1.WorkerDataVolumeSite{VSphere: &v1alpha1.VSphereVolumeType{StoragePolicy: "slow"}}},
			{Name: "b", Type: &v1alpha1.SiteVolumeType{VSphere: &v1alpha1.VSphereVolumeType{StoragePolicy: "slow"}}},
		},
		Settings: v1alpha1.WorkerSite{VSphere: &v1alpha1.VSphereWorker{
			AntiAffinity: true, ExtraConfig: map[string]string{"a": "1"}, Tags: []string{"cost/7"},
		}},
	}
}

var _ = Describe("Rolling", func() {
	rollsFor := func(request platform.MachineClassRequest) []string {
		return New(nil).RollsFor(request)
	}

	for _, c := range changes {
		It(c.line, func() {
			request := newRollingRequest()
			c.apply(&request)
			if c.rolls {
				Expect(rollsFor(request)).NotTo(Equal(rollsFor(newRollingRequest())))
			} else {
				Expect(rollsFor(request)).To(Equal(rollsFor(newRollingRequest())))
			}
		})
	}

	It("should roll for nothing without settings", func() {
		Expect(rollsFor(platform.MachineClassRequest{})).To(BeEmpty())
	})

	It("should have a row for each line of the document", func() {
		document, err := os.ReadFile(filepath.Join(landscape.Root(), "docs", "usage", "node-rolling.md"))
		Expect(err).NotTo(HaveOccurred())
		_, section, found := strings.Cut(string(document), "\n### On vSphere\n")
		Expect(found).To(BeTrue())
		section, _, _ = strings.Cut(section, "\n### ")

		var lines, expected []string
		for line := range strings.Lines(section) {
			if item, ok := strings.CutPrefix(line, "- "); ok {
				lines = append(lines, strings.TrimSpace(item))
			}
		}
		for _, c := range changes {
			expected = append(expected, c.line)
		}
		Expect(lines).To(Equal(expected))
	})
})
