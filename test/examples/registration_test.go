// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package examples_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	gardencorev1 "github.com/gardener/gardener/pkg/apis/core/v1"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	operatorv1alpha1 "github.com/gardener/gardener/pkg/apis/operator/v1alpha1"
	gardenerimagevector "github.com/gardener/gardener/pkg/utils/imagevector"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/imagevector"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = Describe("Registration", func() {
	var (
		deployment   gardencorev1.ControllerDeployment
		registration gardencorev1beta1.ControllerRegistration
		extension    operatorv1alpha1.Extension
	)

	BeforeEach(func() {
		deployment, registration = gardencorev1.ControllerDeployment{}, gardencorev1beta1.ControllerRegistration{}
		data, err := os.ReadFile(filepath.Join("..", "..", "example", "controller-registration.yaml"))
		Expect(err).NotTo(HaveOccurred())
		documents := bytes.Split(data, []byte("\n---\n"))
		Expect(documents).To(HaveLen(2))
		Expect(yaml.UnmarshalStrict(documents[0], &deployment)).To(Succeed())
		Expect(yaml.UnmarshalStrict(documents[1], &registration)).To(Succeed())
		extension = readOne[operatorv1alpha1.Extension]("extension.yaml")
	})

	It("should name the deployment of the registration", func() {
		Expect(registration.Spec.Deployment.DeploymentRefs).To(ConsistOf(HaveField("Name", deployment.Name)))
	})

	It("should register the same with and without gardener-operator", func() {
		Expect(extension.Spec.Resources).To(Equal(registration.Spec.Resources))
		Expect(extension.Spec.Resources).To(HaveEach(HaveField("Type", HavePrefix(v1alpha1.ProviderType))))
		Expect(extension.Annotations).To(Equal(registration.Annotations))
		Expect(extension.Spec.Deployment.ExtensionDeployment.Values.Raw).To(MatchJSON(deployment.Helm.Values.Raw))
	})

	It("should say where all images of our own are", func() {
		var values struct {
			Image                string `json:"image"`
			ImageVectorOverwrite string `json:"imageVectorOverwrite"`
		}
		Expect(yaml.UnmarshalStrict(deployment.Helm.Values.Raw, &values)).To(Succeed())
		registry, _, _ := strings.Cut(values.Image, "/")
		overwrite, _, err := gardenerimagevector.Read([]byte(values.ImageVectorOverwrite))
		Expect(err).NotTo(HaveOccurred())
		for _, image := range gardenerimagevector.MergeImageVectors(imagevector.ImageVector(), overwrite) {
			if image.Name != imagevector.ImageNameExtension { // which is the value image
				Expect(*image.Repository).To(ContainSubstring("."), "the repository of %s has no registry", image.Name)
			}
		}
		for _, image := range overwrite {
			current, err := imagevector.ImageVector().FindImage(image.Name)
			Expect(err).NotTo(HaveOccurred(), "is of our own")
			Expect(image.ToImage(nil).String()).To(Equal(registry + "/" + current.String()))
		}
	})
})
