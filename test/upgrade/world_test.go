// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/worker"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/driver"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/extension"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/openstackstub"
)

const (
	technicalID  = "shoot--upgrade--v1"
	sshPublicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ6rTGQzUbvFOdK0fEvhOE3uJBVBnN1ZKsiWXAtKhVDp upgrade"
	userData     = "#!/bin/bash\n"
	// ignition is user data that IronCore takes.
	ignition = `{"ignition":{"version":"3.4.0"},"systemd":{"units":[{"name":"own.service"}]}}`
)

// world is a shoot on all platforms, made by the code of this tree.
type world struct {
	shoot   string
	profile *v1alpha1.CloudProfileConfig
	config  *v1alpha1.InfrastructureConfig
	secret  map[string][]byte
	sites   []site.Site
	state   *v1alpha1.InfrastructureState
	status  *v1alpha1.InfrastructureStatus
	// classes are the machine classes by their names.
	classes map[string]*machinev1alpha1.MachineClass
	// secrets are those of the machine classes.
	secrets map[string]*corev1.Secret
	// deployments are the machine classes of the machine deployments.
	deployments map[string]string
	// made are the machines by the names of their machine deployments.
	made map[string]platform.Machine
}

func newProfile() *v1alpha1.CloudProfileConfig {
	metalSite := func(name string, inventory v1alpha1.MetalInventory) v1alpha1.CloudProfileSite {
		return v1alpha1.CloudProfileSite{
			Name: name, Region: "west", TLS: &v1alpha1.TLS{CACert: racks.CA()},
			Metal: &v1alpha1.MetalProfile{Inventory: inventory, Server: racks.Server(), Namespace: metal.Namespace},
			Zones: []v1alpha1.SiteZone{{Name: name + "-a",
				Metal: &v1alpha1.MetalZone{HostSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"rack": name}}}}},
		}
	}
	image := v1alpha1.MetalImage{URL: "http://images.example/os.raw", Checksum: "0123", ChecksumType: "sha256", Format: "raw"}
	config := &v1alpha1.CloudProfileConfig{
		Sites: []v1alpha1.CloudProfileSite{
			{
				Name: "cloud", Region: "west", DNSServers: []string{"192.0.2.53"},
				OpenStack: &v1alpha1.OpenStackProfile{
					AuthURL: cloud.AuthURL(), Region: openstackstub.Region,
					FloatingPools:       []v1alpha1.OpenStackFloatingPool{{Name: openstackstub.FloatingPool}},
					ServerGroupPolicies: []string{"soft-anti-affinity"},
				},
				StorageClasses: []v1alpha1.StorageClass{{Name: "cinder", Default: true, OpenStack: &v1alpha1.OpenStackStorageClass{Type: "ssd"}}},
				Zones:          []v1alpha1.SiteZone{{Name: "cloud-a", OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: "az1"}}},
			},
			{
				Name: "vc", Region: "west", TLS: &v1alpha1.TLS{CACert: vc.CA},
				VSphere: &v1alpha1.VSphereProfile{Server: "https://" + vc.Address, Datacenter: "DC0"},
				Zones: []v1alpha1.SiteZone{{Name: "vc-a",
					VSphere: &v1alpha1.VSphereZone{ComputeCluster: "DC0_C0", Datastore: "LocalDS_0", Network: "DC0_DVPG0"}}},
			},
			metalSite("racks", v1alpha1.MetalInventoryMetal3),
			metalSite("halls", v1alpha1.MetalInventoryIronCore),
		},
		MachineTypes: []v1alpha1.MachineType{{Name: "std", Sites: []v1alpha1.SiteMachineType{
			{Name: "cloud", OpenStack: &v1alpha1.OpenStackMachineType{Flavor: "m1.small"}},
			{Name: "vc", VSphere: &v1alpha1.VSphereMachineType{ExtraConfig: map[string]string{"sched.cpu.latencySensitivity": "normal"}}},
			{Name: "racks", Metal: &v1alpha1.MetalMachineType{}},
			{Name: "halls", Metal: &v1alpha1.MetalMachineType{}},
		}}},
		MachineImages: []v1alpha1.MachineImage{{Name: "gardenlinux",
			Versions: []v1alpha1.MachineImageVersion{{Version: "1.0.0", CapabilityFlavors: []v1alpha1.MachineImageFlavor{{
				Capabilities: map[string][]string{"architecture": {"amd64"}},
				Sites: []v1alpha1.SiteMachineImage{
					{Name: "cloud", OpenStack: &v1alpha1.OpenStackImage{ImageName: "gardenlinux"}},
					{Name: "vc", VSphere: &v1alpha1.VSphereImage{Template: vcenter.Template}},
					{Name: "racks", Metal: &image},
					{Name: "halls", Metal: &v1alpha1.MetalImage{URL: "oci://registry.example/os:1"}},
				},
			}}}}}},
	}
	v1alpha1.SetCloudProfileConfigDefaults(config)
	return config
}

func newConfig() *v1alpha1.InfrastructureConfig {
	return &v1alpha1.InfrastructureConfig{
		Networks: v1alpha1.Networks{Topology: v1alpha1.TopologyRouted},
		Sites: []v1alpha1.InfrastructureSite{
			{Name: "cloud", Nodes: []string{"10.250.0.0/22"},
				OpenStack: &v1alpha1.OpenStackInfrastructure{FloatingPoolName: openstackstub.FloatingPool}},
			{Name: "vc", Nodes: []string{"10.250.4.0/22"}},
			{Name: "racks", Nodes: []string{"10.250.8.0/22"}},
			{Name: "halls", Nodes: []string{"10.250.12.0/22"}},
		},
	}
}

// newWorld makes the infrastructure of a shoot, the machine classes of its pools and a machine of each.
func newWorld(ctx context.Context, shoot string) *world {
	GinkgoHelper()
	w := &world{
		shoot: shoot, profile: newProfile(), config: newConfig(), secret: map[string][]byte{},
		classes: map[string]*machinev1alpha1.MachineClass{}, secrets: map[string]*corev1.Secret{}, deployments: map[string]string{},
		made: map[string]platform.Machine{},
	}
	for name, credentials := range map[string]map[string]string{
		"cloud": {"domainName": "Default", "tenantName": shoot, "username": "upgrade", "password": "stub"},
		"vc":    {"username": vcenter.Username, "password": vcenter.Password},
		"racks": tokens, "halls": tokens,
	} {
		for key, value := range credentials {
			w.secret[name+"."+key] = []byte(value)
		}
	}
	w.makeInfrastructure(ctx)
	w.makeClasses(ctx)
	return w
}

func (w *world) makeInfrastructure(ctx context.Context) {
	GinkgoHelper()
	var err error
	w.sites, err = site.Resolve(site.Input{Shoot: w.shoot, Profile: w.profile, Config: w.config, Pods: []string{"100.96.0.0/11"},
		Secret: w.secret})
	Expect(err).NotTo(HaveOccurred())
	w.state, w.status = &v1alpha1.InfrastructureState{}, &v1alpha1.InfrastructureStatus{}
	for i := range w.sites {
		s := &w.sites[i]
		s.SSHPublicKey = []byte(sshPublicKey)
		if s.Name == "cloud" && *recordTo == "" {
			s.State = w.remakeKeyPair(ctx)
		}
		status, err := extension.Infrastructures()[s.Platform].Reconcile(ctx, s, func(_ context.Context, state *v1alpha1.SiteState) error {
			s.State = state.DeepCopy()
			return nil
		})
		Expect(err).NotTo(HaveOccurred(), s.Name)
		w.state.Sites = append(w.state.Sites, *s.State)
		w.status.Sites = append(w.status.Sites, *status)
	}
}

// pools are one on all sites, and one with all that rolls machines.
func pools() []extensionsv1alpha1.WorkerPool {
	pool := func(name string, zones ...string) extensionsv1alpha1.WorkerPool {
		return extensionsv1alpha1.WorkerPool{
			Name: name, MachineType: "std", MachineImage: extensionsv1alpha1.MachineImage{Name: "gardenlinux", Version: "1.0.0"},
			Maximum: int32(len(zones)), MaxSurge: intstr.FromInt32(1), Zones: zones, NodeAgentSecretName: new("gardener-node-agent-" + name),
			UserDataSecretRef: corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "user-data"}, Key: "cloud_config"},
		}
	}
	rich := pool("rich", "cloud-a", "vc-a")
	rich.ProviderConfig = raw(&v1alpha1.WorkerConfig{Sites: []v1alpha1.WorkerSite{
		{Name: "cloud", OpenStack: &v1alpha1.OpenStackWorker{
			ServerGroup:   &v1alpha1.OpenStackServerGroup{Policy: "soft-anti-affinity"},
			MachineLabels: []v1alpha1.OpenStackMachineLabel{{Name: "rolls", Value: "a", TriggerRollingOnUpdate: true}, {Name: "stays", Value: "b"}},
		}},
		{Name: "vc", VSphere: &v1alpha1.VSphereWorker{ExtraConfig: map[string]string{"sched.mem.pin": "TRUE"}}},
	}})
	return []extensionsv1alpha1.WorkerPool{pool("plain", "cloud-a", "vc-a", "racks-a", "halls-a"), rich}
}

func raw[T any, P codec.Object[T]](document P) *runtime.RawExtension {
	GinkgoHelper()
	encoded, err := codec.Encode[T, P](document)
	Expect(err).NotTo(HaveOccurred())
	return encoded
}

// makeClasses lets the Worker controller write the machine classes and machine deployments.
func (w *world) makeClasses(ctx context.Context) {
	GinkgoHelper()
	c := mgr.GetClient()
	object := &extensionsv1alpha1.Worker{
		ObjectMeta: metav1.ObjectMeta{Name: "v1", Namespace: w.shoot},
		Spec: extensionsv1alpha1.WorkerSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: v1alpha1.ProviderType}, Region: "west", Pools: pools(),
			SecretRef: corev1.SecretReference{Name: "cloudprovider",
				Namespace: w.shoot}, InfrastructureProviderStatus: raw(w.status), SSHPublicKey: []byte(sshPublicKey),
		},
	}
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.shoot}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cloudprovider", Namespace: w.shoot}, Data: w.secret},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "user-data", Namespace: w.shoot},
			Data: map[string][]byte{"cloud_config": []byte(userData)}},
		object,
	} {
		Expect(c.Create(ctx, o)).To(Succeed())
	}
	cluster := &extensionscontroller.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: w.shoot},
		CloudProfile: &gardencorev1beta1.CloudProfile{Spec: gardencorev1beta1.CloudProfileSpec{
			ProviderConfig:      raw(w.profile),
			MachineCapabilities: []gardencorev1beta1.CapabilityDefinition{{Name: "architecture", Values: []string{"amd64", "arm64"}}},
			MachineTypes: []gardencorev1beta1.MachineType{{
				Name: "std", CPU: resource.MustParse("4"), GPU: resource.MustParse("0"), Memory: resource.MustParse("16Gi"),
				Storage:      &gardencorev1beta1.MachineTypeStorage{StorageSize: new(resource.MustParse("25Gi"))},
				Capabilities: gardencorev1beta1.Capabilities{"architecture": {"amd64"}},
			}},
		}},
		Shoot: &gardencorev1beta1.Shoot{
			Spec: gardencorev1beta1.ShootSpec{
				Networking: &gardencorev1beta1.Networking{Pods: new("100.96.0.0/11")}, Kubernetes: gardencorev1beta1.Kubernetes{Version: "1.36.3"},
				Provider: gardencorev1beta1.Provider{InfrastructureConfig: raw(w.config)},
			},
			Status: gardencorev1beta1.ShootStatus{TechnicalID: w.shoot},
		},
	}

	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	actuator := worker.NewActuator(mgr, nil, extension.MachineClasses(), driver.Machines(), time.Minute)
	go func() { done <- actuator.Reconcile(ctx, logr.Discard(), object, cluster) }()
	DeferCleanup(func() {
		cancel()
		Eventually(done).Within(soon).Should(Receive())
	})
	deployments, classes, secrets := &machinev1alpha1.MachineDeploymentList{}, &machinev1alpha1.MachineClassList{}, &corev1.SecretList{}
	Eventually(func(g Gomega) {
		g.Expect(c.List(ctx, deployments, client.InNamespace(w.shoot))).To(Succeed())
		g.Expect(deployments.Items).To(HaveLen(6))
	}).WithContext(ctx).Within(soon).Should(Succeed())
	Expect(c.List(ctx, classes, client.InNamespace(w.shoot))).To(Succeed())
	Expect(c.List(ctx, secrets, client.InNamespace(w.shoot))).To(Succeed())
	for _, d := range deployments.Items {
		w.deployments[d.Name] = d.Spec.Template.Spec.Class.Name
	}
	for i := range classes.Items {
		w.classes[classes.Items[i].Name] = &classes.Items[i]
	}
	for i := range secrets.Items {
		if w.classes[secrets.Items[i].Name] != nil {
			w.secrets[secrets.Items[i].Name] = &secrets.Items[i]
		}
	}
}

// specOf is the provider spec of a machine deployment.
func (w *world) specOf(deployment string) *v1alpha1.MachineProviderSpec {
	GinkgoHelper()
	spec, err := codec.Decode[v1alpha1.MachineProviderSpec](&w.classes[w.deployments[deployment]].ProviderSpec)
	Expect(err).NotTo(HaveOccurred())
	return spec
}

// request is about the machine of a machine deployment.
func (w *world) request(spec *v1alpha1.MachineProviderSpec, name string) (platform.Machines, platform.MachineRequest) {
	GinkgoHelper()
	found := site.Find(w.sites, spec.Site)
	data := userData
	if spec.Site == "halls" {
		data = ignition
	}
	return driver.Machines()[found.Platform], platform.MachineRequest{Name: name, Spec: spec,
		Credentials: site.CredentialsOf(spec.Site, w.secret), UserData: []byte(data)}
}

// makeMachines makes a machine of each machine deployment.
func (w *world) makeMachines(ctx context.Context) {
	GinkgoHelper()
	for deployment := range w.deployments {
		part, request := w.request(w.specOf(deployment), machineOf(deployment))
		Eventually(func() error {
			var err error
			w.made[deployment], err = part.Create(ctx, request)
			return err
		}).WithContext(ctx).Within(soon).Should(Succeed(), deployment)
	}
}

func machineOf(deployment string) string { return deployment + "-5d9f8-abcde" }

// controlPlanes is what the control plane has of the sites: the configuration of the cloud controllers and of storage.
func (w *world) controlPlanes() map[string]any {
	GinkgoHelper()
	found := map[string]any{}
	for _, name := range extension.ControlPlanes().Platforms() {
		part := extension.ControlPlanes()[name]
		var ofPlatform []platform.ControlPlaneSite
		for i := range w.sites {
			if w.sites[i].Platform != name {
				continue
			}
			s := platform.ControlPlaneSite{Site: &w.sites[i], Status: &w.status.Sites[i]}
			ofPlatform = append(ofPlatform, s)
			controller, err := part.CloudController(s)
			Expect(err).NotTo(HaveOccurred())
			found["cloud-controller-"+w.sites[i].Name] = controller
		}
		storage, err := part.Storage(ofPlatform)
		Expect(err).NotTo(HaveOccurred())
		if storage != nil {
			found["storage-"+string(name)] = storage
		}
	}
	return found
}

// classNames are the names of the machine classes, which say what is rolled, without the shoot.
func (w *world) classNames() []string {
	var names []string
	for deployment, class := range w.deployments {
		names = append(names, fmt.Sprintf("%s: %s", deployment, strings.TrimPrefix(class, deployment)))
	}
	slices.Sort(names)
	return names
}
