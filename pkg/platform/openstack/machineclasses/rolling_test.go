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

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// change is a line of docs/usage/node-rolling.md and what it is about.
type change struct {
	line  string
	rolls bool
	apply func(*platform.MachineClassRequest)
}

var changes = []change{
	{"the policy of the pool's server group on the site, including adding or removing it", true, func(r *platform.MachineClassRequest) {
		r.Settings.OpenStack.ServerGroup.Policy = "soft-anti-affinity"
	}},
	{"the type that the pool's `dataVolumes` sets for a data volume on the site", true, func(r *platform.MachineClassRequest) {
		r.DataVolumes[0].Settings.OpenStack = &v1alpha1.OpenStackVolumeType{Type: "nvme"}
	}},
	{"a machine label with `triggerRollingOnUpdate`", true,
		func(r *platform.MachineClassRequest) { r.Settings.OpenStack.MachineLabels[0].Value = "2" }},
	{"the pool's additional security groups on the site change", false, func(r *platform.MachineClassRequest) {
		r.Settings.OpenStack.AdditionalSecurityGroups = []string{"db", "cache"}
	}},
	{"a machine label without `triggerRollingOnUpdate` changes", false,
		func(r *platform.MachineClassRequest) { r.Settings.OpenStack.MachineLabels[1].Value = "2" }},
	{"the CloudProfile gives a volume type of the pool another name in the site", false, func(r *platform.MachineClassRequest) {
		r.DataVolumes[1].Type = &v1alpha1.SiteVolumeType{OpenStack: &v1alpha1.OpenStackVolumeType{Type: "nvme"}}
	}},
}

func newRollingRequest() platform.MachineClassRequest {
	request := newRequest()
	request.DataVolumes = []platform.DataVolume{
		{Name: "a", Settings: v1alpha1.WorkerDataVolumeSite{OpenStack: &v1alpha1.OpenStackVolumeType{Type: "ssd"}}},
		{Name: "b", Type: &v1alpha1.SiteVolumeType{OpenStack: &v1alpha1.OpenStackVolumeType{Type: "hdd"}}},
	}
	request.Settings.OpenStack = &v1alpha1.OpenStackWorker{
		ServerGroup:              &v1alpha1.OpenStackServerGroup{Policy: "anti-affinity"},
		AdditionalSecurityGroups: []string{"db"},
		MachineLabels: []v1alpha1.OpenStackMachineLabel{{Name: "a", Value: "1", TriggerRollingOnUpdate: true},
			{Name: "b", Value: "1"}},
	}
	return request
}

var _ = Describe("Rolling", func() {
	rollsFor := func(request platform.MachineClassRequest) []string {
		return New(client.NewSessions()).RollsFor(request)
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

	It("should roll for a first server group and for the loss of it", func() {
		request := newRollingRequest()
		request.Settings.OpenStack.ServerGroup = nil
		Expect(rollsFor(request)).NotTo(Equal(rollsFor(newRollingRequest())))
	})

	It("should roll for nothing without settings", func() {
		Expect(rollsFor(newRequest())).To(BeEmpty())
	})

	It("should not roll when the project is recorded", func() {
		request := newRollingRequest()
		request.Status.OpenStack.ProjectID = "p"
		Expect(rollsFor(request)).To(Equal(rollsFor(newRollingRequest())))
	})

	It("should have a row for each line of the document", func() {
		document, err := os.ReadFile(filepath.Join(landscape.Root(), "docs", "usage", "node-rolling.md"))
		Expect(err).NotTo(HaveOccurred())
		_, section, found := strings.Cut(string(document), "\n### On OpenStack\n")
		Expect(found).To(BeTrue())
		section, _, _ = strings.Cut(section, "\n## ")

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
