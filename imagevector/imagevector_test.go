// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package imagevector_test

import (
	"os"
	"strings"

	"github.com/gardener/gardener/pkg/utils/imagevector"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	. "github.com/gardener/gardener-extension-provider-hybrid/imagevector"
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
