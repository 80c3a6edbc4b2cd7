// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform"
)

// crowded is a platform whose sites have no room to replace machines.
type crowded struct{ platform.MachineClasses }

func (c crowded) Resolve(ctx context.Context, request platform.MachineClassRequest, spec *v1alpha1.MachineProviderSpec) error {
	if request.Rolling != nil {
		return platform.NewError(platform.ClassConfiguration, "no room")
	}
	return c.MachineClasses.Resolve(ctx, request, spec)
}

var _ = Describe("A pool that cannot be rolled", func() {
	var (
		f        *fixture
		pool     *extensionsv1alpha1.WorkerPool
		former   map[string]sets.Set[string]
		existing []client.Object
	)

	BeforeEach(func() {
		f = newFixture("shoot--p--s")
		pool = f.pool("a", "cloud-a")
		former, existing = nil, nil
	})

	plan := func(ctx context.Context) *zone {
		GinkgoHelper()
		d := f.delegate(fake.NewClientBuilder().WithScheme(landscape.Scheme).WithObjects(f.secret, f.user, f.worker).WithObjects(existing...).Build())
		d.former = former
		d.resolver.machineClasses = platform.Registry[platform.MachineClasses]{toyplatform.Platform: crowded{toyplatform.NewMachineClasses(f.cloud)}}
		p, err := d.plan(ctx)
		Expect(err).NotTo(HaveOccurred())
		return p.pools[0].zones[0]
	}
	deploy := func(z *zone) *machinev1alpha1.MachineDeployment {
		deployment := &machinev1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Name: z.deploymentName, Namespace: f.worker.Namespace}}
		deployment.Spec.Template.Spec.Class.Name = z.className
		existing = []client.Object{deployment}
		return deployment
	}

	DescribeTable("is refused",
		func(ctx SpecContext, prepare func(*zone)) {
			prepare(plan(ctx))
			z := plan(ctx)
			Expect(z.err).To(MatchError(`site "cloud": no room`))
			Expect(platform.ClassOf(z.err)).To(Equal(platform.ClassConfiguration))
		},
		Entry("if it is new", func(*zone) {}),
		Entry("if its machines are to be replaced", func(z *zone) {
			deploy(z)
			pool.NodeAgentSecretName = new("gardener-node-agent-other")
		}),
		Entry("if its machines are being deleted", func(z *zone) {
			deployment := deploy(z)
			deployment.DeletionTimestamp, deployment.Finalizers = new(metav1.Now()), []string{"machine.sapcloud.io/machine-controller"}
		}),
	)

	DescribeTable("goes on",
		func(ctx SpecContext, prepare func(*zone)) {
			prepare(plan(ctx))
			z := plan(ctx)
			Expect(z.err).NotTo(HaveOccurred())
			Expect(z.spec).NotTo(BeNil())
		},
		Entry("if it runs", func(z *zone) { deploy(z) }),
		Entry("if it is restored", func(z *zone) { former = map[string]sets.Set[string]{z.deploymentName: sets.New("old", z.className)} }),
	)
})
