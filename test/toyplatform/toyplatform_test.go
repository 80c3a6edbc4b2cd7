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
)

var _ = Describe("A new platform", func() {
	It("costs one line in the registry of each consumer, from the infrastructure to the machine", func(ctx SpecContext) {
		cloud := toyplatform.NewCloud()
		infrastructures, classes, servers := extension.Infrastructures(), extension.MachineClasses(), platforms.Machines()
		infrastructures[toyplatform.Platform] = toyplatform.NewInfrastructure(cloud)
		classes[toyplatform.Platform] = toyplatform.NewMachineClasses(cloud)
		servers[toyplatform.Platform] = toyplatform.NewMachines(cloud)

		sites, err := site.Resolve(site.Input{
			Shoot: "shoot--p--s",
			Profile: &v1alpha1.CloudProfileConfig{Sites: []v1alpha1.CloudProfileSite{{
				Name: "racks", Region: "west", Metal: &v1alpha1.MetalProfile{}, Zones: []v1alpha1.SiteZone{{Name: "rack-1"}},
			}}},
			Config: &v1alpha1.InfrastructureConfig{
				Networks: v1alpha1.Networks{Topology: v1alpha1.TopologyRouted},
				Sites:    []v1alpha1.InfrastructureSite{{Name: "racks", Nodes: []string{"10.250.0.0/18"}}},
			},
		})
		Expect(err).NotTo(HaveOccurred())
		s, zone := site.FindZone(sites, "rack-1")

		toyInfrastructure, err := infrastructures.For(s.Platform)
		Expect(err).NotTo(HaveOccurred())
		status, err := toyInfrastructure.Reconcile(ctx, s, func(context.Context, *v1alpha1.SiteState) error { return nil })
		Expect(err).NotTo(HaveOccurred())

		toyClasses, err := classes.For(s.Platform)
		Expect(err).NotTo(HaveOccurred())
		spec := &v1alpha1.MachineProviderSpec{Site: s.Name, Shoot: s.Shoot}
		Expect(toyClasses.Resolve(ctx, platform.MachineClassRequest{
			Site: s, Status: status, Zone: zone,
			MachineType: &v1alpha1.SiteMachineType{Name: s.Name, Metal: &v1alpha1.MetalMachineType{}},
			Image:       &v1alpha1.SiteMachineImage{Name: s.Name, Metal: &v1alpha1.MetalImage{URL: "https://images/linux"}},
		}, spec)).To(Succeed())
		raw, err := codec.Encode(spec)
		Expect(err).NotTo(HaveOccurred())

		d := machine.NewDriver(servers, machine.DefaultTimeouts())
		class := &machinev1alpha1.MachineClass{Provider: machine.Provider, ProviderSpec: *raw}
		m := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "machine-1"}}
		secret := &corev1.Secret{Data: map[string][]byte{"userData": []byte("#!/bin/sh")}}
		_, err = d.CreateMachine(ctx, &driver.CreateMachineRequest{Machine: m, MachineClass: class, Secret: secret})
		Expect(err).NotTo(HaveOccurred())
		Expect(cloud.Machines("racks")).To(ConsistOf("machine-1"))

		volumes, err := d.GetVolumeIDs(ctx, &driver.GetVolumeIDsRequest{PVSpecs: []*corev1.PersistentVolumeSpec{
			volume("csi.toy.example.com", "toy"), volume("cinder.csi.openstack.org", "openstack"), volume("nfs.csi.k8s.io", "nfs"),
		}})
		Expect(err).NotTo(HaveOccurred())
		Expect(volumes.VolumeIDs).To(Equal([]string{"toy", "openstack"}))

		_, err = d.DeleteMachine(ctx, &driver.DeleteMachineRequest{Machine: m, MachineClass: class, Secret: secret})
		Expect(err).NotTo(HaveOccurred())
		Expect(cloud.Machines("racks")).To(BeEmpty())
		Expect(toyInfrastructure.Delete(ctx, s, nil)).To(Succeed())
	})
})

func volume(driverName, handle string) *corev1.PersistentVolumeSpec {
	return &corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
		CSI: &corev1.CSIPersistentVolumeSource{Driver: driverName, VolumeHandle: handle},
	}}
}
