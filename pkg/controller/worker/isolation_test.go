// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"time"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform"
)

// failing is a platform that fails in one zone.
type failing struct {
	platform.MachineClasses
	zone string
	fail func() error
}

func (m *failing) Resolve(ctx context.Context, request platform.MachineClassRequest, spec *v1alpha1.MachineProviderSpec) error {
	if request.Zone.Name == m.zone && m.fail != nil {
		return m.fail()
	}
	return m.MachineClasses.Resolve(ctx, request, spec)
}

var _ = Describe("A zone that cannot be resolved", func() {
	DescribeTable("keeps its machine class, and all other zones get theirs, also those of its site and of its pool",
		func(ctx SpecContext, fail func() error, message string, codes ...gardencorev1beta1.ErrorCode) {
			f := newFixture(newNamespace())
			f.pool("span", "cloud-a", "cloud-b", "rack-1")
			f.pool("rest", "cloud-c", "rack-1")
			f.create(ctx)
			DeferCleanup(f.playMachineControllerManager())
			platforms := &failing{MachineClasses: toyplatform.NewMachineClasses(f.cloud), zone: "cloud-a"}
			reconcile := func() error {
				GinkgoHelper()
				f.encode()
				registry := platform.Registry[platform.MachineClasses]{toyplatform.Platform: platforms}
				machines := platform.Registry[platform.Machines]{toyplatform.Platform: toyplatform.NewMachines(f.cloud)}
				return NewActuator(mgr, nil, registry, machines, time.Minute).Reconcile(ctx, logr.Discard(), f.worker.DeepCopy(), f.cluster)
			}
			Expect(reconcile()).To(Succeed())
			before := f.deployments(ctx)
			Expect(before).To(HaveLen(5))
			failed := deploymentName("span", "cloud-a")
			specOf := func() runtime.RawExtension { return f.classes(ctx)[before[failed]].ProviderSpec }
			spec := specOf()

			platforms.fail = fail
			for _, name := range []string{"span", "rest"} {
				f.namedPool(name).NodeAgentSecretName = new("gardener-node-agent-new")
			}
			f.namedPool("rest").Zones = append(f.namedPool("rest").Zones, "cloud-b")
			err := reconcile()
			after := f.deployments(ctx)
			Expect(after).To(And(HaveLen(6), HaveKeyWithValue(failed, before[failed]), HaveKey(deploymentName("rest", "cloud-b"))))
			for name, class := range before {
				if name != failed {
					Expect(after).To(HaveKeyWithValue(name, Not(Equal(class))), name)
				}
				Expect(f.classes(ctx)).To(HaveKey(after[name]))
				Expect(apiServer.Get(ctx, client.ObjectKey{Namespace: f.worker.Namespace, Name: name},
					&machinev1alpha1.MachineDeployment{})).To(Succeed())
			}
			Expect(specOf()).To(Equal(spec))
			Expect(err).To(MatchError(And(
				ContainSubstring(`pool "span" in zone "cloud-a" keeps its machine class: site "cloud": `+message),
				Not(ContainSubstring("rack-1")), Not(ContainSubstring("cloud-b")), Not(ContainSubstring("cloud-c")))))
			Expect(v1beta1helper.ExtractErrorCodes(err)).To(HaveExactElements(codes))

			platforms.fail = nil
			Expect(reconcile()).To(Succeed())
			Expect(f.deployments(ctx)).To(HaveKeyWithValue(failed, Not(Equal(before[failed]))))
		},
		Entry("because its flavor is missing", func() error {
			return platform.NewError(platform.ClassConfiguration, `flavor "large" does not exist`)
		}, `flavor "large" does not exist`, gardencorev1beta1.ErrorConfigurationProblem),
		Entry("because a role is missing", func() error {
			return platform.NewError(platform.ClassForbidden, "403")
		}, "403", gardencorev1beta1.ErrorInfraUnauthorized),
		Entry("because the site is down", func() error { return platform.NewError(platform.ClassTransient, "no route to host") },
			"no route to host"),
		Entry("because the answer lets the client panic", func() error { panic("garbage") }, "internal error, see the log"),
	)
})
