// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"slices"
	"time"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("Looking for mistakes", func() {
	var f *fixture

	BeforeEach(func() {
		f = newFixture()
	})

	reconcile := func(ctx context.Context) error {
		return f.actuator.Reconcile(ctx, logr.Discard(), f.infra, f.cluster)
	}
	find := func(findings platform.Findings, err error) func(context.Context, platform.ValidationRequest) (platform.Findings, error) {
		return func(context.Context, platform.ValidationRequest) (platform.Findings, error) { return findings, err }
	}
	pool := func(name string, zones ...string) {
		f.profile.MachineTypes = []v1alpha1.MachineType{{Name: "small", Sites: []v1alpha1.SiteMachineType{{Name: "a"}, {Name: "b"}, {Name: "c"}}}}
		f.cluster.Shoot.Spec.Provider.Workers = append(f.cluster.Shoot.Spec.Provider.Workers, gardencorev1beta1.Worker{
			Name: name, Machine: gardencorev1beta1.Machine{Type: "small"}, Zones: zones, Minimum: 1, Maximum: 3,
		})
	}

	DescribeTable("a mistake should stop its site alone, before anything is made",
		func(ctx SpecContext, find func(context.Context, platform.ValidationRequest) (platform.Findings, error), message string,
			codes ...gardencorev1beta1.ErrorCode) {
			f.platform.validate["b"] = find
			pool("first", "a-1")
			pool("second", "b-1")
			f.start(ctx)
			err := reconcile(ctx)
			Expect(err).To(MatchError(message))
			Expect(v1beta1helper.ExtractErrorCodes(err)).To(HaveExactElements(codes))
			Expect(f.platform.reconciled).To(ConsistOf("a", "c"))
			Expect(f.events()).To(ContainElement("Warning SiteFailed " + message))
		},
		Entry("something is missing", func(_ context.Context, r platform.ValidationRequest) (platform.Findings, error) {
			return mistakes(field.NotFound(r.Path.Child("openstack", "router", "id"), "r")), nil
		}, `site "b": spec.providerConfig.sites[1].openstack.router.id: Not found: "r"`, gardencorev1beta1.ErrorConfigurationProblem),
		Entry("the quota does not suffice for the minimum", func(_ context.Context, r platform.ValidationRequest) (platform.Findings, error) {
			return shortages(field.Forbidden(r.Demands[0].Path.Child("minimum"), "needs 4 cores, the quota leaves 2")), nil
		}, `site "b": spec.provider.workers[1].minimum: Forbidden: needs 4 cores, the quota leaves 2`, gardencorev1beta1.ErrorInfraQuotaExceeded),
		Entry("the site does not answer", find(platform.Findings{}, platform.NewError(platform.ClassTransient, "503")), `site "b": 503`),
	)

	It("should not be repeated until something changes, and warn once for each change", func(ctx SpecContext) {
		f.order("a", "b")
		pool("first", "a-1")
		f.platform.validate["a"] = find(warnings("quota is short"), nil)
		f.start(ctx)
		warning := `Warning SiteWarning site "a": quota is short`
		again := func(change func()) []string {
			GinkgoHelper()
			f.platform.validated = nil
			_ = f.events()
			change()
			Expect(reconcile(ctx)).To(Succeed())
			if len(f.platform.validated) > 0 {
				Expect(f.events()).To(Equal([]string{warning}))
			} else {
				Expect(f.events()).To(BeEmpty())
			}
			return f.platform.validated
		}
		Expect(reconcile(ctx)).To(Succeed())
		Expect(f.platform.validated).To(ConsistOf("a", "b"))
		Expect(f.events()).To(ContainElement(warning))

		Expect(again(func() {})).To(BeEmpty())
		Expect(again(func() { f.cluster.Shoot.Spec.Provider.Workers[0].Maximum = 9 })).To(ConsistOf("a"))
		Expect(again(func() { f.cluster.Shoot.Spec.Provider.Workers[0].Labels = map[string]string{"colour": "red"} })).To(BeEmpty())
		Expect(again(func() {
			f.profile.Sites[indexOf(f.profile, "a")].OpenStack.FloatingPools[0].Name = "public"
			f.profile.Sites[indexOf(f.profile, "a")].MTU = new(int32(1400))
			f.cluster.CloudProfile.Spec.ProviderConfig = encode(f.profile)
		})).To(ConsistOf("a"))
		Expect(again(func() {
			f.config.Sites[0].DNSServers = []string{"192.0.2.54"}
			f.infra.Spec.ProviderConfig = encode(f.config)
		})).To(ConsistOf("a"))
		Expect(again(func() {
			f.secret.Data["a.password"] = []byte("rotated")
			Expect(f.client.Update(ctx, f.secret)).To(Succeed())
		})).To(ConsistOf("a", "b"))
		Expect(again(func() {})).To(BeEmpty())
	})

	It("should say nothing about the credentials in the status", func(ctx SpecContext) {
		f.order("a")
		f.start(ctx)
		Expect(reconcile(ctx)).To(Succeed())
		_, _, before := f.stored(ctx)
		resourceVersion := f.secret.ResourceVersion
		f.secret.Data["a.password"] = []byte("another")
		f.actuator.reader = sameVersion{f.client, resourceVersion}
		Expect(f.client.Update(ctx, f.secret)).To(Succeed())
		Expect(reconcile(ctx)).To(Succeed())
		_, _, after := f.stored(ctx)
		Expect(after.Sites[0].Validated).To(And(Equal(before.Sites[0].Validated), Not(BeEmpty())))
	})

	Describe("of a site that has objects already", func() {
		BeforeEach(func() {
			f.order("a")
			f.setState(stateOf("a", "network-of-a"))
		})

		It("should not stop it if the site could not be asked, and be repeated the next time", func(ctx SpecContext) {
			f.platform.validate["a"] = find(platform.Findings{}, platform.NewError(platform.ClassTransient, "503"))
			f.start(ctx)
			Expect(reconcile(ctx)).To(Succeed())
			Expect(reconcile(ctx)).To(Succeed())
			Expect(f.platform.validated).To(HaveLen(2))
			Expect(f.platform.reconciled).To(HaveLen(2))
		})

		It("should only warn of quotas, because machines tell it and those of other sites must not wait", func(ctx SpecContext) {
			shortage := field.Forbidden(field.NewPath("pools").Index(0), "needs 4 cores, the quota leaves 2")
			f.platform.validate["a"] = find(shortages(shortage), nil)
			f.start(ctx)
			Expect(reconcile(ctx)).To(Succeed())
			Expect(f.events()).To(ContainElement(`Warning SiteWarning site "a": pools[0]: Forbidden: needs 4 cores, the quota leaves 2`))
			Expect(reconcile(ctx)).To(Succeed())
			Expect(f.platform.validated).To(HaveLen(1))
			Expect(f.events()).To(BeEmpty())
		})

		It("should only warn of what a pool cannot have, for the same reason", func(ctx SpecContext) {
			pool("first", "a-1")
			f.platform.validate["a"] = func(_ context.Context, r platform.ValidationRequest) (platform.Findings, error) {
				return mistakes(field.Invalid(r.Demands[0].Path.Child("machine", "type"), "m1.retired", "no flavor of this name exists")), nil
			}
			f.start(ctx)
			Expect(reconcile(ctx)).To(Succeed())
			Expect(f.platform.reconciled).To(ConsistOf("a"))
			Expect(f.events()).To(ContainElement(
				`Warning SiteWarning site "a": spec.provider.workers[0].machine.type: Invalid value: "m1.retired": no flavor of this name exists`))
			Expect(reconcile(ctx)).To(Succeed())
			Expect(f.platform.validated).To(HaveLen(1))
			Expect(f.events()).To(BeEmpty())
		})

		It("should tell all warnings of a site, first what keeps machines away", func(ctx SpecContext) {
			pool("first", "a-1")
			f.platform.validate["a"] = func(_ context.Context, r platform.ValidationRequest) (platform.Findings, error) {
				return platform.Findings{Found: slices.Concat(warnings("few ports are left").Found,
					shortages(field.Forbidden(r.Demands[0].Path.Child("maximum"), "cores")).Found,
					mistakes(field.NotFound(r.Demands[0].Path.Child("machine", "type"), "m1.retired")).Found)}, nil
			}
			f.start(ctx)
			Expect(reconcile(ctx)).To(Succeed())
			Expect(f.events()).To(ContainElement(`Warning SiteWarning site "a": spec.provider.workers[0].maximum: Forbidden: cores; ` +
				`site "a": spec.provider.workers[0].machine.type: Not found: "m1.retired"; site "a": few ports are left`))
		})

		It("should stop it for a mistake of its own beside that of a pool", func(ctx SpecContext) {
			pool("first", "a-1")
			f.platform.validate["a"] = func(_ context.Context, r platform.ValidationRequest) (platform.Findings, error) {
				return mistakes(
					field.Invalid(r.Demands[0].Path.Child("volume", "type"), "tape", "no volume type of this name exists"),
					field.NotFound(r.Path.Child("openstack", "router", "id"), "r"),
				), nil
			}
			f.start(ctx)
			Expect(reconcile(ctx)).To(MatchError(`site "a": spec.providerConfig.sites[0].openstack.router.id: Not found: "r"`))
			Expect(f.platform.reconciled).To(BeEmpty())
			Expect(f.events()).To(ContainElement(
				`Warning SiteWarning site "a": spec.provider.workers[0].volume.type: Invalid value: "tape": no volume type of this name exists`))
		})

		It("should not take the time that the site needs", func(ctx SpecContext) {
			f.platform.validate["a"] = func(ctx context.Context, _ platform.ValidationRequest) (platform.Findings, error) {
				<-ctx.Done()
				return platform.Findings{}, ctx.Err()
			}
			f.start(ctx)
			f.actuator.lookUpTimeout = 10 * time.Millisecond
			Expect(reconcile(ctx)).To(Succeed())
		})

		It("should stop it for a mistake, also if a part of the site could not be asked", func(ctx SpecContext) {
			f.platform.validate["a"] = find(mistakes(field.NotFound(field.NewPath("x"), "y")), errors.New("away"))
			f.start(ctx)
			Expect(reconcile(ctx)).To(MatchError(`site "a": x: Not found: "y"`))
			Expect(f.platform.reconciled).To(BeEmpty())
		})

		It("should not be done on Restore, so that nothing keeps the machines from coming back", func(ctx SpecContext) {
			f.platform.validate["a"] = find(mistakes(field.NotFound(field.NewPath("x"), "y")), nil)
			f.start(ctx)
			Expect(f.actuator.Restore(ctx, logr.Discard(), f.infra, f.cluster)).To(Succeed())
			_, _, status := f.stored(ctx)
			Expect(status.Sites).To(ConsistOf(HaveField("Validated", BeEmpty())))
			Expect(unvalidated(status)).To(ConsistOf(*statusFor("a", "network-of-a")))
		})
	})
})

func indexOf(profile *v1alpha1.CloudProfileConfig, name string) int {
	for i := range profile.Sites {
		if profile.Sites[i].Name == name {
			return i
		}
	}
	return -1
}

// sameVersion reads all objects with the same resource version.
type sameVersion struct {
	client.Reader
	resourceVersion string
}

func (r sameVersion) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, object, opts...)
	object.SetResourceVersion(r.resourceVersion)
	return err
}
