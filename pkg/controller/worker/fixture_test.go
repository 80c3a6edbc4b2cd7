// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	gardenworker "github.com/gardener/gardener/extensions/pkg/controller/worker"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform/toyapi"
)

const technicalID = "shoot--p--s"

// fixture is a shoot on the sites cloud (zones cloud-a, cloud-b, cloud-c) and racks (zone rack-1), both of the toy platform.
type fixture struct {
	cloud   *toyplatform.Cloud
	profile *v1alpha1.CloudProfileConfig
	config  *v1alpha1.InfrastructureConfig
	status  *v1alpha1.InfrastructureStatus
	cluster *extensionscontroller.Cluster
	worker  *extensionsv1alpha1.Worker
	secret  *corev1.Secret
	user    *corev1.Secret
}

func newFixture(namespace string) *fixture {
	profileSite := func(name string, zones ...string) v1alpha1.CloudProfileSite {
		s := v1alpha1.CloudProfileSite{Name: name, Region: "west",
			Blocks: toyapi.Blocks(&toyapi.Profile{Connection: toyapi.Connection{Address: "https://" + name}})}
		for _, zone := range zones {
			s.Zones = append(s.Zones, v1alpha1.SiteZone{Name: zone, Blocks: toyapi.Blocks(&toyapi.Zone{Shelf: "raw-" + zone})})
		}
		return s
	}
	image := func(site string) v1alpha1.SiteMachineImage {
		return v1alpha1.SiteMachineImage{Name: site, Blocks: toyapi.Blocks(&toyapi.Image{URL: "https://images/" + site})}
	}

	return &fixture{
		cloud: toyplatform.NewCloud(),
		profile: &v1alpha1.CloudProfileConfig{
			Sites: []v1alpha1.CloudProfileSite{profileSite("cloud", "cloud-a", "cloud-b", "cloud-c"), profileSite("racks", "rack-1")},
			MachineTypes: []v1alpha1.MachineType{{Name: "std", Sites: []v1alpha1.SiteMachineType{
				{Name: "cloud", Blocks: toyapi.Blocks(&toyapi.MachineType{})},
				{Name: "racks", Blocks: toyapi.Blocks(&toyapi.MachineType{}),
					Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("32")}},
			}}},
			MachineImages: []v1alpha1.MachineImage{{Name: "linux",
				Versions: []v1alpha1.MachineImageVersion{{Version: "1.0.0", CapabilityFlavors: []v1alpha1.MachineImageFlavor{{
					Capabilities: map[string][]string{"architecture": {"amd64"}},
					Sites:        []v1alpha1.SiteMachineImage{image("cloud"), image("racks")},
				}}}}}},
		},
		config: &v1alpha1.InfrastructureConfig{
			Networks: v1alpha1.Networks{Topology: v1alpha1.TopologyRouted},
			Sites: []v1alpha1.InfrastructureSite{{Name: "cloud", Nodes: []string{"10.250.0.0/18"}},
				{Name: "racks", Nodes: []string{"10.250.64.0/18"}}},
		},
		status: &v1alpha1.InfrastructureStatus{Sites: []v1alpha1.SiteStatus{{Name: "cloud"}, {Name: "racks"}}},
		cluster: &extensionscontroller.Cluster{
			CloudProfile: &gardencorev1beta1.CloudProfile{Spec: gardencorev1beta1.CloudProfileSpec{
				MachineCapabilities: []gardencorev1beta1.CapabilityDefinition{{Name: "architecture", Values: []string{"amd64", "arm64"}}},
				MachineTypes: []gardencorev1beta1.MachineType{{
					Name: "std", CPU: resource.MustParse("4"), GPU: resource.MustParse("0"), Memory: resource.MustParse("16Gi"),
					Capabilities: gardencorev1beta1.Capabilities{"architecture": {"amd64"}},
				}},
			}},
			Shoot: &gardencorev1beta1.Shoot{
				Spec:   gardencorev1beta1.ShootSpec{Networking: &gardencorev1beta1.Networking{Pods: new("100.96.0.0/11")}},
				Status: gardencorev1beta1.ShootStatus{TechnicalID: technicalID},
			},
		},
		worker: &extensionsv1alpha1.Worker{
			ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: namespace},
			Spec: extensionsv1alpha1.WorkerSpec{
				DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: v1alpha1.ProviderType},
				Region:      "west",
				SecretRef:   corev1.SecretReference{Name: "cloudprovider", Namespace: namespace},
			},
		},
		secret: &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "cloudprovider", Namespace: namespace},
			Data:       map[string][]byte{"cloud.token": []byte("t0p-s3cret"), "racks.token": []byte("t0p-s3cret")},
		},
		user: &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "user-data", Namespace: namespace},
			Data:       map[string][]byte{"cloud_config": []byte("#!/bin/sh")},
		},
	}
}

// pool adds a pool and returns it.
func (f *fixture) pool(name string, zones ...string) *extensionsv1alpha1.WorkerPool {
	f.worker.Spec.Pools = append(f.worker.Spec.Pools, extensionsv1alpha1.WorkerPool{
		Name:                name,
		MachineType:         "std",
		MachineImage:        extensionsv1alpha1.MachineImage{Name: "linux", Version: "1.0.0"},
		Minimum:             int32(len(zones)),
		Maximum:             2 * int32(len(zones)),
		MaxSurge:            intstr.FromInt32(1),
		Zones:               zones,
		NodeAgentSecretName: new("gardener-node-agent-" + name),
		UserDataSecretRef:   corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "user-data"}, Key: "cloud_config"},
	})
	return f.namedPool(name)
}

func (f *fixture) namedPool(name string) *extensionsv1alpha1.WorkerPool {
	for i := range f.worker.Spec.Pools {
		if f.worker.Spec.Pools[i].Name == name {
			return &f.worker.Spec.Pools[i]
		}
	}
	Fail("no pool " + name)
	return nil
}

func (f *fixture) removePool(name string) {
	var pools []extensionsv1alpha1.WorkerPool
	for _, p := range f.worker.Spec.Pools {
		if p.Name != name {
			pools = append(pools, p)
		}
	}
	f.worker.Spec.Pools = pools
}

// encode writes the documents into the objects.
func (f *fixture) encode() {
	f.cluster.CloudProfile.Spec.ProviderConfig = mustEncode(f.profile)
	f.cluster.Shoot.Spec.Provider.InfrastructureConfig = mustEncode(f.config)
	f.worker.Spec.InfrastructureProviderStatus = mustEncode(f.status)
}

func mustEncode[T any, P codec.Object[T]](document P) *runtime.RawExtension {
	raw, err := codec.Encode[T, P](document)
	Expect(err).NotTo(HaveOccurred())
	return raw
}

// call returns one that reads and writes with the client.
func (f *fixture) call(c client.Client) *call {
	f.encode()
	return &call{
		log:     logr.Discard(),
		client:  c,
		reader:  c,
		events:  eventnote.Writer{EventRecorder: events.NewFakeRecorder(100)},
		worker:  f.worker,
		cluster: f.cluster,
	}
}

// delegate returns one that reads and writes with the client.
func (f *fixture) delegate(ctx context.Context, c client.Client) *delegate {
	GinkgoHelper()
	d, err := newDelegate(ctx, f.call(c), resolver{machineClasses: f.platforms(), timeout: time.Minute}, former{})
	Expect(err).NotTo(HaveOccurred())
	return d
}

// resolve returns the zones as the sites of the platform resolve them within the time. The objects exist beside those of the shoot.
func (f *fixture) resolve(
	ctx context.Context, machineClasses platform.MachineClasses, timeout time.Duration, before former, objects ...client.Object,
) []*resolved {
	GinkgoHelper()
	c := fake.NewClientBuilder().WithScheme(landscape.Scheme).WithObjects(f.secret, f.user, f.worker).WithObjects(objects...).Build()
	r := resolver{machineClasses: platform.Registry[platform.MachineClasses]{toyplatform.Platform: machineClasses}, timeout: timeout}
	d, err := newDelegate(ctx, f.call(c), r, before)
	Expect(err).NotTo(HaveOccurred())
	return d.zones
}

func (f *fixture) platforms() platform.Registry[platform.MachineClasses] {
	return platform.Registry[platform.MachineClasses]{toyplatform.Platform: toyplatform.NewMachineClasses(f.cloud)}
}

// create creates the shoot's objects in the API server.
func (f *fixture) create(ctx context.Context) {
	f.encode()
	Expect(apiServer.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.worker.Namespace}})).To(Succeed())
	for _, obj := range []client.Object{f.secret, f.user, f.worker} {
		Expect(apiServer.Create(ctx, obj)).To(Succeed())
	}
}

// clusterObject returns the Cluster of the shoot.
func (f *fixture) clusterObject() *extensionsv1alpha1.Cluster {
	GinkgoHelper()
	f.encode()
	raw := func(object any) runtime.RawExtension {
		data, err := json.Marshal(object)
		Expect(err).NotTo(HaveOccurred())
		return runtime.RawExtension{Raw: data}
	}
	typed := func(kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: gardencorev1beta1.SchemeGroupVersion.String(), Kind: kind}
	}
	f.cluster.CloudProfile.TypeMeta, f.cluster.Shoot.TypeMeta = typed("CloudProfile"), typed("Shoot")
	return &extensionsv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: f.worker.Namespace},
		Spec:       extensionsv1alpha1.ClusterSpec{CloudProfile: raw(f.cluster.CloudProfile), Shoot: raw(f.cluster.Shoot)},
	}
}

// reconcile reconciles the Worker until what is asked is true, and returns the error.
func (f *fixture) reconcile(ctx context.Context, timeout time.Duration, until func(Gomega)) error {
	f.encode()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		done <- f.actuator(timeout).Reconcile(ctx, logr.Discard(), f.worker.DeepCopy(), f.cluster)
	}()
	Eventually(until).WithTimeout(20 * time.Second).WithPolling(50 * time.Millisecond).Should(Succeed())
	cancel()
	return <-done
}

func (f *fixture) actuator(timeout time.Duration) gardenworker.Actuator {
	return NewActuator(mgr, nil, f.platforms(), platform.Registry[platform.Machines]{toyplatform.Platform: toyplatform.NewMachines(f.cloud)},
		timeout)
}

func deploymentName(pool, zone string) string {
	return helper.MachineDeploymentName(technicalID, pool, zone)
}

// deployments returns the names of the machine deployments that are not being deleted and their classes.
func (f *fixture) deployments(ctx context.Context) map[string]string {
	list := &machinev1alpha1.MachineDeploymentList{}
	Expect(apiServer.List(ctx, list, client.InNamespace(f.worker.Namespace))).To(Succeed())
	found := map[string]string{}
	for _, d := range list.Items {
		if d.DeletionTimestamp == nil {
			found[d.Name] = d.Spec.Template.Spec.Class.Name
		}
	}
	return found
}

// classes returns the machine classes that are not being deleted.
func (f *fixture) classes(ctx context.Context) map[string]machinev1alpha1.MachineClass {
	list := &machinev1alpha1.MachineClassList{}
	Expect(apiServer.List(ctx, list, client.InNamespace(f.worker.Namespace))).To(Succeed())
	found := map[string]machinev1alpha1.MachineClass{}
	for _, c := range list.Items {
		if c.DeletionTimestamp == nil {
			found[c.Name] = c
		}
	}
	return found
}

// classSecrets returns the names of the secrets of machine classes.
func (f *fixture) classSecrets(ctx context.Context) []string {
	list := &corev1.SecretList{}
	Expect(apiServer.List(ctx, list, client.InNamespace(f.worker.Namespace),
		client.MatchingLabels{v1beta1constants.GardenerPurpose: v1beta1constants.GardenPurposeMachineClass})).To(Succeed())
	var names []string
	for _, s := range list.Items {
		names = append(names, s.Name)
	}
	return names
}

// warnings returns the notes of the warning events with the reason.
func (f *fixture) warnings(ctx context.Context, reason string) []string {
	list := &eventsv1.EventList{}
	Expect(apiServer.List(ctx, list, client.InNamespace(f.worker.Namespace))).To(Succeed())
	var notes []string
	for _, event := range list.Items {
		if event.Reason == reason && event.Type == corev1.EventTypeWarning {
			notes = append(notes, event.Note)
		}
	}
	return notes
}

var namespaces int

func newNamespace() string {
	namespaces++
	return fmt.Sprintf("shoot--p--s%d", namespaces)
}
