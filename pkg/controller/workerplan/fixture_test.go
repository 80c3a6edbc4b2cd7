// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package workerplan

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	gardenworker "github.com/gardener/gardener/extensions/pkg/controller/worker"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
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
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform/toyapi"
)

var shoots int

// fixture is a shoot on the sites cloud (zones cloud-a, cloud-b, cloud-c) and racks (zone rack-1), both of the toy platform, and what a
// seed has of it.
type fixture struct {
	cloud   *toyplatform.Cloud
	profile *v1alpha1.CloudProfileConfig
	config  *v1alpha1.InfrastructureConfig
	status  *v1alpha1.InfrastructureStatus
	cluster *extensionscontroller.Cluster
	secret  *corev1.Secret

	// technicalID is the name of the namespace.
	technicalID string
	// known is what the last reconciliation left.
	known Input
}

func newFixture(ctx context.Context) *fixture {
	GinkgoHelper()
	shoots++
	technicalID := fmt.Sprintf("shoot--p--s%d", shoots)
	Expect(apiServer.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: technicalID}})).To(Succeed())
	profileSite := func(name string, zones ...string) v1alpha1.CloudProfileSite {
		s := v1alpha1.CloudProfileSite{Name: name, Region: "west",
			Blocks: toyapi.Blocks(&toyapi.Profile{Connection: toyapi.Connection{Address: "https://" + name}})}
		for _, zone := range zones {
			s.Zones = append(s.Zones, v1alpha1.SiteZone{Name: zone, Blocks: toyapi.Blocks(&toyapi.Zone{Shelf: "raw-" + zone})})
		}
		return s
	}
	imageVersion := func(version string) v1alpha1.MachineImageVersion {
		image := func(site string) v1alpha1.SiteMachineImage {
			return v1alpha1.SiteMachineImage{Name: site, Blocks: toyapi.Blocks(&toyapi.Image{URL: "https://images/" + site + "/" + version})}
		}
		return v1alpha1.MachineImageVersion{Version: version, CapabilityFlavors: []v1alpha1.MachineImageFlavor{{
			Capabilities: map[string][]string{"architecture": {"amd64"}},
			Sites:        []v1alpha1.SiteMachineImage{image("cloud"), image("racks")},
		}}}
	}
	machineType := func(name string) v1alpha1.MachineType {
		return v1alpha1.MachineType{Name: name, Sites: []v1alpha1.SiteMachineType{
			{Name: "cloud", Blocks: toyapi.Blocks(&toyapi.MachineType{})}, {Name: "racks", Blocks: toyapi.Blocks(&toyapi.MachineType{})},
		}}
	}
	gardenMachineType := func(name string) gardencorev1beta1.MachineType {
		return gardencorev1beta1.MachineType{Name: name, CPU: resource.MustParse("4"), GPU: resource.MustParse("0"),
			Memory: resource.MustParse("16Gi"), Capabilities: gardencorev1beta1.Capabilities{"architecture": {"amd64"}}}
	}
	return &fixture{
		technicalID: technicalID,
		cloud:       toyplatform.NewCloud(),
		profile: &v1alpha1.CloudProfileConfig{
			Sites:        []v1alpha1.CloudProfileSite{profileSite("cloud", "cloud-a", "cloud-b", "cloud-c"), profileSite("racks", "rack-1")},
			MachineTypes: []v1alpha1.MachineType{machineType("std"), machineType("big")},
			MachineImages: []v1alpha1.MachineImage{{Name: "linux",
				Versions: []v1alpha1.MachineImageVersion{imageVersion("1.0.0"), imageVersion("2.0.0")}}},
		},
		config: &v1alpha1.InfrastructureConfig{
			Networks: v1alpha1.Networks{Topology: v1alpha1.TopologyRouted},
			Sites: []v1alpha1.InfrastructureSite{{Name: "cloud", Nodes: []string{"10.250.0.0/18"}},
				{Name: "racks", Nodes: []string{"10.250.64.0/18"}}},
		},
		status: &v1alpha1.InfrastructureStatus{Sites: []v1alpha1.SiteStatus{{Name: "cloud"}, {Name: "racks"}}},
		cluster: &extensionscontroller.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: technicalID},
			CloudProfile: &gardencorev1beta1.CloudProfile{Spec: gardencorev1beta1.CloudProfileSpec{
				MachineCapabilities: []gardencorev1beta1.CapabilityDefinition{{Name: "architecture", Values: []string{"amd64", "arm64"}}},
				MachineTypes:        []gardencorev1beta1.MachineType{gardenMachineType("std"), gardenMachineType("big")},
			}},
			Shoot: &gardencorev1beta1.Shoot{
				ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "garden-p"},
				Spec: gardencorev1beta1.ShootSpec{
					Region:     "west",
					Kubernetes: gardencorev1beta1.Kubernetes{Version: "1.35.1"},
					Networking: &gardencorev1beta1.Networking{Pods: new("100.96.0.0/11")},
					Provider:   gardencorev1beta1.Provider{Type: v1alpha1.ProviderType},
				},
			},
		},
		secret: &corev1.Secret{Data: map[string][]byte{"cloud.token": []byte("t0p-s3cret"), "racks.token": []byte("t0p-s3cret")}},
	}
}

// pool adds a pool.
func (f *fixture) pool(name string, zones ...string) *gardencorev1beta1.Worker {
	provider := &f.cluster.Shoot.Spec.Provider
	provider.Workers = append(provider.Workers, gardencorev1beta1.Worker{
		Name: name,
		Machine: gardencorev1beta1.Machine{Type: "std", Architecture: new("amd64"),
			Image: &gardencorev1beta1.ShootMachineImage{Name: "linux", Version: new("1.0.0")}},
		Minimum:  int32(len(zones)), // #nosec G115 -- few zones
		Maximum:  2 * int32(len(zones)),
		MaxSurge: new(intstr.FromInt32(1)),
		Zones:    zones,
	})
	return &provider.Workers[len(provider.Workers)-1]
}

func (f *fixture) namedPool(name string) *gardencorev1beta1.Worker {
	for i := range f.cluster.Shoot.Spec.Provider.Workers {
		if pool := &f.cluster.Shoot.Spec.Provider.Workers[i]; pool.Name == name {
			return pool
		}
	}
	Fail("no pool " + name)
	return nil
}

func (f *fixture) platforms() platform.Registry[platform.MachineClasses] {
	return platform.Registry[platform.MachineClasses]{toyplatform.Platform: toyplatform.NewMachineClasses(f.cloud)}
}

// encoded returns the Cluster with all documents.
func (f *fixture) encoded() *extensionscontroller.Cluster {
	c := *f.cluster
	c.Shoot, c.CloudProfile = f.cluster.Shoot.DeepCopy(), f.cluster.CloudProfile.DeepCopy()
	c.CloudProfile.Spec.ProviderConfig = mustEncode(f.profile)
	c.Shoot.Spec.Provider.InfrastructureConfig = mustEncode(f.config)
	return &c
}

func mustEncode[T any, P codec.Object[T]](document P) *runtime.RawExtension {
	raw, err := codec.Encode[T, P](document)
	Expect(err).NotTo(HaveOccurred())
	return raw
}

// input returns what is known before the next reconciliation.
func (f *fixture) input() Input {
	in := f.known
	in.After, in.InfrastructureStatus, in.Secret = f.encoded(), mustEncode(f.status), f.secret
	return in
}

func (f *fixture) plan(ctx context.Context) *Plan {
	GinkgoHelper()
	plan, err := (&Planner{Platforms: f.platforms(), Timeout: 5 * time.Second}).Plan(ctx, f.input())
	Expect(err).NotTo(HaveOccurred())
	return plan
}

// reconcile reconciles the Worker in the API server, where machine-controller-manager is done at once.
func (f *fixture) reconcile(ctx context.Context) {
	GinkgoHelper()
	in := f.input()
	in.After = withTechnicalID(in.After)
	agents, _, err := in.agents()
	Expect(err).NotTo(HaveOccurred())
	seed := &rehearsal{client: settling(apiServer)}
	secret := f.secret.DeepCopy()
	secret.Name, secret.Namespace = "cloudprovider", f.technicalID
	for _, object := range []client.Object{secret, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: userData, Namespace: f.technicalID}}} {
		Expect(client.IgnoreNotFound(apiServer.Delete(ctx, object))).To(Succeed())
	}
	Expect(apiServer.Create(ctx, secret)).To(Succeed())
	w, err := deployWorker(ctx, seed.client, in.After, agents, in.Worker, in.InfrastructureStatus)
	Expect(err).NotTo(HaveOccurred())
	_, err = worker.Rehearse(ctx, seed, f.platforms(), 5*time.Second, w, in.After)
	Expect(err).NotTo(HaveOccurred())

	Expect(apiServer.DeleteAllOf(ctx, &machinev1alpha1.Machine{}, client.InNamespace(f.technicalID))).To(Succeed())
	for _, d := range f.written(ctx).deployments.Items {
		for i := range d.Spec.Replicas {
			Expect(apiServer.Create(ctx, &machinev1alpha1.Machine{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", d.Name, i), Namespace: d.Namespace,
					Labels: map[string]string{gardenworker.LabelKeyMachineDeploymentName: d.Name}},
				Spec: d.Spec.Template.Spec,
			})).To(Succeed())
		}
	}
	f.known = Input{Before: in.After, Worker: w.DeepCopy(), Seed: apiServer, Infrastructure: &extensionsv1alpha1.Infrastructure{}}
}

// written returns what the API server has.
func (f *fixture) written(ctx context.Context) *machines {
	GinkgoHelper()
	found, err := readMachines(ctx, apiServer, f.technicalID)
	Expect(err).NotTo(HaveOccurred())
	return found
}

// content returns the machine deployments and machine classes by their names.
func content(m *machines) map[string]any {
	found := map[string]any{}
	for i := range m.deployments.Items {
		d := &m.deployments.Items[i]
		fields := deploymentFields(d)
		fields.Spec.Template.Spec.Class = d.Spec.Template.Spec.Class
		found["deployment "+d.Name] = asJSON(fields)
	}
	for i := range m.classes.Items {
		c := &m.classes.Items[i]
		found["class "+c.Name] = asJSON(classFields(c))
	}
	return found
}

func asJSON(value any) string {
	raw, err := json.Marshal(value)
	Expect(err).NotTo(HaveOccurred())
	var fields any
	Expect(json.Unmarshal(raw, &fields)).To(Succeed())
	raw, err = json.MarshalIndent(fields, "", " ")
	Expect(err).NotTo(HaveOccurred())
	return string(raw)
}
