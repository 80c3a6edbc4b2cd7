// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package bastion

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
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
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

const namespace = "shoot--a--b"

// host is a platform whose bastions exist as soon as they are asked for.
type host struct {
	public    map[string]bool
	ensureErr error
	deleteErr error
	// ensure replaces Ensure.
	ensure func(context.Context, platform.BastionRequest) (platform.Bastion, error)

	request platform.BastionRequest
	machine platform.MachineClassRequest
	missing error
	ensured []string
	deleted []string
}

func (h *host) IsPublic(s *site.Site) bool { return h.public[s.Name] }

func (h *host) Ensure(ctx context.Context, request platform.BastionRequest) (platform.Bastion, error) {
	h.request = request
	h.ensured = append(h.ensured, request.Site.Name)
	h.machine, h.missing = request.Machine()
	if h.ensure != nil {
		return h.ensure(ctx, request)
	}
	return platform.Bastion{Address: netip.MustParseAddr("203.0.113.9"), NodeAddresses: []netip.Addr{netip.MustParseAddr("10.250.0.9")}},
		h.ensureErr
}

func (h *host) Delete(_ context.Context, s *site.Site, name string) error {
	h.deleted = append(h.deleted, s.Name+" "+name)
	return h.deleteErr
}

// gated is a host whose sites filter traffic to nodes.
type gated struct {
	host
	mutex sync.Mutex
	// admitErrs are the errors of sites.
	admitErrs map[string]error
	admitted  map[string][]netip.Addr
}

func (g *gated) Admit(_ context.Context, s *site.Site, _ string, from []netip.Addr) error {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if err := g.admitErrs[s.Name]; err != nil {
		return err
	}
	g.admitted[s.Name] = from
	return nil
}

func encode[T any, P codec.Object[T]](document P) *runtime.RawExtension {
	GinkgoHelper()
	raw, err := codec.Encode[T, P](document)
	Expect(err).NotTo(HaveOccurred())
	return raw
}

var _ = Describe("Actuator", func() {
	var (
		cloud    *gated
		vms      *host
		profile  *v1alpha1.CloudProfileConfig
		settings *v1alpha1.ControlPlaneConfig
		config   *v1alpha1.InfrastructureConfig
		infra    *extensionsv1alpha1.Infrastructure
		b        *extensionsv1alpha1.Bastion
		cluster  *extensionscontroller.Cluster
		recorder *events.FakeRecorder
		objects  []client.Object
		c        client.Client
		a        *actuator
		ctx      context.Context
		again    *bool
	)

	addSite := func(name, nodes string, s v1alpha1.CloudProfileSite) {
		s.Name, s.Region = name, "west"
		if len(s.Zones) == 0 {
			s.Zones = []v1alpha1.SiteZone{{Name: name + "-a"}, {Name: name + "-b"}}
		}
		profile.Sites = append(profile.Sites, s)
		config.Sites = append(config.Sites, v1alpha1.InfrastructureSite{Name: name, Nodes: []string{nodes}})
	}

	BeforeEach(func() {
		cloud, vms = &gated{admitted: map[string][]netip.Addr{}, admitErrs: map[string]error{}}, &host{}
		cloud.public = map[string]bool{"cloud2": true}
		profile = &v1alpha1.CloudProfileConfig{}
		config = &v1alpha1.InfrastructureConfig{Networks: v1alpha1.Networks{Topology: v1alpha1.TopologyRouted}}
		settings = &v1alpha1.ControlPlaneConfig{DefaultSite: "racks"}
		addSite("racks", "10.249.0.0/18", v1alpha1.CloudProfileSite{Metal: &v1alpha1.MetalProfile{}})
		addSite("cloud", "10.250.0.0/18", v1alpha1.CloudProfileSite{OpenStack: &v1alpha1.OpenStackProfile{Region: "one"}})
		addSite("cloud2", "10.250.64.0/18", v1alpha1.CloudProfileSite{OpenStack: &v1alpha1.OpenStackProfile{Region: "two"}})
		addSite("vc", "10.250.128.0/18", v1alpha1.CloudProfileSite{VSphere: &v1alpha1.VSphereProfile{}})
		everywhere := func() (all []v1alpha1.SiteMachineType) {
			for _, s := range []string{"cloud", "cloud2", "vc"} {
				all = append(all, v1alpha1.SiteMachineType{Name: s})
			}
			return all
		}
		profile.MachineTypes = []v1alpha1.MachineType{
			{Name: "large", Sites: everywhere()}, {Name: "small", Sites: everywhere()}, {Name: "arm", Sites: everywhere()},
			{Name: "host", Sites: []v1alpha1.SiteMachineType{{Name: "racks"}}},
		}
		flavor := func(architecture string, sites ...string) v1alpha1.MachineImageFlavor {
			f := v1alpha1.MachineImageFlavor{Capabilities: map[string][]string{"architecture": {architecture}}}
			for _, s := range sites {
				f.Sites = append(f.Sites, v1alpha1.SiteMachineImage{Name: s})
			}
			return f
		}
		profile.MachineImages = []v1alpha1.MachineImage{
			{Name: "metal-os", Versions: []v1alpha1.MachineImageVersion{
				{Version: "1.0.0", CapabilityFlavors: []v1alpha1.MachineImageFlavor{flavor("amd64", "racks")}}}},
			{Name: "linux", Versions: []v1alpha1.MachineImageVersion{
				{Version: "1.9.0", CapabilityFlavors: []v1alpha1.MachineImageFlavor{flavor("amd64", "cloud", "cloud2", "vc")}},
				{Version: "1.10.0", CapabilityFlavors: []v1alpha1.MachineImageFlavor{flavor("amd64", "cloud", "cloud2")}},
				{Version: "2.0.0", CapabilityFlavors: []v1alpha1.MachineImageFlavor{flavor("amd64", "cloud", "cloud2", "vc")}},
			}},
		}
		for i := range profile.MachineImages {
			for j := range profile.MachineImages[i].Versions {
				version := &profile.MachineImages[i].Versions[j]
				for k := range version.CapabilityFlavors[0].Sites {
					version.CapabilityFlavors[0].Sites[k].OpenStack = &v1alpha1.OpenStackImage{ImageName: version.Version}
				}
			}
		}
		machineType := func(name, cpu, architecture string) gardencorev1beta1.MachineType {
			return gardencorev1beta1.MachineType{Name: name, CPU: resource.MustParse(cpu), Memory: resource.MustParse("4Gi"),
				Architecture: &architecture}
		}
		supported, preview := gardencorev1beta1.ClassificationSupported, gardencorev1beta1.ClassificationPreview
		version := func(v string, c *gardencorev1beta1.VersionClassification) gardencorev1beta1.MachineImageVersion {
			return gardencorev1beta1.MachineImageVersion{ExpirableVersion: gardencorev1beta1.ExpirableVersion{Version: v, Classification: c}}
		}
		shoot := &gardencorev1beta1.Shoot{Status: gardencorev1beta1.ShootStatus{TechnicalID: namespace}}
		shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{Zones: []string{"cloud2-b"}}}
		cluster = &extensionscontroller.Cluster{Shoot: shoot, CloudProfile: &gardencorev1beta1.CloudProfile{
			Spec: gardencorev1beta1.CloudProfileSpec{
				MachineTypes: []gardencorev1beta1.MachineType{machineType("host", "1", "amd64"), machineType("arm", "1", "arm64"),
					machineType("large", "8", "amd64"), machineType("small", "2", "amd64")},
				MachineImages: []gardencorev1beta1.MachineImage{
					{Name: "metal-os", Versions: []gardencorev1beta1.MachineImageVersion{version("1.0.0", &supported)}},
					{Name: "linux", Versions: []gardencorev1beta1.MachineImageVersion{version("1.9.0", &supported), version("2.0.0", &preview),
						version("1.10.0", &supported)}},
				},
			},
		}}
		infra = &extensionsv1alpha1.Infrastructure{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "b"},
			Spec: extensionsv1alpha1.InfrastructureSpec{DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: v1alpha1.ProviderType},
				SecretRef: corev1.SecretReference{Namespace: namespace, Name: "cloudprovider"}},
		}
		b = &extensionsv1alpha1.Bastion{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cli-x"},
			Spec: extensionsv1alpha1.BastionSpec{
				DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: v1alpha1.ProviderType}, UserData: []byte("#!/bin/bash\n"),
				Ingress: []extensionsv1alpha1.BastionIngressPolicy{{IPBlock: networkingv1.IPBlock{CIDR: "203.0.113.7/24"}}},
			},
		}
		recorder = events.NewFakeRecorder(100)
		objects = []client.Object{infra, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloudprovider"}}}
		again = new(bool)
		ctx = context.WithValue(context.Background(), repeatKey{}, again)
	})

	// start creates the objects as they are now.
	start := func() {
		GinkgoHelper()
		cluster.CloudProfile.Spec.ProviderConfig = encode(profile)
		cluster.Shoot.Spec.Provider.ControlPlaneConfig = encode(settings)
		infra.Spec.ProviderConfig = encode(config)
		status := &v1alpha1.InfrastructureStatus{}
		for _, s := range config.Sites {
			status.Sites = append(status.Sites, v1alpha1.SiteStatus{Name: s.Name})
		}
		infra.Status.ProviderStatus = encode(status)
		c = fake.NewClientBuilder().WithScheme(landscape.Scheme).WithObjects(append(objects, b)...).WithStatusSubresource(b).Build()
		Expect(c.Get(ctx, client.ObjectKeyFromObject(b), b)).To(Succeed())
		a = &actuator{client: c, reader: c, events: eventnote.Writer{EventRecorder: recorder}, siteTimeout: time.Minute,
			admitTimeout: time.Minute,
			platforms:    platform.Registry[platform.Bastions]{v1alpha1.PlatformOpenStack: cloud, v1alpha1.PlatformVSphere: vms}}
	}
	reconcileBastion := func() error { return a.Reconcile(ctx, logr.Discard(), b, cluster) }
	recorded := func() string {
		GinkgoHelper()
		stored := &extensionsv1alpha1.Bastion{}
		Expect(c.Get(ctx, client.ObjectKeyFromObject(b), stored)).To(Succeed())
		if stored.Status.ProviderStatus == nil {
			return ""
		}
		status, err := codec.Decode[v1alpha1.BastionStatus](stored.Status.ProviderStatus)
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
	configurationProblem := haveCode(gardencorev1beta1.ErrorConfigurationProblem)

	It("should create the bastion and let it reach the nodes of all sites", func() {
		start()
		Expect(reconcileBastion()).To(Succeed())
		Expect(b.Status.Ingress).To(Equal(&corev1.LoadBalancerIngress{IP: "203.0.113.9"}))
		Expect(recorded()).To(Equal("cloud2"))
		Expect(cloud.request).To(And(HaveField("Name", "shoot--a--b-bastion-cli-x"), HaveField("UserData", []byte("#!/bin/bash\n")),
			HaveField("Ingress", []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")})))
		from := []netip.Addr{netip.MustParseAddr("10.250.0.9")}
		Expect(cloud.admitted).To(Equal(map[string][]netip.Addr{"cloud": append(from, netip.MustParseAddr("203.0.113.9")), "cloud2": from}),
			"other sites may see the floating IP")
		Expect(*again).To(BeFalse())
		Expect(recorder.Events).To(BeEmpty())

		version := b.ResourceVersion
		Expect(reconcileBastion()).To(Succeed())
		Expect(b.ResourceVersion).To(Equal(version), "an unchanged status is not written")
	})

	DescribeTable("should choose the site", func(expected string, change func()) {
		change()
		start()
		err := reconcileBastion()
		if expected == "" {
			Expect(err).To(configurationProblem)
			Expect(recorded()).To(BeEmpty())
			return
		}
		Expect(err).NotTo(HaveOccurred())
		Expect(append(cloud.ensured, vms.ensured...)).To(Equal([]string{expected}))
	},
		Entry("the first one that is reached from outside", "cloud2", func() {}),
		Entry("the default site", "vc", func() { settings.DefaultSite = "vc" }),
		Entry("the first one that supports bastions", "cloud", func() { cloud.public = nil }),
		Entry("the one in the configuration", "vc", func() { settings.Bastion = &v1alpha1.BastionConfig{Site: "vc"} }),
		Entry("the one that it is on", "cloud", func() {
			settings.Bastion = &v1alpha1.BastionConfig{Site: "vc"}
			b.Status.ProviderStatus = encode(&v1alpha1.BastionStatus{Site: "cloud"})
		}),
		Entry("not one that the shoot does not use", "", func() { settings.Bastion = &v1alpha1.BastionConfig{Site: "other"} }),
		Entry("not one that does not support bastions", "", func() { settings.Bastion = &v1alpha1.BastionConfig{Site: "racks"} }),
	)

	It("should name the way out to a shoot without a site that supports bastions", func() {
		config.Sites = config.Sites[:1]
		start()
		err := reconcileBastion()
		Expect(err).To(configurationProblem)
		Expect(err).To(MatchError(And(ContainSubstring(`["openstack" "vsphere"]`), ContainSubstring("jump host"))))
	})

	DescribeTable("should choose the machine", func(machineType, image, zone string, change func()) {
		change()
		start()
		Expect(reconcileBastion()).To(Succeed())
		h := &cloud.host
		if len(vms.ensured) > 0 {
			h = vms
		}
		if machineType == "" {
			Expect(platform.ClassOf(h.missing)).To(Equal(platform.ClassConfiguration))
			return
		}
		Expect(h.missing).NotTo(HaveOccurred())
		Expect(h.machine.Capacity.Cpu().String()).To(Equal(machineType))
		Expect(h.machine.Image.OpenStack.ImageName).To(Equal(image))
		Expect(h.machine.Zone.Name).To(Equal(zone))
	},
		Entry("with the fewest CPUs that has an image, in the latest supported version, in a zone with machines", "2", "1.10.0", "cloud2-b",
			func() {}),
		Entry("with what another site has", "2", "1.9.0", "vc-a", func() { settings.DefaultSite = "vc" }),
		Entry("with the machine type in the configuration", "8", "1.10.0", "cloud2-b", func() {
			settings.Bastion = &v1alpha1.BastionConfig{Site: "cloud2", MachineType: "large"}
		}),
		Entry("with the image in the configuration", "2", "2.0.0", "cloud2-b", func() {
			settings.Bastion = &v1alpha1.BastionConfig{Site: "cloud2", Image: &v1alpha1.BastionImage{Name: "linux", Version: "2.0.0"}}
		}),
		Entry("with those of the CloudProfile", "8", "1.9.0", "cloud2-b", func() {
			version := "1.9.0"
			cluster.CloudProfile.Spec.Bastion = &gardencorev1beta1.Bastion{
				MachineType:  &gardencorev1beta1.BastionMachineType{Name: "large"},
				MachineImage: &gardencorev1beta1.BastionMachineImage{Name: "linux", Version: &version},
			}
		}),
		Entry("without those of the CloudProfile that the site does not have", "2", "1.10.0", "cloud2-b", func() {
			cluster.CloudProfile.Spec.Bastion = &gardencorev1beta1.Bastion{
				MachineType:  &gardencorev1beta1.BastionMachineType{Name: "host"},
				MachineImage: &gardencorev1beta1.BastionMachineImage{Name: "metal-os"},
			}
		}),
		Entry("not with a capacity that the site overrides", "3", "1.10.0", "cloud2-b", func() {
			profile.MachineTypes[1].Sites[1].Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}
		}),
		Entry("not with another site's machine type", "", "", "", func() {
			settings.Bastion = &v1alpha1.BastionConfig{Site: "cloud", MachineType: "host"}
		}),
		Entry("not with an image for another architecture", "", "", "", func() {
			settings.Bastion = &v1alpha1.BastionConfig{Site: "cloud", MachineType: "arm"}
		}),
	)

	It("should record the site before it creates anything there", func() {
		start()
		cloud.ensureErr = platform.NewError(platform.ClassQuota, "no servers left")
		Expect(reconcileBastion()).To(haveCode(gardencorev1beta1.ErrorInfraQuotaExceeded))
		Expect(recorded()).To(Equal("cloud2"))
		Expect(b.Status.Ingress).To(BeNil())
	})

	It("should come back soon while the bastion starts", func() {
		start()
		cloud.ensureErr = platform.NewProgress("server is being created")
		var soon *reconcilerutils.RequeueAfterError
		Expect(errors.As(reconcileBastion(), &soon)).To(BeTrue())
		Expect(soon.RequeueAfter).To(Equal(progressInterval))
		Expect(recorder.Events).To(Receive(ContainSubstring("server is being created")))
	})

	It("should not wait for a site that does not respond, and admit the nodes later", func() {
		cloud.admitErrs["cloud"] = platform.NewError(platform.ClassTransient, "down")
		start()
		Expect(reconcileBastion()).To(Succeed())
		Expect(cloud.admitted).To(HaveKey("cloud2"))
		Expect(b.Status.Ingress).NotTo(BeNil())
		Expect(recorder.Events).To(Receive(And(ContainSubstring("NodesNotReached"), ContainSubstring(`"cloud"`))))
		Expect(*again).To(BeTrue())
	})

	It("should not come back for a mistake that only a person solves", func() {
		cloud.admitErrs["cloud"] = platform.NewError(platform.ClassConfiguration, "given")
		start()
		Expect(reconcileBastion()).To(Succeed())
		Expect(*again).To(BeFalse())
	})

	It("should give up on a platform that ignores the deadline", func() {
		start()
		a.siteTimeout = 10 * time.Millisecond
		release := make(chan struct{})
		DeferCleanup(func() { close(release) })
		cloud.ensure = func(context.Context, platform.BastionRequest) (platform.Bastion, error) {
			<-release
			return platform.Bastion{}, nil
		}
		Expect(reconcileBastion()).To(MatchError(ContainSubstring("no answer yet")))
	})

	DescribeTable("should refuse", func(message string, change func()) {
		change()
		start()
		Expect(reconcileBastion()).To(MatchError(ContainSubstring(message)))
		Expect(cloud.ensured).To(BeEmpty())
		Expect(recorded()).To(BeEmpty())
	},
		Entry("a range that is none", "spec.ingress[0].ipBlock.cidr", func() { b.Spec.Ingress[0].IPBlock.CIDR = "anywhere" }),
		Entry("exceptions, which would be open", "spec.ingress[0].ipBlock.except",
			func() { b.Spec.Ingress[0].IPBlock.Except = []string{"203.0.113.1/32"} }),
		Entry("a shoot without an Infrastructure", "no Infrastructure", func() { objects = objects[1:] }),
		Entry("an Infrastructure that is being deleted", "being deleted", func() {
			infra.DeletionTimestamp, infra.Finalizers = &metav1.Time{Time: time.Now()}, []string{"test"}
		}),
		Entry("a shoot that is being deleted", "being deleted", func() { cluster.Shoot.DeletionTimestamp = &metav1.Time{Time: time.Now()} }),
		Entry("a shoot that moves to another seed", "moving to another seed", func() {
			infra.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: gardencorev1beta1.LastOperationTypeMigrate}
		}),
	)

	Describe("Deletion", func() {
		BeforeEach(func() { b.Status.ProviderStatus = encode(&v1alpha1.BastionStatus{Site: "cloud2"}) })

		deleteBastion := func() error { return a.Delete(ctx, logr.Discard(), b, cluster) }

		It("should delete the bastion and close the nodes of all sites", func() {
			start()
			Expect(deleteBastion()).To(Succeed())
			Expect(cloud.deleted).To(Equal([]string{"cloud2 shoot--a--b-bastion-cli-x"}))
			Expect(cloud.admitted).To(Equal(map[string][]netip.Addr{"cloud": nil, "cloud2": nil}))
			Expect(vms.deleted).To(BeEmpty())
		})

		It("should delete the bastion even if another site is down, and not succeed before the nodes are closed", func() {
			cloud.admitErrs["cloud"] = platform.NewError(platform.ClassTransient, "down")
			start()
			Expect(deleteBastion()).To(MatchError(ContainSubstring("down")))
			Expect(cloud.deleted).To(HaveLen(1))
		})

		It("should come back soon while the bastion is being deleted", func() {
			cloud.deleteErr = platform.NewProgress("server is being deleted")
			start()
			var soon *reconcilerutils.RequeueAfterError
			Expect(errors.As(deleteBastion(), &soon)).To(BeTrue())
		})

		DescribeTable("should have nothing to do", func(change func()) {
			change()
			start()
			Expect(deleteBastion()).To(Succeed())
			Expect(cloud.deleted).To(BeEmpty())
		},
			Entry("if nothing was created", func() { b.Status.ProviderStatus = nil }),
			Entry("without an Infrastructure, which took it along", func() { objects = objects[1:] }),
			Entry("if the shoot no longer has the site", func() {
				config.Sites, profile.Sites = config.Sites[:2], profile.Sites[:2]
			}),
		)

		It("should let go if it is forced, and tell what may be left", func() {
			cloud.deleteErr = platform.NewError(platform.ClassForbidden, "refused")
			start()
			Expect(deleteBastion()).To(haveCode(gardencorev1beta1.ErrorInfraUnauthorized))
			Expect(a.ForceDelete(ctx, logr.Discard(), b, cluster)).To(Succeed())
			Expect(recorder.Events).To(Receive(And(ContainSubstring("BastionLeft"), ContainSubstring("refused"))))
		})

		It("should let go of a bastion whose Secret is gone if it is forced", func() {
			objects = objects[:1]
			start()
			Expect(deleteBastion()).NotTo(Succeed())
			Expect(a.ForceDelete(ctx, logr.Discard(), b, cluster)).To(Succeed())
			Expect(recorder.Events).To(Receive(ContainSubstring("BastionLeft")))
		})
	})
})

var _ = Describe("Names", func() {
	It("should be host names that differ", func() {
		Expect(nameOf("shoot--a--b", "cli-x")).To(Equal("shoot--a--b-bastion-cli-x"))
		long := strings.Repeat("x", 60)
		Expect(nameOf("shoot--a--b", long)).To(And(HaveLen(63), HavePrefix("shoot--a--b-bastion-xxx"),
			Not(Equal(nameOf("shoot--a--b", long+"y")))))
	})
})

var _ = Describe("Reconciliations that succeeded in part", func() {
	DescribeTable("should be repeated", func(ctx SpecContext, ask bool, err error, expected reconcile.Result) {
		inner := reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			if ask {
				repeat(ctx)
			}
			return reconcile.Result{}, err
		})
		result, got := repeating{inner}.Reconcile(ctx, reconcile.Request{})
		Expect(result).To(Equal(expected))
		if err == nil {
			Expect(got).NotTo(HaveOccurred())
		} else {
			Expect(got).To(BeIdenticalTo(err))
		}
	},
		Entry("if the actuator asks for it", true, nil, reconcile.Result{RequeueAfter: repeatInterval}),
		Entry("not if it does not", false, nil, reconcile.Result{}),
		Entry("not beside the back-off", true, fmt.Errorf("failed"), reconcile.Result{}),
	)
})
