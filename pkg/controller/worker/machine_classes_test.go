// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

var _ = Describe("Node template", func() {
	It("takes the pool's word over the site's and the site's over the machine type's", func(ctx SpecContext) {
		f := newFixture("shoot--p--s")
		list := func(key corev1.ResourceName, value string) corev1.ResourceList {
			return corev1.ResourceList{key: resource.MustParse(value)}
		}
		pool := f.pool("a", "rack-1", "cloud-a")
		pool.Architecture = new("arm64")
		pool.NodeTemplate = &extensionsv1alpha1.NodeTemplate{
			Capacity: corev1.ResourceList{"cpu": resource.MustParse("5"), "gpu": resource.MustParse("1"),
				"memory": resource.MustParse("17Gi"), "ephemeral-storage": resource.MustParse("50Gi")},
			VirtualCapacity: list("example.com/seats", "1"),
		}
		f.profile.MachineTypes[0].Sites[1].Capacity = corev1.ResourceList{"cpu": resource.MustParse("32"), "memory": resource.MustParse("256Gi")}
		pool.ProviderConfig = mustEncode(&v1alpha1.WorkerConfig{NodeTemplate: &v1alpha1.NodeTemplate{
			Capacity:        list("memory", "200Gi"),
			VirtualCapacity: list("example.com/licences", "3"),
		}})

		d := f.delegate(ctx, fake.NewClientBuilder().WithScheme(landscape.Scheme).WithObjects(f.secret, f.user, f.worker).Build())
		template := d.classes[0].class.NodeTemplate

		Expect(template.Capacity).To(BeComparableTo(corev1.ResourceList{"cpu": resource.MustParse("32"), "gpu": resource.MustParse("1"),
			"memory": resource.MustParse("200Gi"), "ephemeral-storage": resource.MustParse("50Gi")}))
		Expect(template.VirtualCapacity).To(BeComparableTo(corev1.ResourceList{"example.com/seats": resource.MustParse("1"),
			"example.com/licences": resource.MustParse("3")}))
		Expect(template.Architecture).To(HaveValue(Equal("arm64")))
		Expect(d.classes[1].class.NodeTemplate.Capacity.Cpu().String()).To(Equal("5"))
	})
})
