// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"context"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	"github.com/gardener/gardener/extensions/pkg/controller/infrastructure"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	controller "github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/extension"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/hybridctl"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
)

const (
	publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ6rTGQzUbvFOdK0fEvhOE3uJBVBnN1ZKsiWXAtKhVDp shoot"
	// timeout limits a plan or a reconciliation.
	timeout = 2 * time.Minute
)

// shoot is a shoot with sites in a real OpenStack and a simulated vCenter.
type shoot struct {
	name    string
	profile *v1alpha1.CloudProfileConfig
	config  *v1alpha1.InfrastructureConfig
	key     string
	deleted bool

	client   client.Client
	actuator infrastructure.Actuator
}

// newShoot returns a shoot with the sites cloud and vc. The CloudProfile has another site, east.
func newShoot() *shoot {
	s := &shoot{
		name: "shoot--it--" + rand.String(5),
		key:  publicKey,
		profile: &v1alpha1.CloudProfileConfig{Sites: []v1alpha1.CloudProfileSite{
			openStackSite("cloud", 0), openStackSite("east", 1),
			{
				Name: "vc", Region: "west", TLS: &v1alpha1.TLS{CACert: authority.PEM},
				VSphere: &v1alpha1.VSphereProfile{Server: proxies[1].URL(vcenterService), Datacenter: "DC0", Folder: "gardener"},
				Zones:   []v1alpha1.SiteZone{vSphereZone("vc-a", "DC0", "DC0_C0")},
			},
		}},
		config: &v1alpha1.InfrastructureConfig{
			Networks: v1alpha1.Networks{Topology: v1alpha1.TopologyRouted},
			Sites: []v1alpha1.InfrastructureSite{
				{Name: "cloud", Nodes: []string{"10.250.0.0/18"}, DNSServers: []string{"192.0.2.53"},
					OpenStack: &v1alpha1.OpenStackInfrastructure{FloatingPoolName: "public"}},
				{Name: "vc", Nodes: []string{"10.250.64.0/18"}},
			},
		},
	}
	data := map[string][]byte{"vc.username": []byte(vcenter.Username), "vc.password": []byte(vcenter.Password)}
	for i, name := range []string{"cloud", "east"} {
		for key, value := range credentials[i].SiteCredentials() {
			data[name+"."+key] = []byte(value)
		}
	}
	infra := &extensionsv1alpha1.Infrastructure{
		ObjectMeta: metav1.ObjectMeta{Name: "it", Namespace: s.name},
		Spec: extensionsv1alpha1.InfrastructureSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: v1alpha1.ProviderType},
			Region:      "west", SecretRef: corev1.SecretReference{Namespace: s.name, Name: "cloudprovider"},
		},
	}
	s.client = fake.NewClientBuilder().WithScheme(landscape.Scheme).WithStatusSubresource(infra).WithObjects(infra,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.name, Name: "cloudprovider"}, Data: data}).Build()
	s.actuator = controller.NewActuator(s.client, s.client, &events.FakeRecorder{}, extension.Infrastructures())
	return s
}

func openStackSite(name string, project int) v1alpha1.CloudProfileSite {
	return v1alpha1.CloudProfileSite{
		Name: name, Region: "west",
		OpenStack: &v1alpha1.OpenStackProfile{
			AuthURL: proxies[0].Rewrite(credentials[project].AuthURL), Region: credentials[project].Region,
			FloatingPools: []v1alpha1.OpenStackFloatingPool{{Name: "public"}},
		},
		Zones: []v1alpha1.SiteZone{{Name: name + "-a", OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: "az1"}}},
	}
}

func vSphereZone(name, datacenter, cluster string) v1alpha1.SiteZone {
	return v1alpha1.SiteZone{Name: name, VSphere: &v1alpha1.VSphereZone{
		Datacenter: datacenter, ComputeCluster: cluster, Datastore: "LocalDS_0", Network: "VM Network",
	}}
}

// site returns the configuration of a site.
func (s *shoot) site(name string) *v1alpha1.InfrastructureSite {
	return lists.Find(s.config.Sites, func(c *v1alpha1.InfrastructureSite) bool { return c.Name == name })
}

// siteProfile returns a site of the CloudProfile.
func (s *shoot) siteProfile(name string) *v1alpha1.CloudProfileSite {
	return lists.Find(s.profile.Sites, func(c *v1alpha1.CloudProfileSite) bool { return c.Name == name })
}

// cluster returns the Cluster as the controllers see it.
func (s *shoot) cluster() *extensionscontroller.Cluster {
	GinkgoHelper()
	profile, err := codec.Encode(s.profile)
	Expect(err).NotTo(HaveOccurred())
	config, err := codec.Encode(s.config)
	Expect(err).NotTo(HaveOccurred())
	cluster := &extensionscontroller.Cluster{
		ObjectMeta:   metav1.ObjectMeta{Name: s.name},
		CloudProfile: &gardencorev1beta1.CloudProfile{Spec: gardencorev1beta1.CloudProfileSpec{ProviderConfig: profile}},
		Shoot: &gardencorev1beta1.Shoot{
			ObjectMeta: metav1.ObjectMeta{Name: "it"},
			Spec: gardencorev1beta1.ShootSpec{
				Region: "west",
				Provider: gardencorev1beta1.Provider{Type: v1alpha1.ProviderType, InfrastructureConfig: config,
					Workers: []gardencorev1beta1.Worker{{Name: "pool", Zones: []string{"cloud-a"}}}},
				Networking: &gardencorev1beta1.Networking{Pods: new("100.96.0.0/11"), Services: new("100.64.0.0/13")},
			},
			Status: gardencorev1beta1.ShootStatus{TechnicalID: s.name},
		},
	}
	if s.deleted {
		cluster.Shoot.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	}
	return cluster
}

// infrastructure returns the Infrastructure as gardenlet writes it.
func (s *shoot) infrastructure(ctx context.Context) *extensionsv1alpha1.Infrastructure {
	GinkgoHelper()
	infra := &extensionsv1alpha1.Infrastructure{}
	Expect(s.client.Get(ctx, client.ObjectKey{Namespace: s.name, Name: "it"}, infra)).To(Succeed())
	infra.Spec.ProviderConfig, infra.Spec.SSHPublicKey = s.cluster().Shoot.Spec.Provider.InfrastructureConfig, []byte(s.key)
	Expect(s.client.Update(ctx, infra)).To(Succeed())
	return infra
}

// state returns the state of a site.
func (s *shoot) state(ctx context.Context, name string) *v1alpha1.SiteState {
	GinkgoHelper()
	state, err := codec.Decode[v1alpha1.InfrastructureState](s.infrastructure(ctx).Status.State)
	Expect(err).NotTo(HaveOccurred())
	return lists.Find(state.Sites, func(c *v1alpha1.SiteState) bool { return c.Name == name })
}

// loseState removes the state and the status of all sites.
func (s *shoot) loseState(ctx context.Context) {
	GinkgoHelper()
	infra := s.infrastructure(ctx)
	infra.Status = extensionsv1alpha1.InfrastructureStatus{}
	Expect(s.client.Status().Update(ctx, infra)).To(Succeed())
}

// plan plans the next reconciliation or the deletion, which must change nothing.
func (s *shoot) plan(ctx context.Context) []v1alpha1.SitePlan {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	secret := &corev1.Secret{}
	Expect(s.client.Get(ctx, client.ObjectKey{Namespace: s.name, Name: "cloudprovider"}, secret)).To(Succeed())
	label := newLabel("plan")
	platforms := hybridctl.Rehearse()
	plan, err := controller.NewPlan(ctx, controller.PlanRequest{
		Cluster: s.cluster(), Infrastructure: s.infrastructure(ctx), Secret: secret, Machines: s.client, Rehearsal: platforms,
	})
	platforms.Close()
	Expect(err).NotTo(HaveOccurred())
	Expect(plan.Err).NotTo(HaveOccurred())
	Expect(countedWrites(label)).To(BeEmpty(), "a plan changes nothing")
	for _, site := range plan.Sites {
		Expect(site.Error).To(BeEmpty())
	}
	return plan.Sites
}

// reconcile reconciles or deletes the Infrastructure, and returns the requests that changed something.
func (s *shoot) reconcile(ctx context.Context) []string {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	label, act := newLabel("reconcile"), s.actuator.Reconcile
	if s.deleted {
		act = s.actuator.Delete
	}
	Expect(act(ctx, logr.Discard(), s.infrastructure(ctx), s.cluster())).To(Succeed())
	return countedWrites(label)
}

// newLabel makes the proxies label requests from now on.
func newLabel(name string) string {
	name += "-" + rand.String(8)
	for _, proxy := range proxies {
		proxy.SetLabel(name)
	}
	return name
}
