// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package owner_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
)

var (
	us    = owner.Owner{Shoot: "shoot--local--a", Site: "racks"}
	other = owner.Owner{Shoot: "shoot--local--b", Site: "racks"}
	hall  = owner.Owner{Shoot: "shoot--local--a", Site: "hall"}
)

var _ = DescribeTable("Labels", func(of map[string]string, owned, ofMachine bool) {
	Expect(us.Owns(of)).To(Equal(owned))
	Expect(us.OwnsMachine(of, "m")).To(Equal(ofMachine))
	selector, err := owner.OnSite(us.Site, []string{us.Shoot, "shoot--local--c"})
	Expect(err).NotTo(HaveOccurred())
	Expect(selector.Matches(labels.Set(of))).To(Equal(owned))
},
	Entry("of the machine", us.MachineLabels("m"), true, true),
	Entry("of another machine", us.MachineLabels("n"), true, false),
	Entry("of no machine", us.Labels(), true, false),
	Entry("of another shoot", other.MachineLabels("m"), false, false),
	Entry("of another site", hall.MachineLabels("m"), false, false),
	Entry("of none", map[string]string(nil), false, false),
)

var _ = It("should read the owner from labels", func() {
	Expect(owner.Of(us.MachineLabels("m"))).To(Equal(us))
	Expect(owner.Of(nil)).To(BeZero())
})

var _ = It("should select no shoots whose names cannot be those of labels", func() {
	_, err := owner.OnSite("racks", []string{"shoot--local--a,other"})
	Expect(err).To(MatchError(ContainSubstring("shoot--local--a,other")))
})

var _ = DescribeTable("References", func(change func(*corev1.ObjectReference), expected bool) {
	ref := us.Reference("m")
	change(&ref)
	Expect(us.IsReference(&ref, "m")).To(Equal(expected))
},
	Entry("of the machine", func(*corev1.ObjectReference) {}, true),
	Entry("of another version of the machine", func(ref *corev1.ObjectReference) { ref.APIVersion = "machine.sapcloud.io/v2" }, true),
	Entry("of another kind", func(ref *corev1.ObjectReference) { ref.Kind = "Pod" }, false),
	Entry("of another shoot", func(ref *corev1.ObjectReference) { ref.Namespace = other.Shoot }, false),
	Entry("of another machine", func(ref *corev1.ObjectReference) { ref.Name = "n" }, false),
)

var _ = It("should not find the machine in a reference that is missing", func() {
	Expect(us.IsReference(nil, "m")).To(BeFalse())
})
