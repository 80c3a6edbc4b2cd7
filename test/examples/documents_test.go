// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package examples_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/google/uuid"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// block is a block of code in a document.
type block struct {
	document, language, text string
}

var blockRegexp = regexp.MustCompile("(?ms)^( *)```(\\w*)\n(.*?)^ *```$")

// blocks are the blocks of all documents, without the indentation of the lists that they are in.
func blocks() []block {
	GinkgoHelper()
	root := landscape.Root()
	var found []block
	Expect(fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".md" || !regexp.MustCompile(`^(docs/|README|CONTRIBUTING)`).MatchString(path) {
			if entry != nil && entry.IsDir() && (path == ".git" || path == "hack/bin" || path == "dev") {
				return fs.SkipDir
			}
			return err
		}
		content, err := os.ReadFile(filepath.Join(root, path)) // #nosec G304 -- a file of the project
		for _, match := range blockRegexp.FindAllStringSubmatch(string(content), -1) {
			var text strings.Builder
			for line := range strings.Lines(match[3]) {
				text.WriteString(strings.TrimPrefix(line, match[1]))
			}
			found = append(found, block{path, match[2], text.String()})
		}
		return err
	})).To(Succeed())
	return found
}

// ofLanguage are the blocks of a language, of which there must be a number at least.
func ofLanguage(expression string, minimum int) []block {
	GinkgoHelper()
	var found []block
	for _, b := range blocks() {
		if regexp.MustCompile(`^(` + expression + `)$`).MatchString(b.language) {
			found = append(found, b)
		}
	}
	Expect(len(found)).To(BeNumerically(">=", minimum))
	return found
}

// kinds are the kinds that documents show whole, and parts are types that documents show a part of.
var (
	kinds = map[string]func() any{
		"BackupBucketConfig":                  func() any { return &v1alpha1.BackupBucketConfig{} },
		"CloudControllerManagerConfiguration": func() any { return &v1alpha1.CloudControllerManagerConfiguration{} },
		"CloudProfile":                        func() any { return &gardencorev1beta1.CloudProfile{} },
		"CloudProfileConfig":                  func() any { return &v1alpha1.CloudProfileConfig{} },
		"ControlPlaneConfig":                  func() any { return &v1alpha1.ControlPlaneConfig{} },
		"InfrastructureConfig":                func() any { return &v1alpha1.InfrastructureConfig{} },
		"Secret":                              func() any { return &corev1.Secret{} },
		"SeedConfig":                          func() any { return &v1alpha1.SeedConfig{} },
		"Shoot":                               func() any { return &gardencorev1beta1.Shoot{} },
		"StorageClass":                        func() any { return &storagev1.StorageClass{} },
		"VolumeSnapshot":                      func() any { return &volumeSnapshot{} },
		"WorkerConfig":                        func() any { return &v1alpha1.WorkerConfig{} },
	}
	parts = []func() any{
		func() any { return &gardencorev1beta1.Shoot{} },
		func() any { return &gardencorev1beta1.ShootSpec{} },
		func() any { return &gardencorev1beta1.Provider{} },
		func() any { return &gardencorev1beta1.Worker{} },
		func() any { return &gardencorev1beta1.Seed{} },
		func() any { return &v1alpha1.CloudProfileConfig{} },
		func() any { return &v1alpha1.CloudProfileSite{} },
		func() any { return &v1alpha1.InfrastructureConfig{} },
		func() any { return &corev1.Secret{} },
		func() any { return &corev1.Service{} },
		func() any { return &chartValues{} },
	}
)

// volumeSnapshot has the fields of a VolumeSnapshot that documents show.
type volumeSnapshot struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec struct {
		VolumeSnapshotClassName string `json:"volumeSnapshotClassName"`
		Source                  struct {
			PersistentVolumeClaimName string `json:"persistentVolumeClaimName"`
		} `json:"source"`
	} `json:"spec"`
}

// chartValues are values of the chart of the extension that documents show.
type chartValues struct {
	ImageVectorOverwrite string `json:"imageVectorOverwrite"`
}

// fieldsOfKinds are fields with a configuration whose kind is known although documents leave it out.
var fieldsOfKinds = map[string]string{"infrastructureConfig": "InfrastructureConfig", "controlPlaneConfig": "ControlPlaneConfig"}

// decode decodes a block strictly: as the kind that it has, or as a type that it can be a part of.
func decode(text string) error {
	var meta metav1.TypeMeta
	if err := yaml.Unmarshal([]byte(text), &meta); err != nil {
		return err
	}
	if meta.Kind != "" {
		target, ok := kinds[meta.Kind]
		if !ok {
			return runtime.NewMissingKindErr(text)
		}
		return yaml.UnmarshalStrict([]byte(text), target())
	}
	var err error
	for _, part := range parts {
		if err = yaml.UnmarshalStrict([]byte(text), part()); err == nil {
			return nil
		}
	}
	return err
}

// embedded returns the configurations in a document, which are values of any type for those around them.
func embedded(value any, kind string) []string {
	var found []string
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			found = append(found, embedded(item, "")...)
		}
	case map[string]any:
		own, _ := v["kind"].(string)
		if version, _ := v["apiVersion"].(string); version == v1alpha1.SchemeGroupVersion.String() || kind != "" && own == "" {
			if own == "" {
				v["kind"] = kind
			}
			data, err := json.Marshal(v)
			Expect(err).NotTo(HaveOccurred())
			found = append(found, string(data))
		}
		for name, item := range v {
			found = append(found, embedded(item, fieldsOfKinds[name])...)
		}
	}
	return found
}

var _ = Describe("Documents", func() {
	It("should have YAML with fields that exist", func() {
		for _, b := range ofLanguage("yaml", 40) {
			if b.document == "docs/development/adding-a-platform.md" { // test/toyplatform has the types of these
				continue
			}
			Expect(decode(b.text)).To(Succeed(), "%s:\n%s", b.document, b.text)
			var value any
			Expect(yaml.Unmarshal([]byte(b.text), &value)).To(Succeed())
			for _, configuration := range embedded(value, "") {
				Expect(decode(configuration)).To(Succeed(), "%s:\n%s", b.document, b.text)
			}
		}
	})

	It("should have infrastructures that are valid with the CloudProfile of all platforms", func() {
		profile := readOne[gardencorev1beta1.CloudProfile]("cloudprofile-all-platforms.yaml")
		shoot := readOne[gardencorev1beta1.Shoot]("shoot-all-platforms.yaml")
		checked := 0
		for _, b := range ofLanguage("yaml", 40) {
			infrastructure := &v1alpha1.InfrastructureConfig{}
			text := regexp.MustCompile(`id: [0-9a-f-]*…`).ReplaceAllString(b.text, "id: "+uuid.NewString())
			err := yaml.UnmarshalStrict([]byte(text), infrastructure)
			if err != nil || yaml.UnmarshalStrict([]byte(b.text), &v1alpha1.CloudProfileConfig{}) == nil {
				continue
			}
			checked++
			if infrastructure.Networks.Topology == "" { // documents show it once
				infrastructure.Networks.Topology = v1alpha1.TopologyRouted
			}
			shoot.Spec.Networking.Nodes = &infrastructure.Sites[0].Nodes[0]
			Expect(validation.ValidateInfrastructureConfig(infrastructure, profileConfig(&profile), shoot.Spec.Networking, shoot.Spec.Region,
				field.NewPath("infrastructureConfig"))).To(BeEmpty(), "%s:\n%s", b.document, b.text)
		}
		Expect(checked).To(BeNumerically(">=", 4))
	})

	// placeholder stands for what readers replace.
	placeholder := regexp.MustCompile(`<[A-Za-z][A-Za-z ]*>`)
	argument := regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)

	It("should have commands that a shell can read, with targets, files, and flags that exist", func(ctx SpecContext) {
		own, err := landscape.BuildOwn(ctx, GinkgoT().TempDir(), GinkgoWriter, "./cmd/hybridctl")
		Expect(err).NotTo(HaveOccurred())
		makefile, err := os.ReadFile(filepath.Join(landscape.Root(), "Makefile"))
		Expect(err).NotTo(HaveOccurred())
		seen := map[string]int{}
		for _, b := range ofLanguage("sh|bash|console", 35) {
			text := b.text
			if b.language == "console" {
				text = strings.Join(regexp.MustCompile(`(?m)^\$ (.*)$`).FindAllString(text, -1), "\n")
				text = strings.ReplaceAll(text, "$ ", "")
			}
			text = placeholder.ReplaceAllString(text, "placeholder")
			shell := exec.Command("bash", "-n")
			shell.Stdin = strings.NewReader(text)
			Expect(shell.CombinedOutput()).To(BeEmpty(), "%s:\n%s", b.document, b.text)

			for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
				words := argument.FindAllString(strings.Split(line, " #")[0], -1)
				for i, word := range words {
					if i+1 == len(words) {
						break
					}
					switch {
					case word == "make":
						seen[word]++
						Expect(string(makefile)).To(MatchRegexp(`(?m)^`+words[i+1]+`:.*##`), "%s: %s", b.document, line)
					case word == "run" && words[0] == "go":
						seen[words[0]]++
						Expect(filepath.Join(landscape.Root(), words[i+1])).To(BeADirectory(), "%s: %s", b.document, line)
					case word == "install" && words[0] == "helm":
						seen[words[0]]++
						Expect(filepath.Join(landscape.Root(), words[i+2], "Chart.yaml")).To(BeAnExistingFile(), "%s: %s", b.document, line)
					case strings.HasPrefix(words[i+1], "example/"):
						seen["example"]++
						Expect(filepath.Join(landscape.Root(), words[i+1])).To(BeAnExistingFile(), "%s: %s", b.document, line)
					case word == "hybridctl" && (i == 0 || words[i-1] == "|"):
						seen[word]++
						expectFlags(ctx, filepath.Join(own, word), words[i+1:], b.document+": "+line)
					}
				}
			}
		}
		for _, name := range []string{"make", "go", "helm", "example", "hybridctl"} {
			Expect(seen).To(HaveKeyWithValue(name, BeNumerically(">", 0)))
		}
	})
})

// expectFlags expects a command of hybridctl with these arguments, up to the next command of the shell. Help is shown after flags are read.
func expectFlags(ctx context.Context, hybridctl string, words []string, where string) {
	GinkgoHelper()
	if end := slices.IndexFunc(words, func(word string) bool { return word == "|" || word == ">" }); end >= 0 {
		words = words[:end]
	}
	command := exec.CommandContext(ctx, hybridctl, append(slices.Clone(words), "--help")...) // #nosec G204 -- a program of ours
	output, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s%s", where, output)
	Expect(string(output)).To(ContainSubstring("hybridctl "+words[0]), where)
}
