// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"context"
	"time"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	osclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machineclasses"
	osmachines "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
)

var _ = Describe("Force deletion of a Worker without machine-controller-manager", Ordered, func() {
	const finalizer = "test.example.com/look-at-it"

	It("should delete the servers of the site that it reaches, list those of the other, and succeed", func(ctx SpecContext) {
		t := newTenant(ctx, "http://127.0.0.1:5000/v3")
		infra := t.setUp(ctx)
		since := time.Now()
		objects := t.example("30-worker.yaml")
		Expect(unstructured.SetNestedSlice(objects[0].Object, []any{}, "spec", "pools")).To(Succeed())
		Expect(unstructured.SetNestedMap(objects[0].Object, asMap(infra.Status.ProviderStatus), "spec",
			"infrastructureProviderStatus")).To(Succeed())
		apply(ctx, objects...)
		w := &extensionsv1alpha1.Worker{ObjectMeta: metav1.ObjectMeta{Name: "hybrid", Namespace: t.name}}
		Expect(finished(ctx, w, since)).To(Equal(succeeded), "%v", w.Status.LastError)

		By("having two servers on one site, of which the seed knows nothing, and one on the other")
		first, second := newTenantSite(t, infra, 0), newTenantSite(t, infra, 1)
		first.create(ctx, "one")
		first.create(ctx, "two")
		known := second.create(ctx, "three")
		raw, err := codec.Encode(second.spec(ctx))
		Expect(err).NotTo(HaveOccurred())
		Expect(seed.Client.Create(ctx,
			&machinev1alpha1.MachineClass{ObjectMeta: metav1.ObjectMeta{Name: "class", Namespace: t.name}, ProviderSpec: *raw})).To(Succeed())
		Expect(seed.Client.Create(ctx, &machinev1alpha1.Machine{
			ObjectMeta: metav1.ObjectMeta{Name: known.Name, Namespace: t.name},
			Spec: machinev1alpha1.MachineSpec{ProviderID: known.ProviderID,
				Class: machinev1alpha1.ClassSpec{Kind: "MachineClass", Name: "class"}},
		})).To(Succeed())

		By("deleting the Worker by force, with wrong credentials for the other site")
		setCredentials(ctx, t.name, map[string]string{"cloud2.password": "revoked"})
		cluster := t.example("30-cluster.yaml")
		Expect(unstructured.SetNestedField(cluster[0].Object, "true", "spec", "shoot", "metadata", "annotations",
			v1beta1constants.AnnotationConfirmationForceDeletion)).To(Succeed())
		apply(ctx, cluster...)
		patch := client.MergeFrom(w.DeepCopy())
		w.Finalizers = append(w.Finalizers, finalizer)
		Expect(seed.Client.Patch(ctx, w, patch)).To(Succeed())
		Expect(seed.Client.Delete(ctx, w)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(seed.Client.Get(ctx, client.ObjectKeyFromObject(w), w)).To(Succeed())
			g.Expect(w.Finalizers).To(ConsistOf(finalizer))
		}).WithContext(ctx).Within(4 * time.Minute).ProbeEvery(time.Second).Should(Succeed())

		Expect(w.Status.LastOperation.State).To(Equal(succeeded))
		Expect(inspectors[0].Servers(ctx, t.name)).To(BeEmpty())
		Expect(inspectors[1].Servers(ctx, t.name)).To(HaveLen(1))
		status, err := codec.Decode[v1alpha1.WorkerStatus](w.Status.ProviderStatus)
		Expect(err).NotTo(HaveOccurred())
		Expect(status.Orphans).To(HaveExactElements(And(
			HaveField("Site", "cloud2"), HaveField("Kind", "machine"), HaveField("Name", known.Name), HaveField("ID", known.ProviderID),
			HaveField("Reason", And(ContainSubstring("401"), Not(ContainSubstring("revoked")))),
		)))
		Eventually(notes).WithContext(ctx).WithArguments(t.name, "OrphansLeft").Within(time.Minute).
			Should(ConsistOf(HavePrefix(`Site "cloud2" still has 1 machine(s): machine ` + known.Name)))

		patch = client.MergeFrom(w.DeepCopy())
		w.Finalizers = nil
		Expect(seed.Client.Patch(ctx, w, patch)).To(Succeed())
		setCredentials(ctx, t.name, nil)
	}, SpecTimeout(16*time.Minute))
})

// tenantSite is a site of a tenant with machines that no machine-controller-manager has made.
type tenantSite struct {
	site     *site.Site
	status   *v1alpha1.SiteStatus
	sessions *osclient.Sessions
}

// newTenantSite returns a site of the example, which is a project of its own.
func newTenantSite(t *tenant, infra *extensionsv1alpha1.Infrastructure, project int) *tenantSite {
	GinkgoHelper()
	credentials, err := bed.Credentials(openstack.Projects[project])
	Expect(err).NotTo(HaveOccurred())
	status := &providerStatus(infra).Sites[project]
	return &tenantSite{
		site: &site.Site{
			Name: status.Name, Shoot: t.name, Platform: v1alpha1.PlatformOpenStack,
			Profile: &v1alpha1.CloudProfileSite{Name: status.Name,
				OpenStack: &v1alpha1.OpenStackProfile{AuthURL: credentials.AuthURL, Region: credentials.Region}},
			Credentials: credentials.SiteCredentials(),
		},
		status:   status,
		sessions: osclient.NewSessions(),
	}
}

func (s *tenantSite) spec(ctx context.Context) *v1alpha1.MachineProviderSpec {
	GinkgoHelper()
	spec := &v1alpha1.MachineProviderSpec{Site: s.site.Name, Shoot: s.site.Shoot}
	Expect(machineclasses.New(s.sessions).Resolve(ctx, platform.MachineClassRequest{
		Site: s.site, Status: s.status, Pool: "pool",
		Zone:        &v1alpha1.SiteZone{Name: "zone", OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: "az1"}},
		MachineType: &v1alpha1.SiteMachineType{OpenStack: &v1alpha1.OpenStackMachineType{Flavor: "m1.tiny"}},
		Image:       &v1alpha1.SiteMachineImage{OpenStack: &v1alpha1.OpenStackImage{ImageName: "gardenlinux"}},
	}, spec)).To(Succeed())
	return spec
}

func (s *tenantSite) create(ctx context.Context, name string) platform.Machine {
	GinkgoHelper()
	created, err := osmachines.New(s.sessions).Create(ctx, platform.MachineRequest{
		Name: s.site.Shoot + "-" + name, Spec: s.spec(ctx), Credentials: s.site.Credentials, UserData: []byte("#!/bin/sh\n"),
	})
	Expect(err).NotTo(HaveOccurred())
	return created
}
