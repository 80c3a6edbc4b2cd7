// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package owner_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

var _ = Describe("Objects of Services", func() {
	o := owner.Owner{Shoot: "shoot--local--a", Site: "cloud"}

	DescribeTable("should tell whose load balancer it is",
		func(name string, ours bool) { Expect(o.OwnsLoadBalancer(name)).To(Equal(ours)) },
		Entry("ours", "kube_service_shoot--local--a_default_web", true),
		Entry("ours, names with dashes", "kube_service_shoot--local--a_kube-system_addons-nginx-ingress-controller", true),
		Entry("of a shoot whose name goes on with a dash", "kube_service_shoot--local--a-x_default_web", false),
		Entry("of a cluster whose name goes on with an underscore", "kube_service_shoot--local--a_x_default_web", false),
		Entry("of a shoot whose name ends with ours", "kube_service_x-shoot--local--a_default_web", false),
		Entry("of a shoot whose name ours begins with", "kube_service_shoot--local_default_web", false),
		Entry("without a Service", "kube_service_shoot--local--a_default", false),
		Entry("with an empty Service", "kube_service_shoot--local--a_default_", false),
		Entry("by hand", "shoot--local--a", false),
		Entry("empty", "", false),
	)

	DescribeTable("should tell whose floating IP it is",
		func(description string, ours bool) { Expect(o.OwnsFloatingIP(description)).To(Equal(ours)) },
		Entry("ours", "Floating IP for Kubernetes external service default/web from cluster shoot--local--a", true),
		Entry("of a shoot whose name goes on", "Floating IP for Kubernetes external service default/web from cluster shoot--local--a-x", false),
		Entry("of a shoot whose name ends with ours",
			"Floating IP for Kubernetes external service default/web from cluster x-shoot--local--a", false),
		Entry("with a text that ends like ours",
			"Floating IP for Kubernetes external service default/web from cluster x from cluster shoot--local--a", false),
		Entry("without a Service", "Floating IP for Kubernetes external service  from cluster shoot--local--a", false),
		Entry("by hand", "shoot--local--a", false),
		Entry("empty", "", false),
	)

	DescribeTable("should tell whose security group it is",
		func(description string, ours bool) { Expect(o.OwnsServiceSecurityGroup(description)).To(Equal(ours)) },
		Entry("ours", "Security Group for default/web Service LoadBalancer in cluster shoot--local--a", true),
		Entry("of a shoot whose name goes on", "Security Group for default/web Service LoadBalancer in cluster shoot--local--a-x", false),
		Entry("of a cluster whose name goes on with an underscore",
			"Security Group for default/web Service LoadBalancer in cluster shoot--local--a_x", false),
		Entry("by hand", "Security Group for default/web", false),
		Entry("empty", "", false),
	)

	DescribeTable("should tell whose volume it is",
		func(metadata map[string]string, ours bool) { Expect(o.OwnsVolume(metadata)).To(Equal(ours)) },
		Entry("ours", map[string]string{"cinder.csi.openstack.org/cluster": "shoot--local--a"}, true),
		Entry("of a shoot whose name goes on", map[string]string{"cinder.csi.openstack.org/cluster": "shoot--local--a-x"}, false),
		Entry("without a cluster", nil, false),
	)
})
