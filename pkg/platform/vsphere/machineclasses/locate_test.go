// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machineclasses

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

var _ = Describe("Locate", func() {
	var (
		s      *site.Site
		status *v1alpha1.SiteStatus
	)

	BeforeEach(func() {
		s = &site.Site{Name: "vc", Profile: &v1alpha1.CloudProfileSite{VSphere: &v1alpha1.VSphereProfile{Server: "https://vcenter.example.com"}}}
		status = &v1alpha1.SiteStatus{VSphere: &v1alpha1.VSphereStatus{Zones: []v1alpha1.VSphereZoneStatus{{Name: "vc-1", Folder: "group-v42", FolderPath: "/dc/vm/shoot"}}}}
	})

	It("should say how the site is reached and in which folder the machines are", func() {
		spec := &v1alpha1.MachineProviderSpec{}
		Expect((&machineClasses{}).Locate(s, status, spec)).To(Succeed())
		Expect(spec.VSphere).To(And(
			HaveField("Connection.Server", "https://vcenter.example.com"), HaveField("Folder", "group-v42"), HaveField("FolderPath", "/dc/vm/shoot")))
	})

	DescribeTable("should say what is not known", func(forget func(), message string) {
		forget()
		Expect((&machineClasses{}).Locate(s, status, &v1alpha1.MachineProviderSpec{})).To(MatchError(And(ContainSubstring(`site "vc"`), ContainSubstring(message))))
	},
		Entry("the site", func() { s.Profile = nil }, "CloudProfile"),
		Entry("the status", func() { status = nil }, "providerStatus"),
		Entry("the zones", func() { status.VSphere.Zones = nil }, "providerStatus"),
	)
})
