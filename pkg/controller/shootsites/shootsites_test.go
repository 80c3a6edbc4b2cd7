// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package shootsites

import (
	"context"

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

var _ = Describe("The sites of a shoot", func() {
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
		profile = &v1alpha1.CloudProfileConfig{Sites: []v1alpha1.CloudProfileSite{profileSite("a", "a-1", "a-2"), profileSite("b", "b-1"),
			profileSite("c", "c-1")}}
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

	read := func(ctx context.Context, source Source, objects ...client.Object) (Input, []site.Site, error, error) {
		input, configErr, err := Read(ctx, reader(objects...), source, cluster)
		sites, _ := site.Resolve(input.Input)
		return input, sites, configErr, err
	}

	It("should be those of the Shoot", func(ctx SpecContext) {
		_, sites, configErr, err := read(ctx, OfShoot("shoot--p--s", worker.Spec.SecretRef, cluster), secret)
		Expect(configErr).NotTo(HaveOccurred())
		Expect(err).NotTo(HaveOccurred())
		Expect(names(sites)).To(Equal([]string{"a", "b"}))
		Expect(sites[1]).To(And(HaveField("Shoot", "shoot--p--s"), HaveField("Credentials", site.Credentials{"token": "2"})))
	})

	It("should be those of the Infrastructure, with what it left", func(ctx SpecContext) {
		infra := &extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--s"}}
		infra.Spec.SecretRef, infra.Spec.ProviderConfig = worker.Spec.SecretRef, cluster.Shoot.Spec.Provider.InfrastructureConfig
		infra.Status.State = encode(&v1alpha1.InfrastructureState{Sites: []v1alpha1.SiteState{{Name: "old", Metal: &v1alpha1.MetalState{}}}})
		cluster.Shoot.Status.TechnicalID = ""
		input, sites, configErr, err := read(ctx, OfInfrastructure(infra), secret)
		Expect(configErr).NotTo(HaveOccurred())
		Expect(err).NotTo(HaveOccurred())
		Expect(input.Shoot).To(Equal("shoot--p--s"))
		Expect(input.SecretVersion).NotTo(BeEmpty())
		Expect(names(sites)).To(Equal([]string{"a", "b", "old"}))

		infra.Status.State = &runtime.RawExtension{Raw: []byte(`{"kind":"Other"}`)}
		_, sites, _, err = read(ctx, OfInfrastructure(infra), secret)
		Expect(err).To(MatchError(HavePrefix("status.state: ")))
		Expect(names(sites)).To(Equal([]string{"a", "b"}))
	})

	It("should be known as far as they can be read", func(ctx SpecContext) {
		_, sites, _, err := read(ctx, OfShoot("shoot--p--s", worker.Spec.SecretRef, cluster))
		Expect(err).To(MatchError(HavePrefix("spec.secretRef: ")))
		Expect(names(sites)).To(Equal([]string{"a", "b"}))

		cluster.CloudProfile.Spec.ProviderConfig = &runtime.RawExtension{Raw: []byte(`{"kind":"Other"}`)}
		_, sites, configErr, err := read(ctx, OfShoot("shoot--p--s", worker.Spec.SecretRef, cluster), secret)
		Expect(err).NotTo(HaveOccurred())
		Expect(configErr).To(MatchError(HavePrefix("CloudProfile spec.providerConfig: ")))
		Expect(platform.ClassOf(configErr)).To(Equal(platform.ClassConfiguration))
		Expect(sites).To(BeEmpty())

		cluster.CloudProfile, cluster.Shoot = nil, nil
		_, _, configErr, _ = read(ctx, OfShoot("shoot--p--s", worker.Spec.SecretRef, cluster), secret)
		Expect(configErr).To(MatchError(And(HavePrefix("CloudProfile spec.providerConfig: "),
			ContainSubstring("infrastructureConfig of the Shoot: "))))
	})

	DescribeTable("should know the pod ranges of the Shoot", func(shoot *gardencorev1beta1.Shoot, expected []string) {
		Expect(Pods(shoot)).To(Equal(expected))
	},
		Entry("no Shoot", nil, nil),
		Entry("nothing yet", &gardencorev1beta1.Shoot{}, nil),
		Entry("what is wanted",
			&gardencorev1beta1.Shoot{Spec: gardencorev1beta1.ShootSpec{Networking: &gardencorev1beta1.Networking{Pods: new("100.64.0.0/13")}}},
			[]string{"100.64.0.0/13"}),
		Entry("what it has",
			&gardencorev1beta1.Shoot{Status: gardencorev1beta1.ShootStatus{Networking: &gardencorev1beta1.NetworkingStatus{Pods: []string{
				"100.64.0.0/13", "fd00::/56"}}}}, []string{"100.64.0.0/13", "fd00::/56"}),
	)
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
