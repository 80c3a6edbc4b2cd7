// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// documents are those of a file in example/.
func documents(file string) [][]byte {
	GinkgoHelper()
	data, err := os.ReadFile(filepath.Join(landscape.Root(), "example", file))
	Expect(err).NotTo(HaveOccurred())
	return bytes.Split(data, []byte("\n---\n"))
}

// read returns the only object of a file in example/.
func read[T any](file string) *T {
	GinkgoHelper()
	all := documents(file)
	Expect(all).To(HaveLen(1), file)
	object := new(T)
	Expect(yaml.UnmarshalStrict(all[0], object)).To(Succeed(), file)
	return object
}

// createAll creates the objects of files in example/.
func createAll(ctx context.Context, files ...string) {
	GinkgoHelper()
	for _, file := range files {
		for _, document := range documents(file) {
			object := &unstructured.Unstructured{}
			Expect(yaml.Unmarshal(document, object)).To(Succeed(), file)
			Expect(garden.Client.Create(ctx, object)).To(Succeed(), file)
		}
	}
}

var _ = Describe("Examples", func() {
	DescribeTable("of CloudProfiles are accepted", func(ctx SpecContext, file string) {
		profile := read[gardencorev1beta1.CloudProfile](file)
		profile.Name = "new"
		Expect(garden.Client.Create(ctx, profile, client.DryRunAll)).To(Succeed())
	},
		Entry("two OpenStack sites", profileFile),
		Entry("OpenStack and vSphere", "openstack-vsphere/20-cloudprofile.yaml"),
		Entry("OpenStack, vSphere and bare metal", "openstack-vsphere-metal/20-cloudprofile.yaml"),
		Entry("OpenStack and own hosts", "static/20-cloudprofile.yaml"),
		Entry("all platforms", allPlatformsProfile),
	)

	DescribeTable("of Shoots of a folder are accepted", func(ctx SpecContext, folder string) {
		profile := read[gardencorev1beta1.CloudProfile](filepath.Join(folder, profileFile))
		profile.Name = folder
		Expect(garden.Client.Create(ctx, profile)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(garden.Client.Delete(ctx, profile)).To(Succeed()) })
		shoot := newShoot(filepath.Join(folder, shootFile))
		shoot.Spec.CloudProfile.Name = profile.Name
		// The webhooks know the CloudProfile a moment later.
		Eventually(func() error { return garden.Client.Create(ctx, shoot.DeepCopy(), client.DryRunAll) }).WithTimeout(10 * time.Second).
			Should(Succeed())
	},
		Entry("OpenStack and vSphere", "openstack-vsphere"),
		Entry("OpenStack, vSphere and bare metal", "openstack-vsphere-metal"),
		Entry("OpenStack and own hosts", "static"),
	)

	DescribeTable("of Shoots are accepted", func(ctx SpecContext, file string) {
		Expect(garden.Client.Create(ctx, newShoot(file), client.DryRunAll)).To(Succeed())
	},
		Entry("two OpenStack sites", shootFile),
		Entry("all platforms", allPlatforms),
	)

	DescribeTable("of existing Shoots can be written again", acceptChangedShoot(allPlatforms),
		accepted("unchanged", func(*gardencorev1beta1.Shoot) {}),
		accepted("with another label", func(shoot *gardencorev1beta1.Shoot) {
			shoot.Labels = map[string]string{"a": "b"}
		}),
	)
})
