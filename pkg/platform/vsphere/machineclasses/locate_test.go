// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machineclasses

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

var _ = Describe("Locate", func() {
	var (
		s      *site.Site
		status *v1alpha1.SiteStatus
	)

	BeforeEach(func() {
		s = &site.Site{Name: "vc", Shoot: "shoot",
			Profile: &v1alpha1.CloudProfileSite{VSphere: &v1alpha1.VSphereProfile{Server: "https://vcenter.example.com"}}}
		status = &v1alpha1.SiteStatus{VSphere: &v1alpha1.VSphereStatus{Zones: []v1alpha1.VSphereZoneStatus{{Name: "vc-1", Folder: "group-v42",
			FolderPath: "/dc/vm/shoot"}}}}
	})

	place := func(folder, path string) types.GomegaMatcher {
		return And(HaveField("Site", "vc"), HaveField("Shoot", "shoot"),
			HaveField("VSphere.Connection.Server", "https://vcenter.example.com"), HaveField("VSphere.Folder",
				folder), HaveField("VSphere.FolderPath", path))
	}

	It("should say how the site is reached and in which folder the machines are", func() {
		Expect((&machineClasses{}).Locate(s, status)).To(HaveExactElements(place("group-v42", "/dc/vm/shoot")))
	})

	It("should name the folder of each datacenter once", func() {
		status.VSphere.Zones = append(status.VSphere.Zones,
			v1alpha1.VSphereZoneStatus{Name: "vc-2", Folder: "group-v7", FolderPath: "/dc2/vm/shoot"},
			v1alpha1.VSphereZoneStatus{Name: "vc-3", Folder: "group-v42", FolderPath: "/dc/vm/shoot"})
		Expect((&machineClasses{}).Locate(s, status)).To(HaveExactElements(place("group-v42", "/dc/vm/shoot"),
			place("group-v7", "/dc2/vm/shoot")))
	})

	DescribeTable("should say what is not known", func(forget func(), message string) {
		forget()
		_, err := (&machineClasses{}).Locate(s, status)
		Expect(err).To(MatchError(And(ContainSubstring(`site "vc"`), ContainSubstring(message))))
	},
		Entry("the site", func() { s.Profile = nil }, "CloudProfile"),
		Entry("the status", func() { status = nil }, "providerStatus"),
		Entry("the zones", func() { status.VSphere.Zones = nil }, "providerStatus"),
	)
})
