// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package examples_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/documents"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

var (
	// placeholder stands for what readers replace.
	placeholder = regexp.MustCompile(`<[A-Za-z][A-Za-z ]*>`)
	argument    = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)
	// prompt begins a command in a session.
	prompt = regexp.MustCompile(`(?m)^\$ (.*\n)`)
	// publishedChart is one of the charts of admission in a registry.
	publishedChart = regexp.MustCompile(`oci://registry\.example\.com/hybrid/charts/(\S+)-(application|runtime)@`)
	// followed are documents whose sessions test/e2e runs, and compares with what a real Gardener prints.
	followed = []string{"docs/operations/deployment.md", "docs/operations/uninstall.md"}
	// column ends at two spaces, unless it is the last one.
	column = regexp.MustCompile(`\S+( \S+)*`)
)

// inProject is a file or folder of the project.
func inProject(path ...string) string {
	return filepath.Join(append([]string{landscape.Root()}, path...)...)
}

// hybridctl is built once, into a folder of the suite unless it is there already.
var (
	hybridctl string
	built     string
)

func buildHybridctl(ctx context.Context) {
	GinkgoHelper()
	if hybridctl == "" {
		var err error
		built, err = os.MkdirTemp("", "hybridctl-")
		Expect(err).NotTo(HaveOccurred())
		own, err := landscape.BuildOwn(ctx, built, GinkgoWriter, "./cmd/hybridctl")
		Expect(err).NotTo(HaveOccurred())
		hybridctl = filepath.Join(own, "hybridctl")
	}
}

var _ = AfterSuite(func() {
	if built != "" {
		Expect(os.RemoveAll(built)).To(Succeed())
	}
})

// expectCommands expects commands that a shell can read, with targets, files, and flags that exist.
func expectCommands(ctx SpecContext, b documents.Block) {
	GinkgoHelper()
	text := placeholder.ReplaceAllString(b.Text, "placeholder")
	shell := exec.CommandContext(ctx, "bash", "-n")
	shell.Stdin = strings.NewReader(text)
	Expect(shell.CombinedOutput()).To(BeEmpty(), b.String())

	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		words := argument.FindAllString(strings.Split(line, " #")[0], -1)
		for i, word := range words {
			where := b.Document + ": " + line
			next := words[min(i+1, len(words)-1)]
			switch folder, isPackages := strings.CutPrefix(word, "PACKAGES="); {
			case isPackages, strings.HasPrefix(word, "./"):
				Expect(inProject(strings.TrimSuffix(folder, "/..."))).To(BeADirectory(), where)
			case strings.HasPrefix(word, "hack/") && !strings.HasPrefix(word, "hack/bin/"):
				Expect(inProject(word)).To(BeAnExistingFile(), where)
			case strings.HasPrefix(word, "example/"):
				Expect(inProject(word)).To(BeAnExistingFile(), where)
			case word == "make" && next != word:
				makefile, err := os.ReadFile(inProject("Makefile"))
				Expect(err).NotTo(HaveOccurred())
				Expect(string(makefile)).To(MatchRegexp(`(?m)^`+next+`:.*##`), where)
			case word == "install" && words[0] == "helm":
				chart := words[i+2]
				if published := publishedChart.FindStringSubmatch(line); published != nil {
					chart = filepath.Join("charts", published[1], "charts", published[2])
				}
				Expect(inProject(chart, "Chart.yaml")).To(BeAnExistingFile(), where)
			case word == "hybridctl" && (i == 0 || words[i-1] == "|"):
				buildHybridctl(ctx)
				expectFlags(ctx, words[i+1:], where)
			}
		}
	}
}

// expectFlags expects a command of hybridctl with these arguments, up to the next command of the shell. Help is shown after flags are read.
func expectFlags(ctx context.Context, words []string, where string) {
	GinkgoHelper()
	if end := slices.IndexFunc(words, func(word string) bool { return word == "|" || strings.HasPrefix(word, ">") }); end >= 0 {
		words = words[:end]
	}
	command := exec.CommandContext(ctx, hybridctl, append(slices.Clone(words), "--help")...) // #nosec G204 -- a program of ours
	output, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s%s", where, output)
	Expect(string(output)).To(ContainSubstring("hybridctl "+words[0]), where)
	for i, word := range words {
		if word == "--site" {
			site := &v1alpha1.CloudProfileSite{}
			Expect(yaml.UnmarshalStrict([]byte("{"+strings.Trim(words[i+1], "'")+"}"), site)).To(Succeed(), where)
			Expect(site.Name).NotTo(BeEmpty(), where)
		}
	}
}

// expectSession expects commands, and below them tables with the columns that these print, each with rows that are below its columns.
func expectSession(ctx SpecContext, b documents.Block) {
	GinkgoHelper()
	commands := prompt.FindAllStringSubmatch(b.Text, -1)
	outputs := prompt.Split(b.Text, -1)[1:]
	Expect(commands).NotTo(BeEmpty(), b.String())
	for i, command := range commands {
		expectCommands(ctx, documents.Block{Document: b.Document, Text: command[1]})
		if outputs[i] == "" || slices.Contains(followed, b.Document) {
			continue
		}
		lines := strings.Split(strings.TrimSuffix(outputs[i], "\n"), "\n")
		header := column.FindAllString(lines[0], -1)
		Expect(header).To(Equal(columns(command[1])), b.String())
		Expect(len(lines)).To(BeNumerically(">", 1), b.String())
		starts := column.FindAllStringIndex(lines[0], -1)
		for _, line := range lines[1:] {
			for _, cell := range column.FindAllStringIndex(line, -1) {
				Expect(slices.ContainsFunc(starts, func(start []int) bool { return start[0] == cell[0] })).To(BeTrue(), "%s: %s", b.Document, line)
			}
		}
	}
}

// columns are those that a command prints: of hybridctl those of the sources, of kubectl those of the CRD.
func columns(command string) []string {
	GinkgoHelper()
	words := strings.Fields(command)
	if words[0] == "hybridctl" {
		source, err := os.ReadFile(inProject("cmd", "hybridctl", "app", words[1]+".go"))
		Expect(err).NotTo(HaveOccurred())
		list := regexp.MustCompile(`columns: \[\]string\{(.*)\}`).FindSubmatch(source)
		Expect(list).To(HaveLen(2), command)
		var names []string
		for _, name := range regexp.MustCompile(`"([^"+]+)"`).FindAllStringSubmatch(string(list[1]), -1) { // + is for -o wide
			names = append(names, name[1])
		}
		return names
	}
	Expect(words).To(ContainElements("kubectl", "get"))
	files, err := filepath.Glob(inProject("charts", "*", "crds", "*_"+words[len(words)-1]+".yaml"))
	Expect(err).NotTo(HaveOccurred())
	Expect(files).To(HaveLen(1), command)
	content, err := os.ReadFile(files[0])
	Expect(err).NotTo(HaveOccurred())
	var crd apiextensionsv1.CustomResourceDefinition
	Expect(yaml.Unmarshal(content, &crd)).To(Succeed())
	names := []string{"NAME"}
	for _, printed := range crd.Spec.Versions[0].AdditionalPrinterColumns {
		if printed.Priority == 0 {
			names = append(names, strings.ToUpper(printed.Name))
		}
	}
	return names
}
