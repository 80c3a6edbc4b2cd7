// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/gardener/gardener-extension-provider-hybrid/charts"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("What a shoot gets", func() {
	var f *fixture

	BeforeEach(func() { f = newFixture() })

	siteNames := func(p *plan) []string {
		var names []string
		for _, s := range p.controllers.Sites {
			names = append(names, s.Name)
		}
		return names
	}
	storedSites := func(fp *fakePlatform) []string {
		var names []string
		for _, s := range fp.stored {
			names = append(names, s.Site.Name)
		}
		return names
	}

	It("should be cloud controllers of all sites, and storage of those that are used", func(ctx SpecContext) {
		f.zones = []string{"cloud-a"}
		p, err := f.plan(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(p.controllers).To(And(HaveField("Shoot", namespace), HaveField("Region", "west"), HaveField("DefaultSite", "cloud")))
		Expect(siteNames(p)).To(Equal([]string{"cloud", "cloud2", "racks"}))
		Expect(p.controllers.Sites[0].CSIDrivers).To(Equal([]string{"cinder.example.com"}))
		Expect(p.controllers.Sites[1].CSIDrivers).To(BeEmpty(), "it has no nodes that need the driver")
		Expect(p.controllers.Sites[0].OpenStack.LoadBalancer.Provider).To(Equal("amphora"), "defaults are set")
		Expect(storedSites(f.openStack)).To(Equal([]string{"cloud"}))
		Expect(f.openStack.stored[0].Site.Credentials).To(HaveKeyWithValue("password", "secret"))
		Expect(f.metal.stored).To(BeNil())
		Expect(p.storages).To(HaveLen(1))
	})

	It("should have a further storage driver, which nodes do not wait for and whose class is never the default", func(ctx SpecContext) {
		f.openStack.further = &platform.Storage{CSIDriver: "further.example.com", Classes: []platform.StorageClass{
			{Name: "shares", Site: "cloud", SiteDefault: true, NeverDefault: true}}}
		p, err := f.plan(ctx)
		Expect(err).NotTo(HaveOccurred())
		var names []string
		for _, s := range p.storages {
			names = append(names, s.chart.Name)
		}
		Expect(names).To(ContainElements("csi-openstack", "csi-further"))
		Expect(p.controllers.Sites[0].CSIDrivers).To(Equal([]string{"cinder.example.com"}))
		Expect(p.storageClassesValues().StorageClasses).To(ContainElements(
			And(HaveField("Name", "fast"), HaveField("Default", true)), And(HaveField("Name", "shares"), HaveField("Default", false))))
		values, err := p.configValues()
		Expect(err).NotTo(HaveOccurred())
		Expect(values.Secrets).NotTo(HaveKey("csi-further-config"))
		Expect(StorageDeployments(f.platforms())).To(ContainElement("csi-further-controller"))
	})

	It("should be storage of a site whose pools are gone but whose machines are not", func(ctx SpecContext) {
		f.zones = []string{"cloud-a"}
		f.leave("cloud2", "racks")
		p, err := f.plan(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(storedSites(f.openStack)).To(Equal([]string{"cloud", "cloud2"}))
		Expect(storedSites(f.metal)).To(Equal([]string{"racks"}))
		Expect(p.controllers.Sites[2].CSIDrivers).To(BeEmpty(), "the driver of the platform is no CSI driver")
	})

	It("should be storage of the sites of pools alone in a cluster without the API of machines", func(ctx SpecContext) {
		f.zones = []string{"cloud-a"}
		f.functions.List = func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*corev1.SecretList); ok {
				return c.List(ctx, list, opts...)
			}
			return &meta.NoKindMatchError{}
		}
		_, err := f.plan(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(storedSites(f.openStack)).To(Equal([]string{"cloud"}))
		Expect(storedSites(f.metal)).To(BeEmpty())
	})

	It("should be storage of a site that once had nodes, as long as the Shoot lists it", func(ctx SpecContext) {
		f.zones = []string{"cloud-a", "cloud2-a"}
		p, err := f.plan(ctx)
		Expect(err).NotTo(HaveOccurred())
		f.cp.Status.State = raw(p.state)

		f.zones = []string{"cloud-a"}
		p, err = f.plan(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(storedSites(f.openStack)).To(Equal([]string{"cloud", "cloud2"}))
		f.cp.Status.State = raw(p.state)

		f.infrastructure.Sites = slices.DeleteFunc(f.infrastructure.Sites, func(s v1alpha1.InfrastructureSite) bool { return s.Name == "cloud2" })
		_, err = f.plan(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(storedSites(f.openStack)).To(Equal([]string{"cloud"}))
	})

	It("should be nothing for a platform that has no storage", func(ctx SpecContext) {
		f.openStack.noStorage = true
		p, err := f.plan(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(p.storages).To(HaveLen(1))
		Expect(p.storages[0].platform).To(Equal(v1alpha1.PlatformMetal))
		Expect(p.hasCSI()).To(BeFalse())
	})

	It("should take the only site for the default site", func(ctx SpecContext) {
		f.infrastructure.Sites, f.config.DefaultSite = f.infrastructure.Sites[1:2], ""
		f.zones = []string{"cloud2-a"}
		p, err := f.plan(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(p.defaultSite).To(Equal("cloud2"))
		Expect(p.controllers.DefaultSite).To(Equal("cloud2"))
	})

	It("should wait for a site that is not ready only if something is to be there", func(ctx SpecContext) {
		f.status.Sites = f.status.Sites[1:]
		_, err := f.plan(ctx)
		Expect(err).To(MatchError(`site "cloud": the site is not in the status of the Infrastructure`))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))

		f.zones = []string{"racks-a"}
		p, err := f.plan(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(siteNames(p)).To(Equal([]string{"cloud2", "racks"}))
		Expect(p.controllers.DefaultSite).To(BeEmpty(), "the configuration must name a site that is in it")

		f.cp.Status.State = nil
		f.status = &v1alpha1.InfrastructureStatus{}
		f.zones = nil
		p, err = f.plan(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(p.controllers.Sites).To(BeEmpty())
	})

	Describe("with sites that something was deployed for", func() {
		BeforeEach(func(ctx SpecContext) {
			f.config.Sites = []v1alpha1.ControlPlaneSite{{Name: "racks", LoadBalancer: &v1alpha1.SiteLoadBalancer{MetalLB: &v1alpha1.MetalLB{
				AddressPools: []v1alpha1.MetalLBAddressPool{{Name: "a", CIDRs: []string{"10.250.2.240/28"},
					Advertisement: v1alpha1.MetalLBAdvertisementL2}},
			}}}}
			p, err := f.plan(ctx)
			Expect(err).NotTo(HaveOccurred())
			f.cp.Status.State = raw(p.state)
		})

		It("should stay for a site that lost its status", func(ctx SpecContext) {
			f.status = &v1alpha1.InfrastructureStatus{}
			p, err := f.plan(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(siteNames(p)).To(Equal([]string{"cloud", "cloud2", "racks"}))
			Expect(p.controllers.Sites[0].OpenStack.LoadBalancer.SubnetID).To(Equal(subnetID))
		})

		It("should stay for a site that the CloudProfile lost", func(ctx SpecContext) {
			f.profile.Sites = f.profile.Sites[1:]
			p, err := f.plan(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(siteNames(p)).To(Equal([]string{"cloud", "cloud2", "racks"}))
			Expect(storedSites(f.openStack)).To(Equal([]string{"cloud", "cloud2"}))
		})

		DescribeTable("should stay for a site that the Shoot lost while it has machines", func(ctx SpecContext, deployment, machine string) {
			f.infrastructure.Sites, f.status.Sites = f.infrastructure.Sites[:2], f.status.Sites[:2]
			f.config.Sites, f.zones = nil, []string{"cloud-a", "cloud2-a"}
			f.leave(deployment, machine)
			p, err := f.plan(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(siteNames(p)).To(Equal([]string{"cloud", "cloud2", "racks"}))
			Expect(storedSites(f.metal)).To(Equal([]string{"racks"}))
			Expect(p.metalLB().Sites).To(HaveExactElements(HaveField("Name", "racks")), "its load balancers stay, too")
			Expect(p.state.Sites).To(HaveLen(3))
		},
			Entry("a machine deployment", "racks", ""),
			Entry("a machine", "", "racks"),
		)

		It("should stay for a site that everybody lost while it has machines", func(ctx SpecContext) {
			f.infrastructure.Sites, f.status.Sites, f.profile.Sites = f.infrastructure.Sites[:2], f.status.Sites[:2], f.profile.Sites[:2]
			f.config.Sites, f.zones = nil, []string{"cloud-a", "cloud2-a"}
			f.leave("racks", "")
			p, err := f.plan(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(siteNames(p)).To(Equal([]string{"cloud", "cloud2", "racks"}))
		})

		It("should go for a site that the Shoot lost and that has no machines", func(ctx SpecContext) {
			f.infrastructure.Sites, f.status.Sites = f.infrastructure.Sites[:2], f.status.Sites[:2]
			f.config.Sites, f.zones, f.metal.stored = nil, []string{"cloud-a", "cloud2-a"}, nil
			p, err := f.plan(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(siteNames(p)).To(Equal([]string{"cloud", "cloud2"}))
			Expect(f.metal.stored).To(BeEmpty())
			Expect(p.state.Sites).To(HaveLen(2))
			Expect(p.metalLB()).To(BeNil())
		})
	})

	DescribeTable("should be nothing at all if something is wrong",
		func(ctx SpecContext, change func(*fixture), class platform.Class, messages ...string) {
			change(f)
			_, err := f.plan(ctx)
			Expect(err).To(HaveOccurred())
			Expect(platform.ClassOf(err)).To(Equal(class))
			for _, message := range messages {
				Expect(err).To(MatchError(ContainSubstring(message)))
			}
			Expect(err.Error()).NotTo(ContainSubstring("secret\""))
		},
		Entry("site of a pool that the CloudProfile never had", func(f *fixture) { f.profile.Sites = f.profile.Sites[1:] },
			platform.ClassConfiguration, `site "cloud"`),
		Entry("cloud controllers of two sites", func(f *fixture) {
			f.openStack.controllerErr["cloud"] = platform.NewError(platform.ClassConfiguration, "no subnet")
			f.metal.controllerErr["racks"] = platform.NewError(platform.ClassConfiguration, "no zone")
		}, platform.ClassConfiguration, `site "cloud": no subnet`, `site "racks": no zone`),
		Entry("a site that cannot be reached as the CloudProfile says", func(f *fixture) { f.profile.Sites[1].OpenStack.AuthURL = "a" },
			platform.ClassConfiguration, `site "cloud2"`, "cloudProfileConfig.sites[cloud2].openstack.authURL"),
		Entry("storage", func(f *fixture) {
			f.openStack.storageErr = platform.InSite("cloud", platform.NewError(platform.ClassConfiguration, "no type"))
		}, platform.ClassConfiguration, `site "cloud": no type`),
		Entry("default site", func(f *fixture) { f.config.DefaultSite = "vc" }, platform.ClassConfiguration, "spec.providerConfig.defaultSite"),
		Entry("no default site", func(f *fixture) { f.config.DefaultSite = "" }, platform.ClassConfiguration, "spec.providerConfig.defaultSite"),
		Entry("no Secret", func(f *fixture) { f.cp.Spec.SecretRef.Name = "other" }, platform.ClassTransient, "spec.secretRef"),
		Entry("state", func(f *fixture) { f.cp.Status.State = &runtime.RawExtension{Raw: []byte(`{"kind":"Other"}`)} },
			platform.ClassConfiguration, "status.state"),
		Entry("machines that cannot be seen", func(f *fixture) {
			f.functions.List = func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
				return errors.New("apiserver is away")
			}
		}, platform.ClassTransient, "looking for machines", "apiserver is away"),
	)

	It("should tell of documents that cannot be read", func(ctx SpecContext) {
		cluster := f.cluster()
		cluster.CloudProfile.Spec.ProviderConfig = &runtime.RawExtension{Raw: []byte(`{}`)}
		cluster.Shoot.Spec.Provider.InfrastructureConfig = nil
		_, err := f.planner().plan(ctx, f.cp, cluster)
		Expect(err).To(MatchError(And(ContainSubstring("CloudProfile spec.providerConfig: "),
			ContainSubstring("infrastructureConfig of the Shoot: "))))
		cluster.Shoot = nil
		_, err = f.planner().plan(ctx, f.cp, cluster)
		Expect(err).To(MatchError("the Cluster has no CloudProfile or no Shoot"))
	})

	Describe("and the actuator", func() {
		var (
			generic  *genericActuator
			recorder *events.FakeRecorder
			a        *actuator
			log      = GinkgoLogr
		)
		prepare := func() {
			p := f.planner()
			generic = &genericActuator{}
			recorder = events.NewFakeRecorder(10)
			a = &actuator{Actuator: generic, clock: clock.RealClock{}, client: f.client, events: eventnote.Writer{EventRecorder: recorder},
				planner: p}
		}

		It("should remember what is deployed before it is", func(ctx SpecContext) {
			prepare()
			requeue, err := a.Reconcile(ctx, log, f.cp, f.cluster())
			Expect(err).NotTo(HaveOccurred())
			Expect(requeue).To(BeTrue())
			Expect(generic.plan).NotTo(BeNil())

			stored := &extensionsv1alpha1.ControlPlane{}
			Expect(f.client.Get(ctx, client.ObjectKeyFromObject(f.cp), stored)).To(Succeed())
			state, err := codec.Decode[v1alpha1.ControlPlaneState](stored.Status.State)
			Expect(err).NotTo(HaveOccurred())
			Expect(state.Sites).To(HaveExactElements(HaveField("Name", "cloud"), HaveField("Name", "cloud2"), HaveField("Name", "racks")))
			Expect(string(stored.Status.State.Raw)).NotTo(ContainSubstring("secret"))

			_, err = a.Restore(ctx, log, f.cp, f.cluster())
			Expect(err).NotTo(HaveOccurred())
			after := &extensionsv1alpha1.ControlPlane{}
			Expect(f.client.Get(ctx, client.ObjectKeyFromObject(f.cp), after)).To(Succeed())
			Expect(after.ResourceVersion).To(Equal(stored.ResourceVersion), "nothing is written if nothing changed")
			Expect(generic.called).To(Equal([]string{"reconcile", "restore"}))
		})

		It("should apply nothing that it cannot remember", func(ctx SpecContext) {
			f.functions = interceptor.Funcs{SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch,
				...client.SubResourcePatchOption) error {
				return errors.New("apiserver is away")
			}}
			prepare()
			_, err := a.Reconcile(ctx, log, f.cp, f.cluster())
			Expect(err).To(MatchError(ContainSubstring("writing the state of the ControlPlane: apiserver is away")))
			Expect(generic.called).To(BeEmpty())
		})

		DescribeTable("should keep a site with a mistake as it was, say what is wrong, and give the others what they shall have",
			func(ctx SpecContext, change, takeBack func(), message string) {
				prepare()
				_, err := a.Reconcile(ctx, log, f.cp, f.cluster())
				Expect(err).NotTo(HaveOccurred())

				change()
				f.profile.Sites[1].Zones[0].OpenStack.AvailabilityZone = "other"
				f.config.CloudControllerManager = &v1alpha1.CloudControllerManagerConfig{FeatureGates: map[string]bool{"A": true}}
				prepare()
				_, err = a.Reconcile(ctx, log, f.cp, f.cluster())
				Expect(err).NotTo(HaveOccurred())
				Expect(siteNames(generic.plan)).To(Equal([]string{"cloud", "cloud2", "racks"}))
				Expect(generic.plan.controllers.Sites[0].OpenStack).To(And(
					HaveField("LoadBalancer.SubnetID", subnetID), HaveField("Zones", ConsistOf(HaveField("AvailabilityZone", "nova")))))
				Expect(generic.plan.controllers.Sites[1].OpenStack.Zones).To(ConsistOf(HaveField("AvailabilityZone", "other")))
				Expect(generic.plan.featureGates()).To(ConsistOf("A=true"))
				Expect(told(recorder)).To(ConsistOf(HavePrefix("Warning SiteFailed " + message)))
				Expect(f.cp.Status.Conditions).To(ConsistOf(And(
					HaveField("Type", gardencorev1beta1.ConditionType(v1alpha1.ConditionSitesReconciled)), HaveField("Status",
						gardencorev1beta1.ConditionFalse),
					HaveField("Message", HavePrefix(message)), HaveField("Codes", ConsistOf(gardencorev1beta1.ErrorConfigurationProblem)))))
				Expect(generic.plan.state.Sites[0].Profile.Zones[0].OpenStack.AvailabilityZone).To(Equal("nova"),
					"the mistake is not what was last known")

				takeBack()
				prepare()
				_, err = a.Reconcile(ctx, log, f.cp, f.cluster())
				Expect(err).NotTo(HaveOccurred())
				Expect(generic.plan.controllers.Sites[0].OpenStack.Zones).To(ConsistOf(HaveField("AvailabilityZone", "nova")))
				Expect(f.cp.Status.Conditions).To(BeEmpty())
			},
			Entry("in the CloudProfile", func() {
				f.profile.Sites[0].OpenStack.AuthURL, f.profile.Sites[0].Zones[0].OpenStack.AvailabilityZone = "mistake", "mistake"
			}, func() {
				f.profile.Sites[0].OpenStack.AuthURL, f.profile.Sites[0].Zones[0].OpenStack.AvailabilityZone = "https://cloud.example.com/v3", "nova"
			}, `site "cloud": cloudProfileConfig.sites[cloud].openstack.authURL: Invalid value`),
			Entry("in the settings", func() {
				f.config.Sites = []v1alpha1.ControlPlaneSite{{Name: "cloud", LoadBalancer: &v1alpha1.SiteLoadBalancer{MetalLB: &v1alpha1.MetalLB{}}}}
			}, func() { f.config.Sites = nil }, `site "cloud": spec.providerConfig.sites[0].loadBalancer.metalLB: Forbidden`),
			Entry("in the status of the Infrastructure", func() { f.status.Sites[0].OpenStack.SubnetID = "" },
				func() { f.status.Sites[0].OpenStack.SubnetID = subnetID }, `site "cloud": no subnet`),
		)

		Describe("with credentials of a site that cannot be used", func() {
			deploy := func(files map[string][]byte) {
				f.objects = []client.Object{&corev1.Secret{
					ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "csi-openstack-config",
						Labels: map[string]string{charts.LabelStorageConfig: "true"}}, Data: files}}
			}
			reconcile := func(ctx context.Context) {
				GinkgoHelper()
				prepare()
				_, err := a.Reconcile(ctx, log, f.cp, f.cluster())
				Expect(err).NotTo(HaveOccurred())
			}
			const message = `site "cloud": credentials: key "password" is missing`
			tells := func() {
				GinkgoHelper()
				Expect(told(recorder)).To(ConsistOf("Warning SiteFailed " + message))
				Expect(f.cp.Status.Conditions).To(ConsistOf(And(
					HaveField("Type", gardencorev1beta1.ConditionType(v1alpha1.ConditionSitesReconciled)), HaveField("Status",
						gardencorev1beta1.ConditionFalse),
					HaveField("Message", message), HaveField("Codes", ConsistOf(gardencorev1beta1.ErrorConfigurationProblem)))))
			}

			It("should keep what is deployed for it, say what is wrong, and give the others what they shall have", func(ctx SpecContext) {
				reconcile(ctx)
				deploy(map[string][]byte{"cloud.conf": []byte("old")})
				f.openStack.credentialsErr["cloud"] = platform.NewError(platform.ClassConfiguration, `credentials: key "password" is missing`)
				f.profile.Sites[1].Zones[0].OpenStack.AvailabilityZone = "other"
				f.profile.Sites[2].StorageClasses[0].Name = "renamed"
				reconcile(ctx)
				Expect(siteNames(generic.plan)).To(Equal([]string{"cloud", "cloud2", "racks"}))
				Expect(generic.plan.controllers.Sites[1].OpenStack.Zones).To(ConsistOf(HaveField("AvailabilityZone", "other")))
				Expect(generic.plan.controllers.Sites[0].CSIDrivers).To(Equal([]string{"cinder.example.com"}))
				Expect(generic.plan.storages).To(HaveLen(2))
				Expect(generic.plan.storageClassesValues().StorageClasses).To(ContainElements(HaveField("Name", "slow"), HaveField("Name", "other"),
					HaveField("Name", "renamed")))
				values, err := generic.plan.configValues()
				Expect(err).NotTo(HaveOccurred())
				Expect(values.Secrets).To(HaveKeyWithValue("csi-openstack-config", map[string]string{"cloud.conf": "old"}))
				Expect(generic.plan.state.Sites).To(HaveLen(3))
				tells()

				f.openStack.credentialsErr = nil
				reconcile(ctx)
				Expect(f.cp.Status.Conditions).To(BeEmpty())
			})

			It("should deploy the rest if nothing is deployed yet", func(ctx SpecContext) {
				f.openStack.credentialsErr["cloud"] = platform.NewError(platform.ClassConfiguration, `credentials: key "password" is missing`)
				reconcile(ctx)
				Expect(siteNames(generic.plan)).To(Equal([]string{"cloud", "cloud2", "racks"}))
				Expect(generic.plan.storages).To(HaveLen(2))
				tells()
			})

			It("should tell of a mistake in the settings of another site, too", func(ctx SpecContext) {
				reconcile(ctx)
				f.openStack.credentialsErr["cloud"] = platform.NewError(platform.ClassConfiguration, `credentials: key "password" is missing`)
				f.status.Sites[1].OpenStack.SubnetID = ""
				reconcile(ctx)
				Expect(told(recorder)).To(ConsistOf("Warning SiteFailed "+message, HavePrefix(`Warning SiteFailed site "cloud2": `)))
			})

			It("should apply nothing if those of no site can be used", func(ctx SpecContext) {
				f.secret.Data = map[string][]byte{"cloud.username": []byte("user"), "cloud2.applicationCredentialID": []byte("id\n")}
				prepare()
				_, err := a.Reconcile(ctx, log, f.cp, f.cluster())
				Expect(err).To(MatchError(And(
					ContainSubstring(`site "cloud": credentials: key "domainName" is missing`),
					ContainSubstring(`site "cloud2": credentials: key "applicationCredentialID" must be text`),
					ContainSubstring(`site "racks": credentials: key "token" is missing`))))
				Expect(errorcodes.Codes(err)).To(ConsistOf(gardencorev1beta1.ErrorConfigurationProblem))
				Expect(generic.called).To(BeEmpty())
			})

			It("should apply nothing if what is deployed cannot be read", func(ctx SpecContext) {
				f.functions.List = func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
					if _, ok := list.(*corev1.SecretList); ok {
						return errors.New("apiserver is away")
					}
					return c.List(ctx, list, opts...)
				}
				prepare()
				_, err := a.Reconcile(ctx, log, f.cp, f.cluster())
				Expect(err).To(MatchError("reading the deployed configuration: apiserver is away"))
				Expect(generic.called).To(BeEmpty())
			})
		})

		It("should apply nothing if there is no plan, and say what is wrong", func(ctx SpecContext) {
			f.openStack.controllerErr["cloud"] = platform.NewError(platform.ClassConfiguration, "no subnet")
			prepare()
			_, err := a.Reconcile(ctx, log, f.cp, f.cluster())
			Expect(err).To(MatchError(ContainSubstring(`site "cloud": no subnet`)))
			Expect(errorcodes.Codes(err)).To(ConsistOf(gardencorev1beta1.ErrorConfigurationProblem))
			Expect(generic.called).To(BeEmpty())
		})

		It("should tell of each site that there is no plan for, and of what is wrong beside them", func(ctx SpecContext) {
			f.openStack.controllerErr["cloud"] = platform.NewError(platform.ClassConfiguration, "no subnet")
			f.metal.controllerErr["racks"] = errors.Join(errors.New("no host"), errors.New("no route"))
			f.openStack.storageErr = errors.Join(errors.New("no volumes"), platform.InSite("cloud", errors.New("no types")))
			prepare()
			_, err := a.Reconcile(ctx, log, f.cp, f.cluster())
			Expect(err).To(HaveOccurred())
			Expect(told(recorder)).To(Equal([]string{
				"Warning ControlPlaneFailed no volumes",
				"Warning SiteFailed site \"cloud\": no types\nsite \"cloud\": no subnet",
				"Warning SiteFailed site \"racks\": no host\nsite \"racks\": no route",
			}))
		})

		It("should tell of sites that are left out", func(ctx SpecContext) {
			f.zones = []string{"cloud-a", "cloud2-a"}
			f.status.Sites = f.status.Sites[:2]
			prepare()
			_, err := a.Reconcile(ctx, log, f.cp, f.cluster())
			Expect(err).NotTo(HaveOccurred())
			Expect(told(recorder)).To(ConsistOf(HavePrefix(`Warning SiteLeftOut site "racks" has no cloud controllers yet`)))
		})

		It("should remove what is deployed with and without a plan", func(ctx SpecContext) {
			prepare()
			Expect(a.Delete(ctx, log, f.cp, f.cluster())).To(Succeed())
			Expect(generic.plan).NotTo(BeNil())
			Expect(told(recorder)).To(BeEmpty())
			f.openStack.controllerErr["cloud"] = platform.NewError(platform.ClassConfiguration, "no subnet")
			Expect(a.Delete(ctx, log, f.cp, f.cluster())).To(Succeed())
			Expect(a.ForceDelete(ctx, log, f.cp, f.cluster())).To(Succeed())
			Expect(a.Migrate(ctx, log, f.cp, f.cluster())).To(Succeed())
			Expect(generic.plan).To(BeNil())
			Expect(generic.called).To(Equal([]string{"delete", "delete", "force-delete", "migrate"}))
			Expect(told(recorder)).To(HaveLen(3))
			generic.called = nil
			generic.err = errors.New("not yet")
			Expect(a.Delete(ctx, log, f.cp, f.cluster())).To(MatchError("not yet"))
		})
	})
})
