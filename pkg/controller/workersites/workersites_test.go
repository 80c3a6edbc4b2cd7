// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package workersites

import (
	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

var _ = Describe("The sites of a Worker", func() {
	var (
		profile *v1alpha1.CloudProfileConfig
		secret  *corev1.Secret
		worker  *extensionsv1alpha1.Worker
		cluster *extensionscontroller.Cluster
	)

	BeforeEach(func() {
		profileSite := func(name string, zones ...string) v1alpha1.CloudProfileSite {
			s := v1alpha1.CloudProfileSite{Name: name, Metal: &v1alpha1.MetalProfile{}}
			for _, zone := range zones {
				s.Zones = append(s.Zones, v1alpha1.SiteZone{Name: zone})
			}
			return s
		}
		profile = &v1alpha1.CloudProfileConfig{Sites: []v1alpha1.CloudProfileSite{profileSite("a", "a-1", "a-2"), profileSite("b", "b-1"), profileSite("c", "c-1")}}
		config := &v1alpha1.InfrastructureConfig{
			Networks: v1alpha1.Networks{Topology: v1alpha1.TopologyRouted},
			Sites:    []v1alpha1.InfrastructureSite{{Name: "a", Nodes: []string{"10.250.0.0/18"}}, {Name: "b", Nodes: []string{"10.250.64.0/18"}}},
		}
		secret = &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--s", Name: "cloudprovider"},
			Data:       map[string][]byte{"a.token": []byte("1"), "b.token": []byte("2")},
		}
		worker = &extensionsv1alpha1.Worker{Spec: extensionsv1alpha1.WorkerSpec{
			SecretRef: corev1.SecretReference{Namespace: secret.Namespace, Name: secret.Name},
			Pools:     []extensionsv1alpha1.WorkerPool{{Zones: []string{"b-1"}}, {Zones: []string{"a-2", "b-1", "a-1"}}},
		}}
		cluster = &extensionscontroller.Cluster{
			CloudProfile: &gardencorev1beta1.CloudProfile{Spec: gardencorev1beta1.CloudProfileSpec{ProviderConfig: encode(profile)}},
			Shoot: &gardencorev1beta1.Shoot{
				Spec:   gardencorev1beta1.ShootSpec{Provider: gardencorev1beta1.Provider{InfrastructureConfig: encode(config)}},
				Status: gardencorev1beta1.ShootStatus{TechnicalID: "shoot--p--s"},
			},
		}
	})

	reader := func(objects ...client.Object) client.Reader {
		return fakeclient.NewClientBuilder().WithScheme(landscape.Scheme).WithObjects(objects...).Build()
	}

	It("should be those of the Shoot, and used those that pools have zones of", func(ctx SpecContext) {
		s, err := Read(ctx, reader(secret), worker, cluster)
		Expect(err).NotTo(HaveOccurred())
		Expect(s.Unresolved).NotTo(HaveOccurred())
		Expect(names(s.Sites)).To(Equal([]string{"a", "b"}))
		Expect(s.Sites[1]).To(And(HaveField("Shoot", "shoot--p--s"), HaveField("Credentials", site.Credentials{"token": "2"})))
		Expect(names(s.Used(worker))).To(Equal([]string{"b", "a"}))

		worker.Spec.Pools = worker.Spec.Pools[:1]
		Expect(names(s.Used(worker))).To(Equal([]string{"b"}))
		worker.Spec.Pools[0].Zones = []string{"c-1", "unknown"}
		Expect(s.Used(worker)).To(BeEmpty())
	})

	It("should be known as far as they can be read", func(ctx SpecContext) {
		s, err := Read(ctx, reader(), worker, cluster)
		Expect(err).To(MatchError(ContainSubstring("reading the credentials")))
		Expect(names(s.Sites)).To(Equal([]string{"a", "b"}))

		profile.Sites = profile.Sites[:1]
		cluster.CloudProfile.Spec.ProviderConfig = encode(profile)
		s, err = Read(ctx, reader(secret), worker, cluster)
		Expect(err).NotTo(HaveOccurred())
		Expect(s.Unresolved).To(MatchError(ContainSubstring(`site "b"`)))
		Expect(platform.ClassOf(s.Unresolved)).To(Equal(platform.ClassConfiguration))
		Expect(names(s.Sites)).To(Equal([]string{"a"}))

		cluster.CloudProfile.Spec.ProviderConfig = &runtime.RawExtension{Raw: []byte(`{"kind":"Other"}`)}
		s, err = Read(ctx, reader(secret), worker, cluster)
		Expect(err).To(MatchError(HavePrefix("providerConfig of the CloudProfile: ")))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		Expect(s.Sites).To(BeEmpty())

		cluster.CloudProfile = nil
		s, err = Read(ctx, reader(secret), worker, cluster)
		Expect(err).To(MatchError("the Cluster has no CloudProfile or no Shoot"))
		Expect(s.Used(worker)).To(BeEmpty())
	})
})

func names(sites []site.Site) []string {
	var names []string
	for _, s := range sites {
		names = append(names, s.Name)
	}
	return names
}

func encode[T any, P codec.Object[T]](document P) *runtime.RawExtension {
	raw, err := codec.Encode[T, P](document)
	Expect(err).NotTo(HaveOccurred())
	return raw
}
