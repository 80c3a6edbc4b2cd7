// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package imagevector_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/gardener/gardener/pkg/utils/imagevector"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	. "github.com/gardener/gardener-extension-provider-hybrid/imagevector"
)

const (
	csiModules    = "hack/landscape/binaries/csi/go.mod"
	metalLBModule = "hack/landscape/binaries/metallb/go.mod"
	generate      = "hack/generate.sh"
)

var _ = Describe("ImageVector", func() {
	var version string

	BeforeEach(func() {
		content, err := os.ReadFile("../VERSION")
		Expect(err).NotTo(HaveOccurred())
		version = strings.TrimSpace(string(content))
	})

	DescribeTable("images of our own have the version of the project",
		func(name string) {
			image, err := ImageVector().FindImage(name)
			Expect(err).NotTo(HaveOccurred())
			Expect(image.String()).To(HaveSuffix(":" + version))
		},
		Entry("extension", ImageNameExtension),
		Entry("driver", ImageNameMachineControllerManagerDriver),
		Entry("cloud-controller-manager", ImageNameCloudControllerManager),
		Entry("CSI driver for Cinder", ImageNameCinderCSIPlugin),
		Entry("CSI driver for Manila", ImageNameManilaCSIPlugin),
	)

	DescribeTable("the provisioner is one that knows the Kubernetes version of the shoot",
		func(kubernetesVersion, tag string) {
			image, err := ImageVector().FindImage(ImageNameCSIProvisioner, imagevector.TargetVersion(kubernetesVersion))
			Expect(err).NotTo(HaveOccurred())
			Expect(image.String()).To(HaveSuffix(":" + tag))
		},
		Entry("the oldest", "1.32.0", "v5.3.0"),
		Entry("the last without stable VolumeAttributesClasses", "1.33.9", "v5.3.0"),
		Entry("the first with them", "1.34.0", "v6.3.0"),
		Entry("the newest", "1.36.1", "v6.3.0"),
	)

	// What the landscape runs is what is shipped: images have no other versions than the modules and copies of the same project.
	DescribeTable("images have the version that is tested",
		func(image, file, pattern string, options ...string) {
			tag := ""
			for _, source := range ImageVector() {
				if source.Name == image {
					tag = *source.Tag // the last is the newest
				}
			}
			Expect(tag).NotTo(BeEmpty())
			if len(options) > 0 {
				Expect(tag).To(Equal(options[0]), "the exception is over: %s", options[1])
				tag = options[2]
			}
			content, err := os.ReadFile(filepath.Join("..", file))
			Expect(err).NotTo(HaveOccurred())
			found := regexp.MustCompile(`(?m)`+pattern).FindAllStringSubmatch(string(content), -1)
			Expect(found).NotTo(BeEmpty())
			Expect(found).To(HaveEach(HaveExactElements(Not(BeEmpty()), Equal(tag))))
		},
		Entry("attacher", ImageNameCSIAttacher, csiModules, `external-attacher/v4 (v\S+)`),
		Entry("provisioner", ImageNameCSIProvisioner, csiModules, `external-provisioner/v6 (v\S+)`),
		Entry("resizer", ImageNameCSIResizer, csiModules, `external-resizer/v2 (v\S+)`,
			"v2.2.1", "its sources are those of v2.2.0 with newer libraries, which the landscape has, too, and it is no module", "v2.2.0"),
		Entry("snapshotter", ImageNameCSISnapshotter, csiModules, `external-snapshotter/v8 (v\S+)`),
		Entry("snapshot controller", ImageNameCSISnapshotController, csiModules, `external-snapshotter/v8 (v\S+)`),
		Entry("definitions of snapshots", ImageNameCSISnapshotController, generate, `external-snapshotter/client/v8@(v\S+)`),
		Entry("driver for vSphere", ImageNameVSphereCSIDriver, "hack/vsphere-csi.sh", `^version=(v\S+)`),
		Entry("syncer for vSphere", ImageNameVSphereCSISyncer, "hack/vsphere-csi.sh", `^version=(v\S+)`),
		Entry("definitions of the driver for vSphere", ImageNameVSphereCSIDriver, generate, `vsphere-csi-driver/v3@(v\S+)`),
		Entry("provisioner of local volumes", ImageNameLocalPathProvisioner, "hack/landscape/binaries/localvolumes/go.mod",
			`local-path-provisioner (v\S+)`),
		Entry("controller of MetalLB", ImageNameMetalLBController, metalLBModule, `go.universe.tf/metallb (v\S+)`),
		Entry("speaker of MetalLB", ImageNameMetalLBSpeaker, metalLBModule, `go.universe.tf/metallb (v\S+)`),
		Entry("definitions of MetalLB", ImageNameMetalLBController, generate, `go.universe.tf/metallb@(v\S+)`),
	)

	It("should take digests of all images instead of versions", func() {
		digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
		var overwrite []string
		for _, source := range ImageVector() {
			reference := "ref: registry.example.com/" + source.Name + ":v1@" + digest
			if len(overwrite)%2 == 0 { // both forms
				reference = "repository: registry.example.com/" + source.Name + "\n  tag: " + digest
			}
			entry := "- name: " + source.Name + "\n  " + reference + "\n"
			if source.TargetVersion != nil {
				entry += "  targetVersion: \"" + *source.TargetVersion + "\"\n"
			}
			overwrite = append(overwrite, entry)
		}
		file := filepath.Join(GinkgoT().TempDir(), "images.yaml")
		Expect(os.WriteFile(file, []byte("images:\n"+strings.Join(overwrite, "")), 0o600)).To(Succeed())
		GinkgoT().Setenv(imagevector.OverrideEnv, file)
		overwritten, _, err := imagevector.WithEnvOverride(ImageVector(), nil, imagevector.OverrideEnv)
		Expect(err).NotTo(HaveOccurred())
		for _, source := range ImageVector() {
			for _, kubernetesVersion := range []string{"1.32.0", "1.36.1"} {
				image, err := overwritten.FindImage(source.Name, imagevector.TargetVersion(kubernetesVersion))
				Expect(err).NotTo(HaveOccurred())
				Expect(image.String()).To(And(HavePrefix("registry.example.com/"+source.Name), HaveSuffix("@"+digest),
					Not(ContainSubstring("@"+digest+"@"))))
			}
		}
	})

	It("should deploy the extension with its image", func() {
		content, err := os.ReadFile("../charts/gardener-extension-provider-hybrid/values.yaml")
		Expect(err).NotTo(HaveOccurred())
		var values struct {
			Image string `json:"image"`
		}
		Expect(yaml.Unmarshal(content, &values)).To(Succeed())
		image, err := ImageVector().FindImage(ImageNameExtension)
		Expect(err).NotTo(HaveOccurred())
		Expect(values.Image).To(Equal(image.String()))
	})
})
