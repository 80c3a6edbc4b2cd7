// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth

import (
	"context"
	"fmt"
	"time"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform/toyapi"
)

var _ = Describe("The controller", func() {
	var (
		s     *shootOfToys
		power platform.Fault
		disk  platform.Fault
	)

	BeforeEach(func(ctx SpecContext) {
		s = newShootOfToys(ctx)
		shoot := s.worker.Namespace
		power = platform.Fault{Shoot: shoot, Machine: "m-7", Host: "rack-07", Message: "power management error: no answer of the BMC"}
		disk = platform.Fault{Shoot: shoot, Machine: "m-8", Host: "rack-08", Message: "provisioning error: no disk"}
		DeferCleanup(func(ctx SpecContext) {
			toys.SetFaults("racks")
			toys.SetFaults("cloud")
			Expect(client.IgnoreNotFound(apiServer.Delete(ctx, s.infra))).To(Succeed())
			Eventually(quiet).Should(BeTrue())
		})
		Eventually(s.condition).WithArguments(ctx).Should(HaveField("Status", gardencorev1beta1.ConditionTrue))
	})

	It("should tell of faults in events and in the condition", func(ctx SpecContext) {
		toys.SetFaults("racks", power, disk)
		Eventually(s.notes).WithArguments(ctx, "Worker", corev1.EventTypeWarning).Should(ConsistOf(
			`site "racks": host rack-07 of machine m-7: power management error: no answer of the BMC`,
			`site "racks": host rack-08 of machine m-8: provisioning error: no disk`,
		), "one does not hide the other")
		Eventually(s.notes).WithArguments(ctx, "Machine", corev1.EventTypeWarning).Should(ConsistOf(
			`site "racks": host rack-07 of machine m-7: power management error: no answer of the BMC`))
		Eventually(s.condition).WithArguments(ctx).Should(And(
			HaveField("Status", gardencorev1beta1.ConditionFalse),
			HaveField("Message", `site "racks": host rack-07 of machine m-7: power management error: no answer of the BMC, `+
				`site "racks": host rack-08 of machine m-8: provisioning error: no disk.`),
		))

		toys.SetFaults("racks")
		Eventually(s.notes).WithArguments(ctx, "Machine", corev1.EventTypeNormal).Should(ConsistOf(
			`site "racks": host rack-07 of machine m-7: the fault is resolved`))
		Eventually(s.notes).WithArguments(ctx, "Worker", corev1.EventTypeNormal).Should(HaveLen(2))
		Eventually(s.condition).WithArguments(ctx).Should(HaveField("Status", gardencorev1beta1.ConditionTrue))

		By("telling the next fault of the same machine in its own words")
		power.Message = "inspection error: too hot"
		toys.SetFaults("racks", power)
		Eventually(s.notes).WithArguments(ctx, "Machine", corev1.EventTypeWarning).Should(ContainElement(
			`site "racks": host rack-07 of machine m-7: inspection error: too hot`))
	})

	It("should ask with the credentials that there are", func(ctx SpecContext) {
		secret := s.secret.DeepCopy()
		secret.Data["racks.token"] = []byte("r0tated")
		Expect(apiServer.Update(ctx, secret)).To(Succeed())
		Eventually(toys.Probed).WithArguments("racks").Should(HaveField("Site.Credentials", HaveKeyWithValue("token", "r0tated")))
	})

	It("should ask the sites that the CloudProfile has", func(ctx SpecContext) {
		toyapi.Of[toyapi.Profile](s.profile.Sites[1].Blocks).Address = "https://other"
		s.update(ctx)
		Eventually(toys.Probed).WithArguments("racks").Should(HaveField("Site.Profile.Endpoint()", "https://other"))
	})

	It("should tell of faults on the sites that have pools", func(ctx SpecContext) {
		setZones := func(zones ...string) {
			before := s.worker.DeepCopy()
			s.worker.Spec.Pools[0].Zones = zones
			Expect(apiServer.Patch(ctx, s.worker, client.MergeFrom(before))).To(Succeed())
		}
		toys.SetFaults("cloud", power)
		Eventually(toys.Probed).WithArguments("cloud").Should(HaveField("Shoots", ConsistOf(s.worker.Namespace)))
		Consistently(s.condition, "300ms").WithArguments(ctx).Should(HaveField("Status", gardencorev1beta1.ConditionTrue))
		setZones("cloud-a", "rack-1")
		Eventually(s.condition).WithArguments(ctx).Should(HaveField("Message", HavePrefix(`site "cloud": host rack-07`)))
		setZones("rack-1")
		Eventually(s.condition).WithArguments(ctx).Should(HaveField("Status", gardencorev1beta1.ConditionTrue))
	})

	It("should not ask while the shoot is hibernated", func(ctx SpecContext) {
		s.hibernated = true
		s.update(ctx)
		Eventually(quiet).Should(BeTrue())
		Eventually(s.condition).WithArguments(ctx).Should(HaveField("Message", "Shoot is hibernated"))

		s.hibernated = false
		s.update(ctx)
		Eventually(s.condition).WithArguments(ctx).Should(HaveField("Message", "All health checks successful"))
	})

	It("should not tell of what moves to another seed", func(ctx SpecContext) {
		before := s.worker.DeepCopy()
		s.worker.Annotations = map[string]string{v1beta1constants.GardenerOperation: v1beta1constants.GardenerOperationMigrate}
		Expect(apiServer.Patch(ctx, s.worker, client.MergeFrom(before))).To(Succeed())
		Eventually(func() []string { return faultGauges() }).Should(BeEmpty())

		Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(s.worker), s.worker)).To(Succeed())
		before = s.worker.DeepCopy()
		s.worker.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: gardencorev1beta1.LastOperationTypeMigrate,
			LastUpdateTime: metav1.Now()}
		Expect(apiServer.Status().Patch(ctx, s.worker, client.MergeFrom(before))).To(Succeed())
		before = s.worker.DeepCopy()
		s.worker.Annotations = nil
		Expect(apiServer.Patch(ctx, s.worker, client.MergeFrom(before))).To(Succeed())
		Consistently(faultGauges, "500ms").Should(BeEmpty())
	})
})

// quiet reports whether no site is asked any more.
func quiet() bool {
	const often = 25 * probeInterval
	return time.Since(toys.Probed("racks").At) > often && time.Since(toys.Probed("cloud").At) > often
}

// faultGauges are the shoots whose machines are watched for faults.
func faultGauges() []string {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	var shoots []string
	for _, family := range families {
		if family.GetName() == "hybrid_site_watched" {
			for _, metric := range family.GetMetric() {
				shoots = append(shoots, metric.String())
			}
		}
	}
	return shoots
}

// shootOfToys is a shoot on the sites cloud (zone cloud-a) and racks (zone rack-1), both of the toy platform. Its pool is in rack-1.
type shootOfToys struct {
	profile    *v1alpha1.CloudProfileConfig
	config     *v1alpha1.InfrastructureConfig
	hibernated bool
	secret     *corev1.Secret
	infra      *extensionsv1alpha1.Infrastructure
	worker     *extensionsv1alpha1.Worker
}

var shoots int

func newShootOfToys(ctx context.Context) *shootOfToys {
	shoots++
	namespace := fmt.Sprintf("shoot--p--s%d", shoots)
	profileSite := func(name, zone string) v1alpha1.CloudProfileSite {
		return v1alpha1.CloudProfileSite{
			Name: name, Region: "west", Zones: []v1alpha1.SiteZone{{Name: zone, Blocks: toyapi.Blocks(&toyapi.Zone{Shelf: zone})}},
			Blocks: toyapi.Blocks(&toyapi.Profile{Connection: toyapi.Connection{Address: "https://" + name}}),
		}
	}
	s := &shootOfToys{
		profile: &v1alpha1.CloudProfileConfig{Sites: []v1alpha1.CloudProfileSite{profileSite("cloud", "cloud-a"),
			profileSite("racks", "rack-1")}},
		config: &v1alpha1.InfrastructureConfig{
			Networks: v1alpha1.Networks{Topology: v1alpha1.TopologyRouted},
			Sites: []v1alpha1.InfrastructureSite{{Name: "cloud", Nodes: []string{"10.250.0.0/18"}},
				{Name: "racks", Nodes: []string{"10.250.64.0/18"}}},
		},
		secret: &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: v1beta1constants.SecretNameCloudProvider, Namespace: namespace},
			Data:       map[string][]byte{"cloud.token": []byte("t0p-s3cret"), "racks.token": []byte("t0p-s3cret")},
		},
		worker: &extensionsv1alpha1.Worker{
			ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: namespace},
			Spec: extensionsv1alpha1.WorkerSpec{
				DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: v1alpha1.ProviderType},
				SecretRef:   corev1.SecretReference{Name: v1beta1constants.SecretNameCloudProvider, Namespace: namespace},
				Pools: []extensionsv1alpha1.WorkerPool{{Name: "a", Zones: []string{"rack-1"},
					UserDataSecretRef: corev1.SecretKeySelector{Key: "cloud_config"}}},
			},
		},
	}
	s.infra = &extensionsv1alpha1.Infrastructure{
		ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: namespace},
		Spec: extensionsv1alpha1.InfrastructureSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: v1alpha1.ProviderType, ProviderConfig: encode(s.config)},
			SecretRef:   s.worker.Spec.SecretRef,
		},
	}
	m := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m-7", Namespace: namespace}}
	Expect(apiServer.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
	Expect(apiServer.Create(ctx, s.cluster())).To(Succeed())
	for _, object := range []client.Object{s.secret, m, s.worker, s.infra} {
		Expect(apiServer.Create(ctx, object)).To(Succeed())
	}
	return s
}

func (s *shootOfToys) cluster() *extensionsv1alpha1.Cluster {
	raw := func(object runtime.Object) runtime.RawExtension { return runtime.RawExtension{Object: object} }
	return &extensionsv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: s.worker.Namespace},
		Spec: extensionsv1alpha1.ClusterSpec{
			CloudProfile: raw(&gardencorev1beta1.CloudProfile{
				TypeMeta: metav1.TypeMeta{APIVersion: gardencorev1beta1.SchemeGroupVersion.String(), Kind: "CloudProfile"},
				Spec:     gardencorev1beta1.CloudProfileSpec{ProviderConfig: encode(s.profile)},
			}),
			Seed: new(raw(&gardencorev1beta1.Seed{TypeMeta: metav1.TypeMeta{APIVersion: gardencorev1beta1.SchemeGroupVersion.String(),
				Kind: "Seed"}})),
			Shoot: raw(&gardencorev1beta1.Shoot{
				TypeMeta: metav1.TypeMeta{APIVersion: gardencorev1beta1.SchemeGroupVersion.String(), Kind: "Shoot"},
				Spec: gardencorev1beta1.ShootSpec{
					Provider:    gardencorev1beta1.Provider{InfrastructureConfig: encode(s.config)},
					Hibernation: &gardencorev1beta1.Hibernation{Enabled: new(s.hibernated)},
				},
				Status: gardencorev1beta1.ShootStatus{TechnicalID: s.worker.Namespace},
			}),
		},
	}
}

// update writes the Cluster as gardenlet does.
func (s *shootOfToys) update(ctx context.Context) {
	existing := &extensionsv1alpha1.Cluster{}
	Expect(apiServer.Get(ctx, client.ObjectKey{Name: s.worker.Namespace}, existing)).To(Succeed())
	existing.Spec = s.cluster().Spec
	Expect(apiServer.Update(ctx, existing)).To(Succeed())
}

// condition returns the Worker's condition, nil if it has none yet.
func (s *shootOfToys) condition(ctx context.Context) (*gardencorev1beta1.Condition, error) {
	worker := &extensionsv1alpha1.Worker{}
	if err := apiServer.Get(ctx, client.ObjectKeyFromObject(s.worker), worker); err != nil {
		return nil, err
	}
	return v1beta1helper.GetCondition(worker.Status.Conditions, gardencorev1beta1.ShootEveryNodeReady), nil
}

// notes returns the notes of the events about objects of the kind.
func (s *shootOfToys) notes(ctx context.Context, kind, eventType string) ([]string, error) {
	list := &corev1.EventList{}
	if err := apiServer.List(ctx, list, client.InNamespace(s.worker.Namespace)); err != nil {
		return nil, err
	}
	var notes []string
	for _, event := range list.Items {
		if event.InvolvedObject.Kind == kind && event.Type == eventType {
			notes = append(notes, event.Message)
		}
	}
	return notes, nil
}
