// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"

	metalv1alpha1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/ignition"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/ironcore"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

const (
	rackLabel    = "rack"
	ironCoreTool = `{"ignition":{"version":"3.4.0"},"systemd":{"units":[{"name":"own.service"}]}}`
)

// newServers makes servers that no other container of specs uses, and waits until they are switched off after their discovery.
func newServers(ctx context.Context, rack string, count int, retain bool) []string {
	GinkgoHelper()
	names, err := landscape.MakeServers(ctx,
		metal.Batch{Prefix: rack, Count: count, Labels: map[string]string{rackLabel: rack}, Retain: retain})
	Expect(err).NotTo(HaveOccurred())
	for _, name := range names {
		Eventually(server(ctx, name), soon).Should(And(HaveField("State", "Available"), HaveField("On", false)))
	}
	return names
}

// newOwner is a shoot on the site.
func newOwner() owner.Owner {
	return owner.Owner{Shoot: newShoot(), Site: "racks"}
}

// newIronCore is the inventory as the driver of a process that just started has it.
func newIronCore(ctx context.Context, o owner.Owner) *ironcore.Inventory {
	GinkgoHelper()
	return ironcore.New(newSession(ctx, v1alpha1.MetalInventoryIronCore), inventory.Options{Owner: o, Watched: true})
}

// claimOf is what a machine wants of a server of the rack.
func claimOf(machine, rack string, tolerations ...corev1.Toleration) inventory.Claim {
	return inventory.Claim{
		Machine: machine,
		Selection: inventory.Selection{
			Selector:    labels.SelectorFromSet(labels.Set{rackLabel: rack}),
			Tolerations: tolerations,
			Cleaning:    v1alpha1.MetalCleaningDisabled,
		},
		Image: v1alpha1.MetalImage{URL: "oci://registry.example/os:1"},
		Data: func(context.Context, *inventory.Host) (inventory.Data, error) {
			return inventory.Data{UserData: []byte(ironCoreTool), NodeName: machine}, nil
		},
	}
}

// release releases the server of the machine, however long that takes.
func release(ctx context.Context, i inventory.Inventory, machine string) {
	GinkgoHelper()
	Eventually(ctx, func() error { return releaseOnce(ctx, i, machine) }, soon).Should(Succeed())
}

// releaseOnce begins to release the server of the machine.
func releaseOnce(ctx context.Context, i inventory.Inventory, machine string) error {
	_, err := i.Release(ctx, machine, "", v1alpha1.MetalCleaningDisabled)
	return err
}

func serverClaim(ctx context.Context, name string) *metalv1alpha1.ServerClaim {
	GinkgoHelper()
	claim := &metalv1alpha1.ServerClaim{}
	Expect(administrator().Get(ctx, client.ObjectKey{Namespace: metal.Namespace, Name: name}, claim)).To(Succeed())
	return claim
}

func secretOf(ctx context.Context, name string) *corev1.Secret {
	GinkgoHelper()
	secret := &corev1.Secret{}
	Expect(landscape.Client.Get(ctx, client.ObjectKey{Namespace: metal.Namespace, Name: name}, secret)).To(Succeed())
	return secret
}

// patchServer merges fields into a server.
func patchServer(ctx context.Context, name, patch string) {
	GinkgoHelper()
	server := &metalv1alpha1.Server{}
	server.Name = name
	Expect(administrator().Patch(ctx, server, client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
}

// administrator is an access that knows the types of metal-operator.
func administrator() client.Client {
	GinkgoHelper()
	scheme := runtime.NewScheme()
	Expect(corev1.AddToScheme(scheme)).To(Succeed())
	Expect(metalv1alpha1.AddToScheme(scheme)).To(Succeed())
	access, err := client.New(landscape.Cluster.Config, client.Options{Scheme: scheme, Mapper: landscape.Client.RESTMapper()})
	Expect(err).NotTo(HaveOccurred())
	return access
}

func server(ctx context.Context, name string) func(Gomega) metal.Host {
	return func(g Gomega) metal.Host {
		servers, err := landscape.Servers(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		return servers[name]
	}
}

// ignitionOf returns the files that the Ignition config of the machine adds, by their path.
func ignitionOf(ctx context.Context, machine string) map[string]string {
	GinkgoHelper()
	var config ignition.Config
	Expect(json.Unmarshal(secretOf(ctx, machine).Data["ignition"], &config)).To(Succeed())
	files := map[string]string{}
	for _, file := range config.Storage.Files {
		encoded, found := strings.CutPrefix(file.Contents.Source, "data:;base64,")
		Expect(found).To(BeTrue())
		content, err := base64.StdEncoding.DecodeString(encoded)
		Expect(err).NotTo(HaveOccurred())
		files[file.Path] = string(content)
	}
	return files
}
