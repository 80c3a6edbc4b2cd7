// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	"github.com/gardener/gardener/extensions/pkg/controller/controlplane"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

const (
	namespace = "shoot--local--a"
	subnetID  = "6a0f1f5e-0c5a-4d59-8a0b-6f5d6b1d3e21"
)

// fakePlatform brings volumes to sites with a driver of the name, or with none if it is empty.
type fakePlatform struct {
	name          v1alpha1.Platform
	driver        string
	controllerErr map[string]error
	// credentialsErr are the mistakes in the credentials of sites.
	credentialsErr map[string]error
	storageErr     error
	// further is a second storage driver.
	further   *platform.Storage
	noStorage bool
	// stored are the sites that storage was asked for.
	stored []platform.ControlPlaneSite
}

func (f *fakePlatform) CloudController(s platform.ControlPlaneSite) (*v1alpha1.CloudControllerSite, error) {
	if err := f.controllerErr[s.Site.Name]; err != nil {
		return nil, err
	}
	controller := &v1alpha1.CloudControllerSite{Name: s.Site.Name}
	switch f.name {
	case v1alpha1.PlatformOpenStack:
		if s.Status.OpenStack.SubnetID == "" {
			return nil, platform.NewError(platform.ClassConfiguration, "no subnet")
		}
		controller.OpenStack = &v1alpha1.OpenStackCloudController{
			Connection:   v1alpha1.OpenStackConnection{AuthURL: s.Site.Profile.OpenStack.AuthURL, Region: s.Site.Profile.OpenStack.Region},
			LoadBalancer: &v1alpha1.OpenStackLoadBalancer{SubnetID: s.Status.OpenStack.SubnetID},
		}
		for _, zone := range s.Site.Profile.Zones {
			controller.OpenStack.Zones = append(controller.OpenStack.Zones,
				v1alpha1.OpenStackCloudControllerZone{Name: zone.Name, AvailabilityZone: zone.OpenStack.AvailabilityZone})
		}
	default:
		profile := s.Site.Profile.Metal
		controller.Metal = &v1alpha1.MetalCloudController{Connection: v1alpha1.MetalConnection{Inventory: profile.Inventory,
			Server: profile.Server, Namespace: profile.Namespace}}
		for _, zone := range s.Site.Profile.Zones {
			controller.Metal.Zones = append(controller.Metal.Zones, v1alpha1.MetalCloudControllerZone{Name: zone.Name})
		}
	}
	return controller, nil
}

func (f *fakePlatform) Storage(sites []platform.ControlPlaneSite) (*platform.Storage, error) {
	f.stored = sites
	if f.storageErr != nil || f.noStorage {
		return nil, f.storageErr
	}
	storage := &platform.Storage{CSIDriver: f.driver, ControlPlane: map[string]any{"a": "seed"}, Shoot: map[string]any{"a": "shoot"},
		Further: f.further}
	var errs []error
	for _, s := range sites {
		if err := f.credentialsErr[s.Site.Name]; err != nil {
			errs = append(errs, platform.InSite(s.Site.Name, &platform.CredentialsError{Err: err}))
			storage.Files = s.Deployed
		} else if f.driver != "" && len(errs) == 0 {
			storage.Files = map[string]string{"cloud.conf": "password = " + s.Site.Credentials["password"]}
		}
		for _, class := range s.Site.Profile.StorageClasses {
			result := platform.NewStorageClass(s.Site.Name, &class, string(f.name)+".example.com", map[string]string{"type": class.Name})
			result.AllowVolumeExpansion = true
			result.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{
				Key: v1alpha1.LabelSite, Values: []string{s.Site.Name}}}}}
			storage.Classes = append(storage.Classes, result)
		}
		if f.driver != "" {
			storage.SnapshotClasses = append(storage.SnapshotClasses,
				platform.SnapshotClass{Name: "snapshots-" + s.Site.Name, Site: s.Site.Name, Driver: f.driver,
					Parameters: map[string]string{"force": "true"}},
				platform.SnapshotClass{Name: "more-" + s.Site.Name, Site: s.Site.Name, Driver: f.driver})
		}
	}
	return storage, errors.Join(errs...)
}

func (f *fakePlatform) StorageChart() platform.SubChart {
	chart := platform.SubChart{Name: "csi-" + string(f.name), AccessSecrets: []string{"csi-" + string(f.name) + "-controller"}}
	if f.further != nil {
		chart.Further = &platform.SubChart{Name: "csi-further", AccessSecrets: []string{"csi-further-controller"}}
	}
	return chart
}

// fixture is a shoot on the sites cloud, cloud2 and racks with a pool on each.
type fixture struct {
	openStack, metal *fakePlatform
	profile          *v1alpha1.CloudProfileConfig
	infrastructure   *v1alpha1.InfrastructureConfig
	config           *v1alpha1.ControlPlaneConfig
	status           *v1alpha1.InfrastructureStatus
	zones            []string
	secret           *corev1.Secret
	cp               *extensionsv1alpha1.ControlPlane
	objects          []client.Object
	functions        interceptor.Funcs
	client           client.Client
}

func newFixture() *fixture {
	openStack := func(name string, classes ...v1alpha1.StorageClass) v1alpha1.CloudProfileSite {
		return v1alpha1.CloudProfileSite{
			Name: name, Region: "west",
			OpenStack:      &v1alpha1.OpenStackProfile{AuthURL: "https://" + name + ".example.com/v3", Region: "RegionOne"},
			StorageClasses: classes,
			Zones:          []v1alpha1.SiteZone{{Name: name + "-a", OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: "nova"}}},
		}
	}
	block := &v1alpha1.OpenStackStorageClass{}
	return &fixture{
		openStack: &fakePlatform{name: v1alpha1.PlatformOpenStack, driver: "cinder.example.com", controllerErr: map[string]error{},
			credentialsErr: map[string]error{}},
		metal: &fakePlatform{name: v1alpha1.PlatformMetal, controllerErr: map[string]error{}, credentialsErr: map[string]error{}},
		profile: &v1alpha1.CloudProfileConfig{Sites: []v1alpha1.CloudProfileSite{
			openStack("cloud", v1alpha1.StorageClass{Name: "slow", OpenStack: block},
				v1alpha1.StorageClass{Name: "fast", Default: true, OpenStack: block}),
			openStack("cloud2", v1alpha1.StorageClass{Name: "other", OpenStack: block,
				ReclaimPolicy: corev1.PersistentVolumeReclaimRetain, Parameters: map[string]string{"csi.storage.k8s.io/fstype": "xfs"},
				Labels: map[string]string{"team": "storage"}, Annotations: map[string]string{"example.com/tier": "gold"}}),
			{
				Name: "racks", Region: "west",
				Metal: &v1alpha1.MetalProfile{Inventory: v1alpha1.MetalInventoryMetal3, Server: "https://metal.example.com",
					Namespace: "hosts"},
				StorageClasses: []v1alpha1.StorageClass{{Name: "local", Metal: &v1alpha1.MetalStorageClass{}}},
				Zones:          []v1alpha1.SiteZone{{Name: "racks-a", Metal: &v1alpha1.MetalZone{}}},
			},
		}},
		infrastructure: &v1alpha1.InfrastructureConfig{
			Networks: v1alpha1.Networks{Topology: v1alpha1.TopologyRouted},
			Sites: []v1alpha1.InfrastructureSite{{Name: "cloud", Nodes: []string{"10.250.0.0/24"}},
				{Name: "cloud2", Nodes: []string{"10.250.1.0/24"}}, {Name: "racks", Nodes: []string{"10.250.2.0/24"}}},
		},
		config: &v1alpha1.ControlPlaneConfig{DefaultSite: "cloud"},
		status: &v1alpha1.InfrastructureStatus{Sites: []v1alpha1.SiteStatus{
			{Name: "cloud", OpenStack: &v1alpha1.OpenStackStatus{SubnetID: subnetID}},
			{Name: "cloud2", OpenStack: &v1alpha1.OpenStackStatus{SubnetID: subnetID}},
			{Name: "racks", Metal: &v1alpha1.MetalStatus{}},
		}},
		zones: []string{"cloud-a", "cloud2-a", "racks-a"},
		secret: &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloudprovider"},
			Data: map[string][]byte{
				"cloud.domainName": []byte("Default"), "cloud.tenantName": []byte("project"), "cloud.username": []byte("user"),
				"cloud.password":                 []byte("secret"),
				"cloud2.applicationCredentialID": []byte("id"), "cloud2.applicationCredentialSecret": []byte("secret"),
			},
		},
		cp: &extensionsv1alpha1.ControlPlane{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"},
			Spec: extensionsv1alpha1.ControlPlaneSpec{
				DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: v1alpha1.ProviderType},
				Region:      "west",
				SecretRef:   corev1.SecretReference{Namespace: namespace, Name: "cloudprovider"},
			},
		},
	}
}

// planner returns a planner that sees the fixture as it is now.
func (f *fixture) planner() *planner {
	f.cp.Spec.ProviderConfig, f.cp.Spec.InfrastructureProviderStatus = raw(f.config), raw(f.status)
	cp := f.cp.DeepCopy()
	f.client = fake.NewClientBuilder().WithScheme(landscape.Scheme).WithObjects(append(f.objects, f.secret.DeepCopy(),
		cp)...).WithStatusSubresource(cp).WithInterceptorFuncs(f.functions).Build()
	return &planner{reader: f.client, platforms: f.platforms()}
}

func (f *fixture) platforms() platform.Registry[platform.ControlPlane] {
	return platform.Registry[platform.ControlPlane]{v1alpha1.PlatformOpenStack: f.openStack, v1alpha1.PlatformMetal: f.metal}
}

func (f *fixture) plan(ctx context.Context) (*plan, error) {
	return f.planner().plan(ctx, f.cp, f.cluster())
}

func (f *fixture) cluster() *extensionscontroller.Cluster {
	return &extensionscontroller.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: namespace,
			Annotations: map[string]string{"generic-token-kubeconfig.secret.gardener.cloud/name": "generic-token-kubeconfig-1"}},
		CloudProfile: &gardencorev1beta1.CloudProfile{Spec: gardencorev1beta1.CloudProfileSpec{ProviderConfig: raw(f.profile)}},
		Shoot: &gardencorev1beta1.Shoot{
			Spec: gardencorev1beta1.ShootSpec{
				Kubernetes: gardencorev1beta1.Kubernetes{Version: "1.36.3"},
				Provider: gardencorev1beta1.Provider{InfrastructureConfig: raw(f.infrastructure),
					Workers: []gardencorev1beta1.Worker{{Name: "a", Zones: f.zones}}},
			},
			Status: gardencorev1beta1.ShootStatus{TechnicalID: namespace},
		},
	}
}

// leave puts a machine deployment and a machine of the site, or one of them, into the namespace.
func (f *fixture) leave(deployment, machine string) {
	if deployment != "" {
		d := &machinev1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "d"}}
		d.Spec.Template.Spec.NodeTemplateSpec.Labels = map[string]string{v1alpha1.LabelSite: deployment}
		f.objects = append(f.objects, d)
	}
	if machine != "" {
		m := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "m"}}
		m.Spec.NodeTemplateSpec.Labels = map[string]string{v1alpha1.LabelSite: machine}
		f.objects = append(f.objects, m)
	}
}

func raw[T any, P codec.Object[T]](document P) *runtime.RawExtension {
	encoded, err := codec.Encode[T, P](document)
	Expect(err).NotTo(HaveOccurred())
	return encoded
}

// told returns the events since the last call.
func told(recorder *events.FakeRecorder) []string {
	var found []string
	for len(recorder.Events) > 0 {
		found = append(found, <-recorder.Events)
	}
	return found
}

// genericActuator notes the plan that it is called with.
type genericActuator struct {
	controlplane.Actuator

	plan   *plan
	called []string
	err    error
}

func (g *genericActuator) note(ctx context.Context, what string) error {
	g.plan = planOf(ctx)
	g.called = append(g.called, what)
	return g.err
}

func (g *genericActuator) Reconcile(ctx context.Context, _ logr.Logger, _ *extensionsv1alpha1.ControlPlane,
	_ *extensionscontroller.Cluster) (bool, error) {
	return true, g.note(ctx, "reconcile")
}

func (g *genericActuator) Restore(ctx context.Context, _ logr.Logger, _ *extensionsv1alpha1.ControlPlane,
	_ *extensionscontroller.Cluster) (bool, error) {
	return false, g.note(ctx, "restore")
}

func (g *genericActuator) Delete(ctx context.Context, _ logr.Logger, _ *extensionsv1alpha1.ControlPlane,
	_ *extensionscontroller.Cluster) error {
	return g.note(ctx, "delete")
}

func (g *genericActuator) ForceDelete(ctx context.Context, _ logr.Logger, _ *extensionsv1alpha1.ControlPlane,
	_ *extensionscontroller.Cluster) error {
	return g.note(ctx, "force-delete")
}

func (g *genericActuator) Migrate(ctx context.Context, _ logr.Logger, _ *extensionsv1alpha1.ControlPlane,
	_ *extensionscontroller.Cluster) error {
	return g.note(ctx, "migrate")
}
