// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

var _ = Describe("#ValidateVCenterLogins", func() {
	type data map[string]string

	DescribeTable("of the CSI driver", func(changed data, problems ...problem) {
		topology := newTopology()
		p := &v1alpha1.CloudProfileConfig{Sites: []v1alpha1.CloudProfileSite{
			{Name: "one", VSphere: &v1alpha1.VSphereProfile{Server: "https://vc.example.com", Topology: topology}},
			{Name: "two", VSphere: &v1alpha1.VSphereProfile{Server: "https://VC.example.com/sdk", Topology: topology}},
			{Name: "far", VSphere: &v1alpha1.VSphereProfile{Server: "https://far.example.com", Topology: topology}},
			{Name: "bare", VSphere: &v1alpha1.VSphereProfile{Server: "https://vc.example.com"}},
			{Name: "unused", VSphere: &v1alpha1.VSphereProfile{Server: "https://vc.example.com", Topology: topology}},
			{Name: "cloud", OpenStack: &v1alpha1.OpenStackProfile{}},
		}}
		login := map[string][]byte{
			"one.username": []byte("k8s@vsphere.local"), "one.password": []byte("s3cr3t"),
			"two.username": []byte("k8s@vsphere.local"), "two.password": []byte("s3cr3t"),
			"far.username": []byte(`FAR\k8s_1`), "far.password": []byte("far"),
			"bare.username": []byte("root"), "bare.password": []byte("s3cr3t2"),
			"unused.username": []byte("root"), "unused.password": []byte("s3cr3t3"),
			"cloud.username": []byte("admin user"), "cloud.password": []byte("s3cr3t4"),
		}
		for key, value := range changed {
			login[key] = []byte(value)
		}
		errs := ValidateVCenterLogins(login, []string{"one", "two", "far", "bare", "cloud", "nowhere"}, p, field.NewPath("data"))
		Expect(errs).To(haveProblems(problems))
		if len(errs) > 0 {
			Expect(errs.ToAggregate().Error()).NotTo(Or(ContainSubstring("s3cr3t"), ContainSubstring("nobody")))
		}
		Expect(ValidateVCenterLogins(login, []string{"one", "two", "far"}, nil, nil)).To(BeEmpty())
	},
		Entry("one at each vCenter", nil),
		Entry("a user without a domain", data{"far.username": "nobody"}, problem{invalid, "data[far.username]"}),
		Entry("a user with a space", data{"far.username": "nobody here@d"}, problem{invalid, "data[far.username]"}),
		Entry("a carriage return in the password", data{"far.password": "s3cr3t\rx"}, problem{invalid, "data[far.password]"}),
		Entry("a password that is no text", data{"far.password": "s3cr3t\xff"}, problem{invalid, "data[far.password]"}),
		Entry("two users at one vCenter", data{"two.username": "nobody@vsphere.local"}, problem{invalid, "data[two.username]"}),
		Entry("two passwords at one vCenter", data{"two.password": "nobody"}, problem{invalid, "data[two.password]"}),
		Entry("two logins at one vCenter", data{"two.username": "nobody@d", "two.password": "nobody"}, problem{invalid, "data[two.username]"},
			problem{invalid, "data[two.password]"}),
		Entry("one that is not complete, which others tell", data{"two.username": ""}),
	)
})
