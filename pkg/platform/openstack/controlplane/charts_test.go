// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"

	"github.com/gardener/gardener/pkg/chartrenderer"
	gardenerimagevector "github.com/gardener/gardener/pkg/utils/imagevector"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/version"
	vpaautoscalingv1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/charts"
	"github.com/gardener/gardener-extension-provider-hybrid/imagevector"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var update = flag.Bool("update", false, "write the files in testdata")

// images are those of the newest version of Kubernetes.
func images(names []string) map[string]string {
	GinkgoHelper()
	result := map[string]string{}
	for _, name := range names {
		image, err := imagevector.ImageVector().FindImage(name, gardenerimagevector.TargetVersion("1.36.1"))
		Expect(err).NotTo(HaveOccurred())
		result[name] = image.String()
	}
	return result
}

// renderChart renders a chart with nothing but the sub-chart, and returns its objects.
func renderChart(chart string, global map[string]any, values any, imageNames []string) []byte {
	GinkgoHelper()
	return renderSubChart(chart, chartName, global, values, imageNames)
}

func renderSubChart(chart, name string, global map[string]any, values any, imageNames []string) []byte {
	GinkgoHelper()
	encoded, err := json.Marshal(values)
	Expect(err).NotTo(HaveOccurred())
	subChart := map[string]any{}
	Expect(json.Unmarshal(encoded, &subChart)).To(Succeed())
	subChart["enabled"], subChart["images"] = true, images(imageNames)

	renderer := chartrenderer.NewWithServerVersion(&version.Info{GitVersion: "v1.36.1"})
	rendered, err := renderer.RenderEmbeddedFS(charts.Internal, filepath.Join(charts.InternalPath, chart), chart, shootID,
		map[string]any{"global": global, name: subChart})
	Expect(err).NotTo(HaveOccurred())
	return rendered.Manifest()
}

// objects decodes the objects that Kubernetes itself has, and fails if one has a field that its kind has not.
func objects(manifest []byte) []runtime.Object {
	GinkgoHelper()
	known := runtime.NewScheme()
	Expect(scheme.AddToScheme(known)).To(Succeed())
	Expect(vpaautoscalingv1.AddToScheme(known)).To(Succeed())
	decoder := serializer.NewCodecFactory(known, serializer.EnableStrict).UniversalDeserializer()

	var result []runtime.Object
	for document := range bytes.SplitSeq(manifest, []byte("\n---\n")) {
		content := map[string]any{}
		Expect(yaml.UnmarshalStrict(document, &content)).To(Succeed())
		if len(content) == 0 || content["apiVersion"] == "monitoring.coreos.com/v1" {
			continue
		}
		object, _, err := decoder.Decode(document, nil, nil)
		Expect(err).NotTo(HaveOccurred(), string(document))
		result = append(result, object)
	}
	return result
}

func find[T runtime.Object](objects []runtime.Object) []T {
	var result []T
	for _, object := range objects {
		if typed, ok := object.(T); ok {
			result = append(result, typed)
		}
	}
	return result
}

func expectGolden(name string, manifest []byte) {
	GinkgoHelper()
	path := filepath.Join("testdata", name)
	if *update {
		Expect(os.WriteFile(path, manifest, 0o600)).To(Succeed())
	}
	golden, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	Expect(string(manifest)).To(Equal(string(golden)), "run the tests with -update and look at what changed")
}

var _ = Describe("Charts", func() {
	var (
		storage  *platform.Storage
		subChart = New().StorageChart()
	)

	BeforeEach(func() {
		var err error
		storage, err = New().Storage([]platform.ControlPlaneSite{newSite("cloud"), newSite("burst")})
		Expect(err).NotTo(HaveOccurred())
	})

	Describe("in the seed", func() {
		render := func(replicas int) []byte {
			return renderChart(charts.SeedControlPlane, map[string]any{
				"replicas": replicas, "genericTokenKubeconfigSecretName": "generic-token-kubeconfig-92e9ae14", "kubernetesVersion": "1.36.1",
			}, storage.ControlPlane, subChart.ControlPlaneImages)
		}

		It("should be as they were", func() {
			expectGolden("seed-controlplane.yaml", render(1))
		})

		It("should use the images and the Secrets that are said to be used", func() {
			deployments := find[*appsv1.Deployment](objects(render(1)))
			Expect(deployments).To(HaveLen(1))
			pod := deployments[0].Spec.Template.Spec
			expectImages(pod, subChart.ControlPlaneImages)
			Expect(subChart.AccessSecrets).To(ConsistOf(deployments[0].Name))
			Expect(pod.Volumes).To(ContainElement(HaveField("Secret", HaveField("SecretName", subChart.Name+"-config"))))
			Expect(pod.Containers[0].Args).To(ContainElement("--cloud-config=/etc/csi-cinder/cloud.conf"))
			Expect(storage.Files).To(HaveKey("cloud.conf"))
		})

		It("should have places for the volumes of other sites while one site hangs", func() {
			workers := map[string]string{"csi-attacher": "--worker-threads=100", "csi-resizer": "--workers=100",
				"csi-snapshotter": "--worker-threads=100"}
			for _, container := range find[*appsv1.Deployment](objects(render(1)))[0].Spec.Template.Spec.Containers {
				if flag, ok := workers[container.Name]; ok {
					Expect(container.Args).To(ContainElement(flag), container.Name)
					delete(workers, container.Name)
				}
			}
			Expect(workers).To(BeEmpty())
		})

		It("should ask for little memory", func() {
			Expect(memory(find[*appsv1.Deployment](objects(render(1)))[0].Spec.Template.Spec)).To(BeNumerically("<=", 120))
		})

		It("should sleep with the shoot", func() {
			Expect(find[*appsv1.Deployment](objects(render(0)))[0].Spec.Replicas).To(HaveValue(BeZero()))
		})
	})

	Describe("in the shoot", func() {
		render := func(values any) []byte {
			return renderChart(charts.ShootSystemComponents, map[string]any{"kubernetesVersion": "1.36.1"}, values, subChart.ShootImages)
		}

		It("should be as they were", func() {
			expectGolden("shoot-system-components.yaml", render(storage.Shoot))
		})

		It("should serve the nodes of each site and no others", func() {
			sets := find[*appsv1.DaemonSet](objects(render(storage.Shoot)))
			Expect(sets).To(HaveLen(2))
			for i, name := range []string{"burst", "cloud"} {
				pod := sets[i].Spec.Template.Spec
				Expect(sets[i].Name).To(Equal("csi-cinder-node-" + name))
				Expect(pod.NodeSelector).To(Equal(map[string]string{"hybrid.provider.extensions.gardener.cloud/site": name}))
				Expect(pod.Containers[0].Args).To(ContainElement("--additional-topology=hybrid.provider.extensions.gardener.cloud/site=" + name))
				expectImages(pod, subChart.ShootImages)
				Expect(memory(pod)).To(BeNumerically("<=", 48))
			}
		})

		It("should name the site in the Secret of its classes, and nothing else", func() {
			secrets := map[string]map[string][]byte{}
			for _, secret := range find[*corev1.Secret](objects(render(storage.Shoot))) {
				Expect(secret.Namespace).To(Equal("kube-system"))
				secrets[secret.Name] = secret.Data
			}
			Expect(secrets).To(HaveLen(2))
			for _, class := range storage.Classes {
				Expect(secrets).To(HaveKeyWithValue(class.Parameters["csi.storage.k8s.io/provisioner-secret-name"],
					map[string][]byte{"cloud": []byte(class.Site)}))
			}
		})

		It("should do without sites", func() {
			Expect(find[*appsv1.DaemonSet](objects(render(shootValues{})))).To(BeEmpty())
		})
	})
})

func expectImages(pod corev1.PodSpec, names []string) {
	GinkgoHelper()
	expected := images(names)
	var used []string
	for _, container := range pod.Containers {
		used = append(used, container.Image)
	}
	Expect(used).To(HaveLen(len(expected)))
	for _, image := range expected {
		Expect(used).To(ContainElement(image))
	}
}

// memory is what the pod requests, in MiB.
func memory(pod corev1.PodSpec) int64 {
	var sum int64
	for _, container := range pod.Containers {
		sum += container.Resources.Requests.Memory().Value() >> 20
	}
	return sum
}
