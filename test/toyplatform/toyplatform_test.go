// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package toyplatform_test

import (
	"bytes"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

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

// page tells how a platform is added, with this one as the example.
const page = "../../docs/development/adding-a-platform.md"

// documented returns the document of the page.
func documented[T any, P codec.Object[T]](kind string) P {
	GinkgoHelper()
	content, err := os.ReadFile(page)
	Expect(err).NotTo(HaveOccurred())
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(content, -1) {
		if bytes.Contains(block[1], []byte("kind: "+kind+"\n")) {
			document, err := codec.DecodeBytes[T, P](block[1])
			Expect(err).NotTo(HaveOccurred())
			return document
		}
	}
	Fail("no " + kind + " in " + page)
	return nil
}

var _ = Describe("A new platform", func() {
	It("costs one line in the registry of each consumer, from the infrastructure to the machine", func(ctx SpecContext) {
		cloud := toyplatform.NewCloud()
		infrastructures, classes, servers := extension.Infrastructures(), extension.MachineClasses(), platforms.Machines()
		infrastructures[toyplatform.Platform] = toyplatform.NewInfrastructure(cloud)
		classes[toyplatform.Platform] = toyplatform.NewMachineClasses(cloud)
		servers[toyplatform.Platform] = toyplatform.NewMachines(cloud)

		profile := documented[v1alpha1.CloudProfileConfig]("CloudProfileConfig")
		config := documented[v1alpha1.InfrastructureConfig]("InfrastructureConfig")
		pool := documented[v1alpha1.WorkerConfig]("WorkerConfig")
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
			Site: s, Status: status, Zone: zone, Pool: "a", Settings: pool.Site(s.Name),
			MachineType: &profile.MachineTypes[0].Sites[0],
			Image:       &profile.MachineImages[0].Versions[0].CapabilityFlavors[0].Sites[0],
		}, spec)).To(Succeed())
		Expect(cloud.Groups("desk")).To(ConsistOf("a/" + toyapi.GroupApart))
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

var _ = Describe("The page about new platforms", func() {
	It("names the types that have a block for each platform, and the methods of blocks", func() {
		const folder = "../../pkg/apis/hybrid/v1alpha1"
		var types, methods []string
		entries, err := os.ReadDir(folder)
		Expect(err).NotTo(HaveOccurred())
		for _, entry := range entries {
			if strings.HasSuffix(entry.Name(), "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, entry.Name()), nil, 0)
			Expect(err).NotTo(HaveOccurred())
			ast.Inspect(file, func(node ast.Node) bool {
				switch n := node.(type) {
				case *ast.TypeSpec:
					if object, ok := n.Type.(*ast.StructType); ok && slices.ContainsFunc(object.Fields.List, isBlocks) {
						types = append(types, n.Name.Name)
					}
				case *ast.InterfaceType:
					for _, method := range n.Methods.List {
						if len(method.Names) > 0 && method.Names[0].IsExported() {
							methods = append(methods, method.Names[0].Name)
						}
					}
				}
				return true
			})
		}
		Expect(types).NotTo(BeEmpty())
		Expect(methods).NotTo(BeEmpty())

		content, err := os.ReadFile(page)
		Expect(err).NotTo(HaveOccurred())
		list := regexp.MustCompile(`(?s)have a block for each platform:(.*?)\. The name`).FindSubmatch(content)
		Expect(list).To(HaveLen(2))
		Expect(inBackticks(list[1])).To(ConsistOf(types))
		table := regexp.MustCompile(`(?s)\| method \| blocks of .*?\n\n`).Find(content)
		var first []string
		for _, row := range regexp.MustCompile("(?m)^ *\\| (`\\w+`) \\|").FindAllSubmatch(table, -1) {
			first = append(first, inBackticks(row[1])...)
		}
		Expect(first).To(ConsistOf(methods))
	})
})

// isBlocks reports whether the field is the place for blocks of platforms that the type has no field for.
func isBlocks(field *ast.Field) bool {
	name, ok := field.Type.(*ast.Ident)
	return ok && len(field.Names) == 0 && name.Name == "Blocks"
}

func inBackticks(text []byte) []string {
	var names []string
	for _, name := range regexp.MustCompile("`(\\w+)`").FindAllSubmatch(text, -1) {
		names = append(names, string(name[1]))
	}
	return names
}

func volume(driverName, handle string) *corev1.PersistentVolumeSpec {
	return &corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
		CSI: &corev1.CSIPersistentVolumeSource{Driver: driverName, VolumeHandle: handle},
	}}
}
