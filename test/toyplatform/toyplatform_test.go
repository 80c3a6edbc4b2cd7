// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package toyplatform_test

import (
	"context"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/machine"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	platforms "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/driver"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/extension"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform/toyapi"
)

const cloudProfileConfig = `
apiVersion: hybrid.provider.extensions.gardener.cloud/v1alpha1
kind: CloudProfileConfig
sites:
- name: desk
  region: west
  toy: {address: https://toys.example.com}
  zones:
  - {name: desk-1, toy: {shelf: top}}
machineTypes:
- name: std
  sites:
  - {name: desk, toy: {model: car}}
machineImages:
- name: linux
  versions:
  - version: 1.0.0
    capabilityFlavors:
    - sites:
      - {name: desk, toy: {url: https://images.example.com/linux}}
`

const infrastructureConfig = `
apiVersion: hybrid.provider.extensions.gardener.cloud/v1alpha1
kind: InfrastructureConfig
networks: {topology: Routed}
sites:
- {name: desk, nodes: [10.250.0.0/18]}
`

var _ = Describe("A new platform", func() {
	It("costs one line in the registry of each consumer, from the infrastructure to the machine", func(ctx SpecContext) {
		cloud := toyplatform.NewCloud()
		infrastructures, classes, servers := extension.Infrastructures(), extension.MachineClasses(), platforms.Machines()
		infrastructures[toyplatform.Platform] = toyplatform.NewInfrastructure(cloud)
		classes[toyplatform.Platform] = toyplatform.NewMachineClasses(cloud)
		servers[toyplatform.Platform] = toyplatform.NewMachines(cloud)

		profile, err := codec.DecodeBytes[v1alpha1.CloudProfileConfig]([]byte(cloudProfileConfig))
		Expect(err).NotTo(HaveOccurred())
		config, err := codec.DecodeBytes[v1alpha1.InfrastructureConfig]([]byte(infrastructureConfig))
		Expect(err).NotTo(HaveOccurred())
		sites, err := site.Resolve(site.Input{Shoot: "shoot--p--s", Profile: profile, Config: config})
		Expect(err).NotTo(HaveOccurred())
		s, zone := site.FindZone(sites, "desk-1")
		Expect(s.Platform).To(Equal(toyapi.Platform))

		toyInfrastructure, err := infrastructures.For(s.Platform)
		Expect(err).NotTo(HaveOccurred())
		state := &v1alpha1.InfrastructureState{}
		status, err := toyInfrastructure.Reconcile(ctx, s, func(_ context.Context, siteState *v1alpha1.SiteState) error {
			state.Sites = append(state.Sites, *siteState)
			return nil
		})
		Expect(err).NotTo(HaveOccurred())

		toyClasses, err := classes.For(s.Platform)
		Expect(err).NotTo(HaveOccurred())
		spec := &v1alpha1.MachineProviderSpec{Site: s.Name, Shoot: s.Shoot}
		Expect(toyClasses.Resolve(ctx, platform.MachineClassRequest{
			Site: s, Status: status, Zone: zone,
			MachineType: &profile.MachineTypes[0].Sites[0],
			Image:       &profile.MachineImages[0].Versions[0].CapabilityFlavors[0].Sites[0],
		}, spec)).To(Succeed())
		raw, err := codec.Encode(spec)
		Expect(err).NotTo(HaveOccurred())

		d := machine.NewDriver(servers, machine.DefaultTimeouts())
		class := &machinev1alpha1.MachineClass{Provider: machine.Provider, ProviderSpec: *raw}
		m := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "machine-1"}}
		secret := &corev1.Secret{Data: map[string][]byte{"userData": []byte("#!/bin/sh")}}
		_, err = d.CreateMachine(ctx, &driver.CreateMachineRequest{Machine: m, MachineClass: class, Secret: secret})
		Expect(err).NotTo(HaveOccurred())
		Expect(cloud.Machines("desk")).To(ConsistOf("machine-1"))

		volumes, err := d.GetVolumeIDs(ctx, &driver.GetVolumeIDsRequest{PVSpecs: []*corev1.PersistentVolumeSpec{
			volume("csi.toy.example.com", "toy"), volume("cinder.csi.openstack.org", "openstack"), volume("nfs.csi.k8s.io", "nfs"),
		}})
		Expect(err).NotTo(HaveOccurred())
		Expect(volumes.VolumeIDs).To(Equal([]string{"toy", "openstack"}))

		_, err = d.DeleteMachine(ctx, &driver.DeleteMachineRequest{Machine: m, MachineClass: class, Secret: secret})
		Expect(err).NotTo(HaveOccurred())
		Expect(cloud.Machines("desk")).To(BeEmpty())

		By("deleting the site, which is no longer in the CloudProfile, with what the state knows")
		raw, err = codec.Encode(state)
		Expect(err).NotTo(HaveOccurred())
		state, err = codec.Decode[v1alpha1.InfrastructureState](raw)
		Expect(err).NotTo(HaveOccurred())
		sites, err = site.Resolve(site.Input{Shoot: "shoot--p--s", State: state, Profile: &v1alpha1.CloudProfileConfig{},
			Config: &v1alpha1.InfrastructureConfig{}})
		Expect(err).NotTo(HaveOccurred())
		Expect(sites).To(HaveLen(1))
		Expect(sites[0].Platform).To(Equal(toyapi.Platform))
		Expect(sites[0].Removed()).To(BeTrue())
		Expect(toyInfrastructure.Delete(ctx, &sites[0], nil)).To(Succeed())
	})
})

func volume(driverName, handle string) *corev1.PersistentVolumeSpec {
	return &corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
		CSI: &corev1.CSIPersistentVolumeSource{Driver: driverName, VolumeHandle: handle},
	}}
}
