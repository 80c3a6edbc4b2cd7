// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package selfhostedshootexposure

import (
	"context"
	"errors"
	"net/netip"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	reconcilerutils "github.com/gardener/gardener/pkg/controllerutils/reconciler"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

const namespace = "kube-system"

// cloud is a platform whose load balancers exist as soon as they are asked for.
type cloud struct {
	ensureErr, deleteErr error
	request              platform.ExposureRequest
	ensured, deleted     []string
}

func (c *cloud) Ensure(_ context.Context, request platform.ExposureRequest) (netip.Addr, error) {
	c.request = request
	c.ensured = append(c.ensured, request.Site.Name)
	return netip.MustParseAddr("203.0.113.9"), c.ensureErr
}

func (c *cloud) Delete(_ context.Context, s *site.Site) error {
	c.deleted = append(c.deleted, s.Name)
	return c.deleteErr
}

func encode[T any, P codec.Object[T]](document P) *runtime.RawExtension {
	GinkgoHelper()
	raw, err := codec.Encode[T, P](document)
	Expect(err).NotTo(HaveOccurred())
	return raw
}

var _ = Describe("Actuator", func() {
	var (
		part     *cloud
		profile  *v1alpha1.CloudProfileConfig
		config   *v1alpha1.InfrastructureConfig
		infra    *extensionsv1alpha1.Infrastructure
		exposure *extensionsv1alpha1.SelfHostedShootExposure
		cluster  *extensionscontroller.Cluster
		recorder *events.FakeRecorder
		objects  []client.Object
		c        client.Client
		a        *actuator
		ctx      = context.Background()
	)

	endpoint := func(name string, addresses ...string) extensionsv1alpha1.ControlPlaneEndpoint {
		result := extensionsv1alpha1.ControlPlaneEndpoint{NodeName: name,
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}, {Type: corev1.NodeExternalIP, Address: "10.250.0.99"}}}
		for _, address := range addresses {
			result.Addresses = append(result.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
		}
		return result
	}
	addSite := func(name, nodes string, s v1alpha1.CloudProfileSite) {
		s.Name, s.Region, s.Zones = name, "west", []v1alpha1.SiteZone{{Name: name + "-a"}, {Name: name + "-b"}}
		profile.Sites = append(profile.Sites, s)
		config.Sites = append(config.Sites, v1alpha1.InfrastructureSite{Name: name, Nodes: []string{nodes}})
	}

	BeforeEach(func() {
		part = &cloud{}
		profile = &v1alpha1.CloudProfileConfig{}
		config = &v1alpha1.InfrastructureConfig{Networks: v1alpha1.Networks{Topology: v1alpha1.TopologyRouted}}
		addSite("cloud", "10.250.0.0/18", v1alpha1.CloudProfileSite{OpenStack: &v1alpha1.OpenStackProfile{Region: "one"}})
		addSite("cloud2", "10.250.64.0/18", v1alpha1.CloudProfileSite{OpenStack: &v1alpha1.OpenStackProfile{Region: "two"}})
		addSite("vc", "10.250.128.0/18", v1alpha1.CloudProfileSite{VSphere: &v1alpha1.VSphereProfile{}})
		shoot := &gardencorev1beta1.Shoot{Status: gardencorev1beta1.ShootStatus{TechnicalID: "shoot--a--b"}}
		shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{Name: "work", Zones: []string{"vc-a"}},
			{Name: "cp", Zones: []string{"cloud-a", "cloud-b"}, ControlPlane: &gardencorev1beta1.WorkerControlPlane{}}}
		shoot.Spec.Provider.ControlPlaneConfig = encode(&v1alpha1.ControlPlaneConfig{Sites: []v1alpha1.ControlPlaneSite{{Name: "cloud",
			LoadBalancer: &v1alpha1.SiteLoadBalancer{OpenStack: &v1alpha1.OpenStackLoadBalancerConfig{Provider: "ovn"}}}}})
		cluster = &extensionscontroller.Cluster{Shoot: shoot, CloudProfile: &gardencorev1beta1.CloudProfile{}}
		infra = &extensionsv1alpha1.Infrastructure{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "b"},
			Spec: extensionsv1alpha1.InfrastructureSpec{DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: v1alpha1.ProviderType},
				SecretRef: corev1.SecretReference{Namespace: namespace, Name: "cloudprovider"}},
		}
		exposure = &extensionsv1alpha1.SelfHostedShootExposure{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "b"},
			Spec: extensionsv1alpha1.SelfHostedShootExposureSpec{
				DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: v1alpha1.ProviderType}, Port: 443,
				Endpoints: []extensionsv1alpha1.ControlPlaneEndpoint{endpoint("n2", "2001:db8::1", "10.250.0.12"), endpoint("n1", "10.250.0.11")},
			},
		}
		recorder = events.NewFakeRecorder(100)
		objects = []client.Object{infra, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloudprovider"}}}
	})

	// start creates the objects as they are now.
	start := func() {
		GinkgoHelper()
		cluster.CloudProfile.Spec.ProviderConfig = encode(profile)
		infra.Spec.ProviderConfig = encode(config)
		status := &v1alpha1.InfrastructureStatus{}
		for _, s := range config.Sites {
			status.Sites = append(status.Sites, v1alpha1.SiteStatus{Name: s.Name})
		}
		infra.Status.ProviderStatus = encode(status)
		c = fake.NewClientBuilder().WithScheme(landscape.Scheme).WithObjects(append(objects, exposure)...).WithStatusSubresource(exposure).Build()
		Expect(c.Get(ctx, client.ObjectKeyFromObject(exposure), exposure)).To(Succeed())
		a = &actuator{client: c, reader: c, events: eventnote.Writer{EventRecorder: recorder},
			platforms: platform.Registry[platform.Exposures]{v1alpha1.PlatformOpenStack: part}}
	}
	ensure := func() ([]corev1.LoadBalancerIngress, error) {
		return a.Reconcile(ctx, logr.Discard(), exposure, cluster)
	}
	recorded := func() string {
		GinkgoHelper()
		stored := &extensionsv1alpha1.SelfHostedShootExposure{}
		Expect(c.Get(ctx, client.ObjectKeyFromObject(exposure), stored)).To(Succeed())
		if stored.Status.ProviderStatus == nil {
			return ""
		}
		status, err := codec.Decode[v1alpha1.SelfHostedShootExposureStatus](stored.Status.ProviderStatus)
		Expect(err).NotTo(HaveOccurred())
		return status.Site
	}
	haveCode := func(code gardencorev1beta1.ErrorCode) OmegaMatcher {
		return WithTransform(func(err error) []gardencorev1beta1.ErrorCode {
			var coder v1beta1helper.Coder
			if !errors.As(err, &coder) {
				return nil
			}
			return coder.Codes()
		}, ContainElement(code))
	}
	setZones := func(zones ...string) { cluster.Shoot.Spec.Provider.Workers[1].Zones = zones }

	It("should expose the nodes on the site of the control plane", func() {
		start()
		Expect(ensure()).To(Equal([]corev1.LoadBalancerIngress{{IP: "203.0.113.9"}}))
		Expect(recorded()).To(Equal("cloud"))
		Expect(part.request).To(And(HaveField("Site.Name", "cloud"), HaveField("Status.Name", "cloud"), HaveField("Port", int32(443)),
			HaveField("Settings.LoadBalancer.OpenStack.Provider", "ovn"),
			HaveField("Endpoints", []netip.Addr{netip.MustParseAddr("10.250.0.11"), netip.MustParseAddr("10.250.0.12")})))
		Expect(part.request.Site.Shoot).To(Equal("shoot--a--b"))

		version := exposure.ResourceVersion
		Expect(ensure()).NotTo(BeEmpty())
		Expect(exposure.ResourceVersion).To(Equal(version), "an unchanged status is not written")
		Expect(recorder.Events).To(BeEmpty())
	})

	It("should name a node once that is listed twice", func() {
		exposure.Spec.Endpoints = append(exposure.Spec.Endpoints, endpoint("n3", "10.250.0.11"))
		start()
		Expect(ensure()).NotTo(BeEmpty())
		Expect(part.request.Endpoints).To(HaveLen(2))
	})

	DescribeTable("should refuse", func(message string, change func()) {
		change()
		start()
		_, err := ensure()
		Expect(err).To(MatchError(ContainSubstring(message)))
		Expect(part.ensured).To(BeEmpty())
		Expect(recorded()).To(BeEmpty())
	},
		Entry("an address of another site's nodes", `node "n1" must have an InternalIP in the ranges [10.250.0.0/18]`,
			func() { exposure.Spec.Endpoints[1] = endpoint("n1", "10.250.64.11") }),
		Entry("an address outside of the shoot", "spec.endpoints[1]", func() { exposure.Spec.Endpoints[1] = endpoint("n1", "192.0.2.1") }),
		Entry("an external address", "spec.endpoints[1]", func() { exposure.Spec.Endpoints[1] = endpoint("n1") }),
		Entry("an address that is none", "spec.endpoints[1]", func() { exposure.Spec.Endpoints[1] = endpoint("n1", "10.250.0.11/18") }),
		Entry("no nodes", "there is no node yet", func() { exposure.Spec.Endpoints = nil }),
		Entry("a site of another platform", `site "vc": it is of platform "vsphere", and load balancers of control planes are supported by `+
			`["openstack"]: set controlPlane.exposure.dns of pool "cp"`, func() { setZones("vc-a") }),
		Entry("several sites", `"cloud" and "cloud2"`, func() { setZones("cloud-a", "cloud2-a") }),
		Entry("a zone that no site has", `zone "other"`, func() { setZones("other") }),
		Entry("no zones", "has no zones", func() { setZones() }),
		Entry("no control plane", "no pool for its control plane", func() { cluster.Shoot.Spec.Provider.Workers[1].ControlPlane = nil }),
		Entry("a shoot without an Infrastructure", "no Infrastructure", func() { objects = objects[1:] }),
		Entry("an Infrastructure that is being deleted", "being deleted", func() {
			infra.DeletionTimestamp, infra.Finalizers = &metav1.Time{Time: time.Now()}, []string{"test"}
		}),
		Entry("a shoot whose control plane moves", "is moving", func() {
			infra.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: gardencorev1beta1.LastOperationTypeMigrate}
		}),
	)

	It("should record the site before it creates anything there", func() {
		start()
		part.ensureErr = platform.NewError(platform.ClassQuota, "no load balancers left")
		_, err := ensure()
		Expect(err).To(haveCode(gardencorev1beta1.ErrorInfraQuotaExceeded))
		Expect(err).To(MatchError(ContainSubstring(`site "cloud"`)))
		Expect(recorded()).To(Equal("cloud"))
	})

	It("should come back soon while the load balancer is in progress", func() {
		start()
		part.ensureErr = platform.NewProgress("load balancer is changing")
		_, err := ensure()
		var soon *reconcilerutils.RequeueAfterError
		Expect(errors.As(err, &soon)).To(BeTrue())
		Expect(soon.RequeueAfter).To(Equal(progressInterval))
		Expect(recorder.Events).To(Receive(ContainSubstring("load balancer is changing")))
	})

	It("should leave the site that the nodes have left before it uses another one", func() {
		exposure.Status.ProviderStatus = encode(&v1alpha1.SelfHostedShootExposureStatus{Site: "cloud2"})
		start()
		part.deleteErr = platform.NewError(platform.ClassTransient, "down")
		_, err := ensure()
		Expect(err).To(MatchError(ContainSubstring(`site "cloud2": down`)))
		Expect(part.ensured).To(BeEmpty())
		Expect(recorded()).To(Equal("cloud2"))
		part.deleteErr = nil
		Expect(ensure()).NotTo(BeEmpty())
		Expect(part.deleted).To(HaveEach("cloud2"))
		Expect(recorded()).To(Equal("cloud"))
	})

	Describe("Deletion", func() {
		BeforeEach(func() {
			exposure.Status.ProviderStatus = encode(&v1alpha1.SelfHostedShootExposureStatus{Site: "cloud"})
		})

		deleteExposure := func() error { return a.Delete(ctx, logr.Discard(), exposure, cluster) }

		It("should delete the load balancer, whatever the Shoot says now", func() {
			setZones("cloud-a", "vc-a")
			cluster.Shoot.Spec.Provider.ControlPlaneConfig = &runtime.RawExtension{Raw: []byte("{")}
			start()
			Expect(deleteExposure()).To(Succeed())
			Expect(part.deleted).To(Equal([]string{"cloud"}))
		})

		It("should come back soon while the load balancer is being deleted", func() {
			part.deleteErr = platform.NewProgress("load balancer is being deleted")
			start()
			var soon *reconcilerutils.RequeueAfterError
			Expect(errors.As(deleteExposure(), &soon)).To(BeTrue())
		})

		DescribeTable("should have nothing to do", func(change func()) {
			change()
			start()
			Expect(deleteExposure()).To(Succeed())
			Expect(part.deleted).To(BeEmpty())
		},
			Entry("if nothing was created", func() { exposure.Status.ProviderStatus = nil }),
			Entry("without an Infrastructure, which took it along", func() { objects = objects[1:] }),
			Entry("if the shoot no longer has the site", func() { config.Sites, profile.Sites = config.Sites[1:], profile.Sites[1:] }),
		)

		It("should let go if it is forced, and tell what may be left", func() {
			part.deleteErr = platform.NewError(platform.ClassForbidden, "refused")
			start()
			Expect(deleteExposure()).To(haveCode(gardencorev1beta1.ErrorInfraUnauthorized))
			Expect(a.ForceDelete(ctx, logr.Discard(), exposure, cluster)).To(Succeed())
			Expect(recorder.Events).To(Receive(And(ContainSubstring("ExposureLeft"), ContainSubstring("refused"))))
		})
	})
})
