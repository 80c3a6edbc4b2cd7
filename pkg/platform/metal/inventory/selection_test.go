// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("#RequirementsOf", func() {
	labels := func(pairs ...string) *metav1.LabelSelector {
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			selector.MatchLabels[pairs[i]] = pairs[i+1]
		}
		return selector
	}

	DescribeTable("should join what all select", func(zone, machineType, pool *metav1.LabelSelector, expected string) {
		hosts, err := RequirementsOf(&v1alpha1.MetalZone{HostSelector: zone}, &v1alpha1.MetalMachineType{HostSelector: machineType},
			&v1alpha1.MetalWorker{HostSelector: pool})
		Expect(err).NotTo(HaveOccurred())
		selected, err := hosts.Selection("metadata")
		Expect(err).NotTo(HaveOccurred())
		Expect(selected.Selector.String()).To(Equal(expected))
		Expect(selected.Cleaning).To(Equal("metadata"))
	},
		Entry("nothing", nil, nil, nil, ""),
		Entry("labels", labels("rack", "r1"), labels("size", "s"), labels("team", "a"), "rack=r1,size=s,team=a"),
		Entry("the same label", labels("rack", "r1"), nil, labels("rack", "r1"), "rack=r1"),
		Entry("expressions", labels("rack", "r1"),
			&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "gpu", Operator: "Exists"}}},
			&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "size", Operator: "In",
				Values: []string{"s", "m"}}}}, "gpu,rack=r1,size in (m,s)"),
	)

	It("should do without zone, machine type and pool", func() {
		hosts, err := RequirementsOf(nil, nil, nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(hosts).To(Equal(Requirements{Selector: &metav1.LabelSelector{}}))
		selected, err := hosts.Selection("")
		Expect(err).NotTo(HaveOccurred())
		Expect(selected.Selector.Empty()).To(BeTrue())
	})

	It("should change none of what it joins", func() {
		zone, pool := labels("rack", "r1"), labels("team", "a")
		_, err := RequirementsOf(&v1alpha1.MetalZone{HostSelector: zone}, nil, &v1alpha1.MetalWorker{HostSelector: pool})
		Expect(err).NotTo(HaveOccurred())
		Expect(zone).To(Equal(labels("rack", "r1")))
		Expect(pool).To(Equal(labels("team", "a")))
	})

	It("should join the tolerations of machine type and pool, each once", func() {
		a, b := corev1.Toleration{Key: "a", Operator: "Exists"}, corev1.Toleration{Key: "b", Value: "1"}
		hosts, err := RequirementsOf(nil, &v1alpha1.MetalMachineType{Tolerations: []corev1.Toleration{a}},
			&v1alpha1.MetalWorker{Tolerations: []corev1.Toleration{b, a}})
		Expect(err).NotTo(HaveOccurred())
		Expect(hosts.Tolerations).To(Equal([]corev1.Toleration{a, b}))
	})

	It("should name labels that contradict each other, and who wants them", func() {
		_, err := RequirementsOf(&v1alpha1.MetalZone{HostSelector: labels("rack", "r1")},
			&v1alpha1.MetalMachineType{HostSelector: labels("size", "s")},
			&v1alpha1.MetalWorker{HostSelector: labels("rack", "r2", "size", "xl")})
		Expect(err).To(MatchError(And(
			ContainSubstring(`no host can have label "rack" with "r1", which the hostSelector of the zone wants, `+
				`and with "r2", which that of the pool wants`),
			ContainSubstring(`no host can have label "size" with "s", which the hostSelector of the machine type wants, `+
				`and with "xl", which that of the pool wants`),
		)))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
	})

	It("should refuse expressions that have no meaning", func() {
		hosts := Requirements{Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}}
		selected, err := hosts.Selection("")
		Expect(selected).To(Equal(Selection{}))
		Expect(err).To(MatchError(ContainSubstring(`"Like" is not a valid label selector operator`)))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
	})
})
