// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform/toyapi"
)

// deaf is a platform that does not give up when its time is over on the site racks.
type deaf struct {
	platform.MachineClasses
	release chan struct{}
}

func (m *deaf) Resolve(ctx context.Context, request platform.MachineClassRequest, spec *v1alpha1.MachineProviderSpec) error {
	if request.Site.Name == "racks" {
		<-m.release
	}
	return m.MachineClasses.Resolve(ctx, request, spec)
}

// crowded is a platform whose sites have no room to replace machines.
type crowded struct{ platform.MachineClasses }

func (c crowded) Resolve(ctx context.Context, request platform.MachineClassRequest, spec *v1alpha1.MachineProviderSpec) error {
	if request.Rolling != nil {
		return platform.NewError(platform.ClassConfiguration, "no room")
	}
	return c.MachineClasses.Resolve(ctx, request, spec)
}

var _ = Describe("Resolver", func() {
	It("takes the answers of all other sites if one never gives any", func(ctx SpecContext) {
		f := newFixture("shoot--p--s")
		pools := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		for _, name := range pools {
			f.pool(name, "rack-1", "cloud-a")
		}
		platforms := &deaf{MachineClasses: toyplatform.NewMachineClasses(f.cloud), release: make(chan struct{})}
		DeferCleanup(func() { close(platforms.release) })

		zones := f.resolve(ctx, platforms, 200*time.Millisecond, former{})

		Expect(zones).To(HaveLen(2 * len(pools)))
		for _, z := range zones {
			if z.siteName == "racks" {
				Expect(z.err).To(MatchError(ContainSubstring(`site "racks": no answer within 200ms`)))
				Expect(platform.ClassOf(z.err)).To(Equal(platform.ClassTransient))
				continue
			}
			Expect(z.err).NotTo(HaveOccurred())
			Expect(toyapi.Of[toyapi.MachineSpec](z.machineSpec.Blocks)).NotTo(BeNil())
		}
	})
})

var _ = Describe("A pool that cannot be rolled", func() {
	var (
		f        *fixture
		pool     *extensionsv1alpha1.WorkerPool
		before   former
		existing []client.Object
	)

	BeforeEach(func() {
		f = newFixture("shoot--p--s")
		pool = f.pool("a", "cloud-a")
		before, existing = former{}, nil
	})

	resolve := func(ctx context.Context) *resolved {
		GinkgoHelper()
		return f.resolve(ctx, crowded{toyplatform.NewMachineClasses(f.cloud)}, time.Minute, before, existing...)[0]
	}
	deploy := func(z *resolved) *machinev1alpha1.MachineDeployment {
		deployment := &machinev1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Name: z.deploymentName, Namespace: f.worker.Namespace}}
		deployment.Spec.Template.Spec.Class.Name = z.className
		existing = []client.Object{deployment}
		return deployment
	}

	DescribeTable("is refused",
		func(ctx SpecContext, prepare func(*resolved)) {
			prepare(resolve(ctx))
			z := resolve(ctx)
			Expect(z.err).To(MatchError(`site "cloud": no room`))
			Expect(platform.ClassOf(z.err)).To(Equal(platform.ClassConfiguration))
		},
		Entry("if it is new", func(*resolved) {}),
		Entry("if its machines are to be replaced", func(z *resolved) {
			deploy(z)
			pool.NodeAgentSecretName = new("gardener-node-agent-other")
		}),
		Entry("if its machines are being deleted", func(z *resolved) {
			deployment := deploy(z)
			deployment.DeletionTimestamp, deployment.Finalizers = new(metav1.Now()), []string{"machine.sapcloud.io/machine-controller"}
		}),
	)

	DescribeTable("goes on",
		func(ctx SpecContext, prepare func(*resolved)) {
			prepare(resolve(ctx))
			z := resolve(ctx)
			Expect(z.err).NotTo(HaveOccurred())
			Expect(z.machineSpec).NotTo(BeNil())
		},
		Entry("if it runs", func(z *resolved) { deploy(z) }),
		Entry("if it is restored", func(z *resolved) {
			before.classes = map[string]sets.Set[string]{z.deploymentName: sets.New("old", z.className)}
		}),
	)
})
