// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"
)

const (
	profileManifest = `
apiVersion: core.gardener.cloud/v1beta1
kind: CloudProfile
metadata: {name: hybrid}
spec:
  type: hybrid
  machineTypes:
  - {name: small, cpu: "1", gpu: "0", memory: 2Gi}
  providerConfig:
    apiVersion: hybrid.provider.extensions.gardener.cloud/v1alpha1
    kind: CloudProfileConfig
    sites: [{name: cloud, region: local}]
    machineTypes: [{name: small}]
`
	namespacedManifest = `
apiVersion: core.gardener.cloud/v1beta1
kind: NamespacedCloudProfile
metadata: {name: own, namespace: garden-local}
spec:
  parent: {kind: CloudProfile, name: hybrid}
  machineTypes:
  - {name: large, cpu: "8", gpu: "0", memory: 32Gi}
  providerConfig:
    apiVersion: hybrid.provider.extensions.gardener.cloud/v1alpha1
    kind: CloudProfileConfig
    machineTypes: [{name: large}]
`
	shootManifest = `
apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: {name: first, namespace: garden-local}
spec:
  cloudProfile: {name: hybrid}
  region: local
  seedName: seed
  credentialsBindingName: credentials
  provider:
    type: hybrid
    workers:
    - {name: pool, minimum: 1, maximum: 2, machine: {type: small}, zones: [cloud-a]}
`
	bindingManifest = `
apiVersion: security.gardener.cloud/v1alpha1
kind: CredentialsBinding
metadata: {name: credentials, namespace: garden-local}
provider: {type: hybrid}
credentialsRef: {apiVersion: v1, kind: Secret, namespace: garden-team, name: sites}
`
	secretManifest = `
apiVersion: v1
kind: Secret
metadata: {name: sites, namespace: garden-team}
stringData: {cloud.password: top-secret}
`
	seedManifest = `
apiVersion: core.gardener.cloud/v1beta1
kind: Seed
metadata: {name: seed}
`
)

// object returns the object of a manifest.
func object[T client.Object](manifest string, into T) T {
	GinkgoHelper()
	Expect(yaml.Unmarshal([]byte(manifest), into)).To(Succeed())
	return into
}

var _ = Describe("Inputs", func() {
	var (
		dir   string
		notes bytes.Buffer
		in    *inputs
	)

	BeforeEach(func() {
		dir = GinkgoT().TempDir()
		notes.Reset()
		in = &inputs{streams: Streams{In: strings.NewReader(""), Err: &notes}}
	})

	file := func(name string, documents ...string) string {
		GinkgoHelper()
		path := filepath.Join(dir, name)
		Expect(os.WriteFile(path, []byte(strings.Join(documents, "\n---\n")), 0o600)).To(Succeed())
		return path
	}
	fake := func(objects ...client.Object) client.WithWatch {
		return fakeclient.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	}

	Describe("from manifests", func() {
		It("should read several documents of a file, of a folder and of the standard input", func(ctx SpecContext) {
			file("shoot.yaml", shootManifest, bindingManifest)
			file("more.yml", "# nothing but a comment", secretManifest, seedManifest)
			file("notes.txt", "not a manifest")
			in.streams.In = strings.NewReader(profileManifest)
			in.files = []string{dir, "-"}

			input, err := in.load(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(input.Cluster.ObjectMeta.Name).To(Equal("shoot--local--first"))
			Expect(input.Cluster.CloudProfile.Name).To(Equal("hybrid"))
			Expect(input.Cluster.Seed.Name).To(Equal("seed"))
			Expect(input.Cluster.Shoot.Name).To(Equal("first"))
			Expect(input.Secret.Data).To(HaveKeyWithValue("cloud.password", []byte("top-secret")))
			Expect(input.Infrastructure).To(BeNil())
			Expect(input.Worker).To(BeNil())
			Expect(input.Seed).To(BeNil())
			Expect(notes.String()).To(BeEmpty())
		})

		It("should give the Shoot the defaults of Gardener and of admission", func(ctx SpecContext) {
			in.files = []string{file("all.yaml", shootManifest, profileManifest)}
			input, err := in.load(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(input.Cluster.Shoot.Spec.Provider.Workers[0].MaxSurge).NotTo(BeNil())
			Expect(input.Cluster.Shoot.Spec.Networking).NotTo(BeNil())
		})

		It("should merge a NamespacedCloudProfile with its parent", func(ctx SpecContext) {
			in.files = []string{file("all.yaml", strings.Replace(shootManifest, "{name: hybrid}", "{kind: NamespacedCloudProfile, name: own}", 1),
				profileManifest, namespacedManifest)}
			input, err := in.load(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(input.Cluster.CloudProfile.Name).To(Equal("own"))
			Expect(input.Cluster.CloudProfile.Spec.MachineTypes).To(HaveLen(2))
			Expect(string(input.Cluster.CloudProfile.Spec.ProviderConfig.Raw)).To(And(ContainSubstring(`"small"`), ContainSubstring(`"large"`)))
		})

		It("should read what a seed has", func(ctx SpecContext) {
			in.files = []string{filepath.Join("..", "..", "..", "example", "openstack-vsphere")}
			input, err := in.load(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(input.Cluster.ObjectMeta.Name).To(Equal("shoot--local--hybrid"))
			Expect(input.Cluster.CloudProfile.Name).To(Equal("hybrid"))
			Expect(input.Infrastructure).NotTo(BeNil())
			Expect(input.Worker).NotTo(BeNil())
			Expect(input.Secret.Name).To(Equal("cloudprovider"))
			Expect(notes.String()).To(BeEmpty())
		})

		It("should let commands read machines, and refuse to write", func(ctx SpecContext) {
			in.files = []string{file("all.yaml", shootManifest, profileManifest, `
apiVersion: v1
kind: List
items:
- apiVersion: extensions.gardener.cloud/v1alpha1
  kind: Worker
  metadata: {name: first, namespace: shoot--local--first}
- apiVersion: machine.sapcloud.io/v1alpha1
  kind: MachineDeployment
  metadata: {name: pool, namespace: shoot--local--first, labels: {pool: pool}}
- apiVersion: machine.sapcloud.io/v1alpha1
  kind: MachineDeployment
  metadata: {name: pool, namespace: shoot--local--other, labels: {pool: pool}}`)}
			input, err := in.load(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(input.Worker).NotTo(BeNil())
			deployments := &machinev1alpha1.MachineDeploymentList{}
			Expect(input.Seed.List(ctx, deployments, client.InNamespace("shoot--local--first"), client.MatchingLabels{"pool": "pool"})).To(Succeed())
			Expect(deployments.Items).To(HaveLen(1))
			deployment := &deployments.Items[0]
			Expect(input.Seed.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)).To(Succeed())
			Expect(input.Seed.Delete(ctx, deployment)).NotTo(Succeed())
			Expect(input.Seed.Update(ctx, deployment)).NotTo(Succeed())
		})

		It("should take one of several Shoots and Secrets", func(ctx SpecContext) {
			other := strings.Replace(shootManifest, "name: first", "name: second", 1)
			in.files = []string{file("all.yaml", shootManifest, other, profileManifest, secretManifest,
				strings.Replace(secretManifest, "name: sites", "name: others", 1))}
			_, err := in.load(ctx)
			Expect(err).To(MatchError("the manifests have several Shoots: set --shoot"))

			in.shoot = "second"
			_, err = in.load(ctx)
			Expect(err).To(MatchError("the manifests have several Secrets: add the CredentialsBinding of the Shoot"))

			in.files = append(in.files, file("binding.yaml", bindingManifest))
			input, err := in.load(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(input.Cluster.Shoot.Name).To(Equal("second"))
			Expect(input.Secret.Name).To(Equal("sites"))
		})

		It("should do without a Shoot", func(ctx SpecContext) {
			in.files = []string{file("profile.yaml", profileManifest, secretManifest)}
			input, err := in.load(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(input.Cluster.Shoot).To(BeNil())
			Expect(input.Cluster.CloudProfile.Name).To(Equal("hybrid"))
			Expect(input.Secret).NotTo(BeNil())
		})

		It("should ignore other kinds and tell unknown fields", func(ctx SpecContext) {
			in.files = []string{file("all.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"\\e[2J\"}",
				profileManifest+"  unknownField: true", secretManifest+"password: top-secret")}
			_, err := in.load(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(notes.String()).To(And(
				ContainSubstring("all.yaml, document 1 is ignored: its kind is ConfigMap of v1"),
				ContainSubstring(`all.yaml, document 2: strict decoding error: unknown field "spec.unknownField"`)))
			Expect(notes.String()).NotTo(ContainSubstring("document 3"))
		})

		DescribeTable("should refuse what is not valid, without its content",
			func(ctx SpecContext, message string, documents ...string) {
				in.files = []string{file("all.yaml", documents...)}
				_, err := in.load(ctx)
				Expect(err).To(MatchError(ContainSubstring(message)))
				Expect(err.Error()).NotTo(ContainSubstring("top-secret"))
			},
			Entry("no YAML", "all.yaml, document 2 is not valid YAML (line 5)", profileManifest,
				"kind: Secret\nstringData:\n  a: 'top-secret\n b: [", shootManifest),
			Entry("an unknown alias in a Secret", "all.yaml, document 1 is not valid YAML", "kind: Secret\npassword: *top-secret"),
			Entry("no object", "all.yaml, document 1 is not an object with apiVersion and kind", "top-secret"),
			Entry("no kind", "all.yaml, document 1 is not an object with apiVersion and kind", "password: top-secret"),
			Entry("a Secret whose data is no base64", "all.yaml, document 1 is not a valid Secret",
				"apiVersion: v1\nkind: Secret\ndata: {password: top-secret}"),
			Entry("a Secret whose data is of another type", "all.yaml, document 1 is not a valid Secret",
				"apiVersion: v1\nkind: Secret\ndata: top-secret"),
			Entry("a Shoot with a field of another type", "all.yaml, document 2 is not a valid Shoot: ", profileManifest,
				"apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nspec: {region: {}}"),
			Entry("an item of a list", "all.yaml, document 1, item 2 is not a valid Secret",
				"apiVersion: v1\nkind: SecretList\nitems:\n- {apiVersion: v1, kind: Secret}\n- {apiVersion: v1, kind: Secret, data: top-secret}"),
			Entry("no CloudProfile", "the CloudProfile of the Shoot is missing", shootManifest),
			Entry("several CloudProfiles", "the manifests have 2 CloudProfiles and no Shoot", profileManifest, profileManifest),
		)

		It("should refuse files that do not exist or are too large", func(ctx SpecContext) {
			in.files = []string{filepath.Join(dir, "missing.yaml")}
			_, err := in.load(ctx)
			Expect(err).To(MatchError(ContainSubstring("missing.yaml\" cannot be read: no such file or directory")))

			in.files = []string{file("large.yaml", strings.Repeat("#", maxManifest+1))}
			_, err = in.load(ctx)
			Expect(err).To(MatchError(ContainSubstring("large.yaml is larger than 16 MiB")))
		})
	})

	Describe("from a garden and a seed", func() {
		var garden, seed client.WithWatch

		BeforeEach(func() {
			shoot := object(shootManifest, &gardencorev1beta1.Shoot{})
			shoot.Status.TechnicalID = "shoot--local--first"
			shoot.Annotations = map[string]string{"garden": "true"}
			garden = fake(shoot, object(profileManifest, &gardencorev1beta1.CloudProfile{}),
				object(seedManifest, &gardencorev1beta1.Seed{}))
			cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "shoot--local--first"}}
			deployed := shoot.DeepCopy()
			deployed.TypeMeta = metav1.TypeMeta{APIVersion: gardencorev1beta1.SchemeGroupVersion.String(), Kind: "Shoot"}
			var err error
			cluster.Spec.Shoot.Raw, err = json.Marshal(deployed)
			Expect(err).NotTo(HaveOccurred())
			cluster.Spec.CloudProfile.Raw, err = yaml.YAMLToJSON([]byte(profileManifest))
			Expect(err).NotTo(HaveOccurred())
			meta := metav1.ObjectMeta{Name: "first", Namespace: "shoot--local--first"}
			seed = fake(cluster, &extensionsv1alpha1.Infrastructure{ObjectMeta: meta}, &extensionsv1alpha1.Worker{ObjectMeta: meta},
				&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cloudprovider", Namespace: "shoot--local--first"}})
			in.namespace, in.shoot = "garden-local", "first"
		})

		It("should read the Shoot of the garden and the objects of the seed", func(ctx SpecContext) {
			input, err := in.loadFrom(ctx, &sources{garden: garden, seed: seed})
			Expect(err).NotTo(HaveOccurred())
			Expect(input.Cluster.ObjectMeta.Name).To(Equal("shoot--local--first"))
			Expect(input.Cluster.Seed.Name).To(Equal("seed"))
			Expect(input.Infrastructure).NotTo(BeNil())
			Expect(input.Worker).NotTo(BeNil())
			Expect(input.Secret.Name).To(Equal("cloudprovider"))
			Expect(input.Seed).To(BeIdenticalTo(seed))
		})

		It("should do without a seed", func(ctx SpecContext) {
			input, err := in.loadFrom(ctx, &sources{garden: garden})
			Expect(err).NotTo(HaveOccurred())
			Expect(input.Cluster.Shoot.Name).To(Equal("first"))
			Expect(input.Infrastructure).To(BeNil())
			Expect(input.Secret).To(BeNil())
			Expect(input.Seed).To(BeNil())
		})

		It("should do without a garden", func(ctx SpecContext) {
			in.namespace, in.shoot = "shoot--local--first", ""
			input, err := in.loadFrom(ctx, &sources{seed: seed})
			Expect(err).NotTo(HaveOccurred())
			Expect(input.Cluster.Shoot.Name).To(Equal("first"))
			Expect(input.Cluster.CloudProfile.Name).To(Equal("hybrid"))
			Expect(input.Infrastructure).NotTo(BeNil())
		})

		It("should apply a manifest to the Shoot that exists", func(ctx SpecContext) {
			given := object(strings.Replace(shootManifest, "  seedName: seed\n", "", 1), &gardencorev1beta1.Shoot{})
			given.Annotations = map[string]string{"manifest": "true"}
			given.Spec.Provider.Workers[0].Maximum = 7
			input, err := in.loadFrom(ctx, &sources{manifests: objects{given}, garden: garden, seed: seed})
			Expect(err).NotTo(HaveOccurred())
			shoot := input.Cluster.Shoot
			Expect(shoot.Spec.Provider.Workers[0].Maximum).To(Equal(int32(7)))
			Expect(shoot.Spec.SeedName).To(HaveValue(Equal("seed")))
			Expect(shoot.Status.TechnicalID).To(Equal("shoot--local--first"))
			Expect(shoot.Annotations).To(And(HaveKey("garden"), HaveKey("manifest")))
		})

		It("should tell that a Shoot does not exist", func(ctx SpecContext) {
			in.shoot = "third"
			_, err := in.loadFrom(ctx, &sources{garden: garden, seed: seed})
			Expect(err).To(MatchError("there is no Shoot garden-local/third"))
		})
	})
})
