// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	securityv1alpha1 "github.com/gardener/gardener/pkg/apis/security/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// The sites and the pools of the Shoot on all platforms by their index, and the fields of its configurations.
const (
	cloud, vc, racks = 0, 1, 2
	batch, general   = 0, 1

	infrastructure = "spec.provider.infrastructureConfig"
	controlPlane   = "spec.provider.controlPlaneConfig"
	workers        = "spec.provider.workers"
	podNetwork     = "spec.networking.providerConfig"

	someID = "8d2b1c0e-4f3a-4a57-9d0c-1f0f5f7f6a10"
)

func onInfrastructure(change func(config *v1alpha1.InfrastructureConfig)) shootChange {
	return func(shoot *gardencorev1beta1.Shoot) { edit(&shoot.Spec.Provider.InfrastructureConfig, change) }
}

func onSite(site int, change func(site *v1alpha1.InfrastructureSite)) shootChange {
	return onInfrastructure(func(config *v1alpha1.InfrastructureConfig) { change(&config.Sites[site]) })
}

func onOpenStack(change func(config *v1alpha1.OpenStackInfrastructure)) shootChange {
	return onSite(cloud, func(site *v1alpha1.InfrastructureSite) { change(site.OpenStack) })
}

func onMetal(change func(config *v1alpha1.MetalInfrastructure)) shootChange {
	return onSite(racks, func(site *v1alpha1.InfrastructureSite) { change(site.Metal) })
}

func onControlPlane(change func(config *v1alpha1.ControlPlaneConfig)) shootChange {
	return func(shoot *gardencorev1beta1.Shoot) { edit(&shoot.Spec.Provider.ControlPlaneConfig, change) }
}

// onOctavia changes the load balancers of the OpenStack site, and onMetalLB those of the bare-metal site.
func onOctavia(change func(config *v1alpha1.OpenStackLoadBalancerConfig)) shootChange {
	return onControlPlane(func(config *v1alpha1.ControlPlaneConfig) { change(config.Sites[0].LoadBalancer.OpenStack) })
}

func onMetalLB(change func(config *v1alpha1.MetalLB)) shootChange {
	return onControlPlane(func(config *v1alpha1.ControlPlaneConfig) { change(config.Sites[1].LoadBalancer.MetalLB) })
}

func onPool(pool int, change func(worker *gardencorev1beta1.Worker)) shootChange {
	return func(shoot *gardencorev1beta1.Shoot) { change(&shoot.Spec.Provider.Workers[pool]) }
}

func onWorkerConfig(pool int, change func(config *v1alpha1.WorkerConfig)) shootChange {
	return func(shoot *gardencorev1beta1.Shoot) { edit(&shoot.Spec.Provider.Workers[pool].ProviderConfig, change) }
}

// onPoolSite changes the settings of the pool on several platforms for one of its sites: 0 is the bare-metal site, 1 the OpenStack site.
func onPoolSite(site int, change func(site *v1alpha1.WorkerSite)) shootChange {
	return onWorkerConfig(batch, func(config *v1alpha1.WorkerConfig) { change(&config.Sites[site]) })
}

func onServers(change func(config *v1alpha1.OpenStackWorker)) shootChange {
	return onPoolSite(1, func(site *v1alpha1.WorkerSite) { change(site.OpenStack) })
}

// onVirtualMachines sets the settings of the other pool for the vSphere site.
func onVirtualMachines(config v1alpha1.VSphereWorker) shootChange {
	return onWorkerConfig(general, func(worker *v1alpha1.WorkerConfig) {
		worker.Sites = []v1alpha1.WorkerSite{{Name: "vc", VSphere: &config}}
	})
}

// pods sets the type and the configuration of the network of pods.
func pods(networkType, config string) shootChange {
	return func(shoot *gardencorev1beta1.Shoot) {
		shoot.Spec.Networking.Type = &networkType
		shoot.Spec.Networking.ProviderConfig = &runtime.RawExtension{Raw: []byte(config)}
	}
}

// withoutSite takes the site that is the last of the InfrastructureConfig away, with its load balancers.
func withoutSite(shoot *gardencorev1beta1.Shoot) {
	onInfrastructure(func(config *v1alpha1.InfrastructureConfig) { config.Sites = config.Sites[:len(config.Sites)-1] })(shoot)
	onControlPlane(func(config *v1alpha1.ControlPlaneConfig) { config.Sites = nil })(shoot)
}

// documentOf is a configuration of the provider.
func documentOf(kind, fields string) *runtime.RawExtension {
	return &runtime.RawExtension{Raw: []byte(`{"apiVersion":"` + v1alpha1.SchemeGroupVersion.String() + `","kind":"` + kind + `"` +
		fields + `}`)}
}

const (
	// lacking is the name of a binding and a Secret without the credentials of the bare-metal site.
	lacking = "lacking"
	// everywhere is the name of a CloudProfile, and of a Shoot with it, that leaves to our webhook which machine types its zones have.
	everywhere = "everywhere"
	// onCloudOnly is the version of an image that only the OpenStack site of that CloudProfile has.
	onCloudOnly = "1877.9.0"
	// outdated is the name of a Shoot that was valid once.
	outdated = "outdated"
)

var _ = beforeWebhooks(func(ctx context.Context) {
	data := credentials()
	delete(data, "racks.token")
	namespace := shootOf(allPlatforms).Namespace
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: lacking, Namespace: namespace}, Data: data}
	Expect(garden.Client.Create(ctx, secret)).To(Succeed())
	Expect(garden.Client.Create(ctx, &securityv1alpha1.CredentialsBinding{
		ObjectMeta:     metav1.ObjectMeta{Name: lacking, Namespace: namespace},
		Provider:       securityv1alpha1.CredentialsBindingProvider{Type: v1alpha1.ProviderType},
		CredentialsRef: corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: namespace, Name: lacking},
	})).To(Succeed())

	Expect(garden.Client.Create(ctx, profileEverywhere())).To(Succeed())
	shoot := shootOf(allPlatforms)
	shoot.Name, shoot.Spec.CloudProfile.Name = everywhere, everywhere
	create(ctx, shoot)

	shoot = shootOf(allPlatforms)
	shoot.Name, shoot.Spec.CloudProfile.Name = outdated, everywhere
	shoot.Spec.Provider.ControlPlaneConfig = documentOf("ControlPlaneConfig", `,"loadBalancer":"old"`)
	shoot.Spec.Provider.Workers[general].Machine.Image.Version = new(onCloudOnly)
	create(ctx, shoot)
})

// profileEverywhere returns a CloudProfile on all platforms.
func profileEverywhere() *gardencorev1beta1.CloudProfile {
	GinkgoHelper()
	profile := read[gardencorev1beta1.CloudProfile](allPlatformsProfile)
	profile.Name = everywhere
	for i := range profile.Spec.Regions[0].Zones {
		profile.Spec.Regions[0].Zones[i].UnavailableMachineTypes = nil
	}
	version := *profile.Spec.MachineImages[0].Versions[0].DeepCopy()
	version.Version = onCloudOnly
	profile.Spec.MachineImages[0].Versions = append(profile.Spec.MachineImages[0].Versions, version)
	edit(&profile.Spec.ProviderConfig, func(config *v1alpha1.CloudProfileConfig) {
		version := *config.MachineImages[0].Versions[0].DeepCopy()
		version.Version = onCloudOnly
		version.CapabilityFlavors[0].Sites = version.CapabilityFlavors[0].Sites[:1]
		config.MachineImages[0].Versions = append(config.MachineImages[0].Versions, version)
	})
	return profile
}

// create waits for Gardener's plugins, which see what was created before a moment later.
func create(ctx context.Context, shoot *gardencorev1beta1.Shoot) {
	GinkgoHelper()
	Eventually(ctx, func() error { return garden.Client.Create(ctx, shoot.DeepCopy()) }).WithTimeout(10 * time.Second).Should(Succeed())
}
