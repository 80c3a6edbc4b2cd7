// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

var _ = Describe("plan", func() {
	var (
		f    *fixture
		read *facts
		name = deploymentName("a", "cloud-a")
	)

	BeforeEach(func() {
		f = newFixture("shoot--p--s")
		f.pool("a", "cloud-a", "rack-1", "cloud-b").UpdateStrategy = new(gardencorev1beta1.AutoInPlaceUpdate)
		read = &facts{
			documents: documents{region: "west", profile: f.profile, sites: []site.Site{
				{Name: "cloud", Profile: &f.profile.Sites[0], Config: &f.config.Sites[0]},
			}},
			worker:   f.worker,
			cluster:  f.cluster,
			userData: []platform.Answer[[]byte]{{Value: []byte("#!/bin/sh")}},
		}
	})
	runOn := func(siteName, className string) {
		deployment := &machinev1alpha1.MachineDeployment{}
		deployment.Spec.Template.Spec.NodeTemplateSpec.Labels = map[string]string{v1alpha1.LabelSite: siteName}
		read.existing = map[string]*existing{name: {deployment: deployment, className: className}}
	}

	It("should have the zones of all pools with their sites, also those that no site can be asked for", func() {
		zones := plan(read)
		Expect(zones).To(HaveLen(3))
		for i, name := range []string{"cloud-a", "rack-1", "cloud-b"} {
			Expect(zones[i].name).To(Equal(name))
			Expect(zones[i].deploymentName).To(Equal(deploymentName("a", name)))
		}
		for _, z := range []*zone{zones[0], zones[2]} {
			Expect(z.planErr).NotTo(HaveOccurred())
			Expect(z.site.Name).To(Equal("cloud"))
		}
		Expect(zones[1].planErr).To(MatchError(`site "racks": the infrastructureConfig of the Shoot does not list the site`))
		Expect(zones[1].siteName).To(Equal("racks"))
		Expect(zones[1].site).To(BeNil())
		Expect(zones[0].userData).To(BeEquivalentTo("#!/bin/sh"))
		Expect(plan(read)).To(Equal(zones), "the same facts make the same plan")
	})

	DescribeTable("should let machines stay where they are if they cannot move", func(prepare func(), message string) {
		prepare()
		z := plan(read)[0]
		if message == "" {
			Expect(z.planErr).NotTo(HaveOccurred())
			return
		}
		Expect(z.planErr).To(MatchError(ContainSubstring(message)))
		Expect(z.site).To(BeNil())
	},
		Entry("updated in place on another site", func() { runOn("racks", "class") }, `site "cloud": the zone was part of site "racks"`),
		Entry("updated in place on the same site", func() { runOn("cloud", "class") }, ""),
		Entry("replaced", func() { runOn("racks", "class"); f.namedPool("a").UpdateStrategy = nil }, ""),
		Entry("to be restored on another site", func() {
			f.namedPool("a").UpdateStrategy = nil
			read.former.sites = map[string]sets.Set[string]{name: sets.New("racks", "cloud")}
		}, `site "cloud": the zone has machines to be restored on sites ["racks"]`),
		Entry("to be restored on the same site", func() { read.former.sites = map[string]sets.Set[string]{name: sets.New("cloud", "")} }, ""),
	)

	It("should know the classes that a zone runs with", func() {
		runOn("cloud", "now")
		read.former.classes = map[string]sets.Set[string]{name: sets.New("former")}
		zones := plan(read)
		Expect(zones[0].hasClass("now")).To(BeTrue())
		Expect(zones[0].hasClass("former")).To(BeTrue())
		Expect(zones[0].hasClass("next")).To(BeFalse())
		Expect(zones[2].hasClass("now")).To(BeFalse())
	})
})
