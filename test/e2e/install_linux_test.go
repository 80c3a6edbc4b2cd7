// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/test/documents"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/lab"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/registry"
	"github.com/gardener/gardener-extension-provider-hybrid/test/skip"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

const (
	// registryHost is the registry of the pages, and registryPrefix what the names in it begin with.
	registryHost, registryPrefix = "registry.example.com", "hybrid"
	// tutorialShoot and tutorialNamespace are those of the tutorial.
	tutorialShoot, tutorialNamespace = "first", "garden-dev"
)

// operator is a new operator, who has a folder with a released version and two kubeconfigs, and does what pages say.
type operator struct {
	lab   *lab.Lab
	dir   string
	steps *timeline
	count int
	// credentials are those of the sites, nil for what the pages have instead.
	credentials map[string]string
}

// released is the folder with the release. The spec is skipped if there is none, or not what the pages need.
func released() string {
	GinkgoHelper()
	release := filepath.Join(landscape.Root(), "hack", "bin", "release")
	if _, err := os.Stat(filepath.Join(release, "SHA256SUMS")); err != nil {
		skip.Because("hack/pages.sh makes what is installed")
	}
	for _, tool := range []string{"helm", "jq", "kubectl"} {
		if _, err := exec.LookPath(tool); err != nil {
			skip.Because("the pages need kubectl, helm, and jq, see hack/pages.sh")
		}
	}
	return release
}

// preparePages returns the folder of the release that is installed, the folder for data of gardens, which is locked until the specs end,
// and an empty registry.
func preparePages() (release, dir string, images *registry.Registry) {
	GinkgoHelper()
	release = released()
	dir, err := landscape.CacheDir("garden")
	Expect(err).NotTo(HaveOccurred())
	unlock, err := lock(dir)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(unlock)
	images, err = registry.New(GinkgoT().TempDir(), registryHost)
	Expect(err).NotTo(HaveOccurred())
	return release, dir, images
}

// newOperator is an operator with a release in their folder.
func newOperator(l *lab.Lab, steps *timeline, release string) *operator {
	GinkgoHelper()
	o := &operator{lab: l, dir: GinkgoT().TempDir(), steps: steps}
	Expect(os.CopyFS(o.dir, os.DirFS(release))).To(Succeed())
	for name, from := range map[string]string{"garden": l.Virtual.Kubeconfig, "runtime": l.Seed.Kubeconfig} {
		content, err := os.ReadFile(from) // #nosec G304 -- written by the garden
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(filepath.Join(o.dir, name+".kubeconfig"), content, 0o600)).To(Succeed())
	}
	return o
}

// follow does what the blocks below some headings of a page say. Headings are all if none is given.
func (o *operator) follow(ctx context.Context, page string, headings ...string) {
	GinkgoHelper()
	blocks, err := documents.Read("docs/" + page)
	Expect(err).NotTo(HaveOccurred())
	done := 0
	for _, b := range blocks {
		if len(headings) > 0 && !slices.Contains(headings, b.Heading) {
			continue
		}
		done++
		Expect(o.do(ctx, b)).To(Succeed(), "%s, %s:\n%s", page, b.Heading, b.Text)
	}
	Expect(done).To(BeNumerically(">=", max(1, len(headings))))
}

func (o *operator) do(ctx context.Context, b documents.Block) error {
	switch b.Language {
	case "yaml":
		return o.apply(ctx, b.Text)
	case "sh", "console":
	default:
		return fmt.Errorf("a block of %s", b.Language)
	}
	for _, c := range commandsOf(b) {
		o.count++
		o.steps.tell("$ " + strings.TrimSpace(c.text))
		output, err := o.run(ctx, c.text)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, output)
		}
		if err := c.differs(output); err != nil {
			return err
		}
	}
	return nil
}

// run runs a command in the shell of the operator: what earlier ones exported is known.
func (o *operator) run(ctx context.Context, text string) (string, error) {
	text = strings.ReplaceAll(text, tutorialNamespace, garden.Namespace)
	return o.lab.Run(ctx, o.dir, "set -o errexit -o nounset -o pipefail\n[[ ! -e .exported ]] || . ./.exported\n"+text+
		"\nexport -p | grep -v ' \\(PATH\\|HOME\\|OLDPWD\\|PWD\\|SHLVL\\)=' > .exported\n")
}

// apply applies a manifest of a page. Credentials are what its readers replace.
func (o *operator) apply(ctx context.Context, text string) error {
	var documents []string
	for document := range strings.SplitSeq(text, "---\n") {
		secret := &corev1.Secret{}
		if err := yaml.Unmarshal([]byte(document), secret); err != nil {
			return err
		}
		if secret.Kind == "Secret" && o.credentials != nil {
			secret.StringData = o.credentials
			data, err := yaml.Marshal(secret)
			if err != nil {
				return err
			}
			document = string(data)
		}
		documents = append(documents, document)
	}
	manifest := strings.ReplaceAll(strings.Join(documents, "---\n"), tutorialNamespace, garden.Namespace)
	if err := os.WriteFile(filepath.Join(o.dir, "manifest.yaml"), []byte(manifest), 0o600); err != nil {
		return err
	}
	output, err := o.run(ctx, "kubectl apply -f manifest.yaml")
	if err != nil {
		return fmt.Errorf("%w\n%s", err, output)
	}
	return nil
}

// expectPulled expects that some images of the release were pulled, by their digests, and no others.
func (o *operator) expectPulled(from *registry.Registry, images ...string) {
	GinkgoHelper()
	content, err := os.ReadFile(filepath.Join(o.dir, "oci", "digests.json"))
	Expect(err).NotTo(HaveOccurred())
	var digests struct{ Images map[string]string }
	Expect(json.Unmarshal(content, &digests)).To(Succeed())
	var wanted []any
	for _, image := range images {
		wanted = append(wanted, HaveSuffix(image+"@"+digests.Images[image]))
	}
	pulled := from.Pulled()
	for i, image := range pulled {
		repository, digest, _ := strings.Cut(image, "@")
		pulled[i] = strings.Split(repository, ":")[0] + "@" + digest
	}
	Expect(pulled).To(ConsistOf(wanted...))
}

// leftovers are all objects of a cluster with our extension in their name or namespace, except for what Kubernetes forgets by itself.
func leftovers(ctx context.Context, config *rest.Config) ([]string, error) {
	all, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	lists, err := all.ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	var result []string
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") || resource.Name == "events" {
				continue
			}
			found, err := objects.Resource(group.WithResource(resource.Name)).List(ctx, metav1.ListOptions{})
			if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", resource.Name, err)
			}
			for _, object := range found.Items {
				if name := object.Namespace + "/" + object.Name; strings.Contains(name, garden.ProviderType) {
					result = append(result, resource.Name+" "+name)
				}
			}
		}
	}
	return result, nil
}

// expectNothing expects no object of ours in the garden and in the first seed, after a while.
func expectNothing(ctx context.Context, l *lab.Lab) {
	GinkgoHelper()
	for _, config := range []*rest.Config{l.Virtual.Config, l.Seed.Config} {
		Eventually(leftovers).WithContext(ctx).WithArguments(config).WithTimeout(2 * time.Minute).Should(BeEmpty())
	}
}

var _ = suite.Nightly("Pages for operators, followed by the letter", Ordered, func() {
	var (
		steps  = &timeline{}
		l      *lab.Lab
		o      *operator
		images *registry.Registry
		shoot  *lab.Shoot
	)

	BeforeAll(func(ctx SpecContext) {
		requirements()
		steps.begin()
		var (
			release, dir string
			err          error
		)
		release, dir, images = preparePages()
		l, err = lab.Start(ctx, lab.Options{Dir: dir, Foreign: true, Registry: images, Progress: steps, Log: GinkgoLogr})
		DeferCleanup(func(ctx SpecContext) {
			steps.table()
			if os.Getenv("KEEP") != "" && l.Garden != nil {
				lookAround(ctx, steps, l)
			}
			Expect(l.Stop(ctx)).To(Succeed())
		}, NodeTimeout(24*time.Hour))
		Expect(err).NotTo(HaveOccurred())
		Expect(images.Push(ctx, filepath.Join(release, "oci"), registryPrefix)).To(Succeed())

		o = newOperator(l, steps, release)
		o.credentials = l.SiteCredentials(lab.Cloud, lab.VC)
		shoot = l.Shoot(tutorialShoot)
		Expect(l.OpenStack.Sweep(ctx, shoot.TechnicalID())).To(Succeed()) // what a garden left that was killed
		steps.add("Sites, and a registry with the release")
	}, NodeTimeout(30*time.Minute))

	JustAfterEach(steps.failure)

	steps.step("A Gardener without our extension", func(ctx SpecContext) {
		Expect(l.StartVirtual(ctx)).To(Succeed())
		Expect(l.RegisterPlayed(ctx)).To(Succeed())
		Expect(l.Seed.Start(ctx)).To(Succeed())
		Expect(l.WaitSeed(ctx, l.Seed.Name, steps.tell)).To(Succeed())
		expectNothing(ctx, l)
	})

	steps.step("Install", func(ctx SpecContext) {
		o.follow(ctx, "operations/deployment.md", "Install", "Without gardener-operator")
	})

	steps.step("First CloudProfile", func(ctx SpecContext) {
		blocks, err := documents.Read("docs/operations/deployment.md")
		Expect(err).NotTo(HaveOccurred())
		blocks = slices.DeleteFunc(blocks, func(b documents.Block) bool { return b.Heading != "First CloudProfile" })
		Expect(blocks).To(HaveLen(2))
		Expect(o.do(ctx, blocks[0])).To(Succeed())
		Expect(l.Locate(filepath.Join(o.dir, "cloudprofile.yaml"))).To(Succeed()) // what the page tells to set
		Expect(o.do(ctx, blocks[1])).To(Succeed())
	})

	steps.stepWithin(40*time.Minute, "First shoot", func(ctx SpecContext) {
		o.follow(ctx, "usage/first-shoot.md", "1. Create credentials", "2. Create the Shoot", "3. Wait")
		Expect(shoot.WaitNodes(ctx, steps.tell, map[string]int{lab.Cloud: 1, lab.VC: 1})).To(Succeed())
		o.follow(ctx, "usage/first-shoot.md", "4. Inspect the shoot")
		Expect(o.run(ctx, "kubectl get nodes")).To(ContainSubstring("Ready"))
		Expect(shoot.LeftAtCloud(ctx, ": server "+shoot.TechnicalID())).To(HaveLen(1))
	})

	steps.step("Verify", func(ctx SpecContext) {
		o.follow(ctx, "operations/deployment.md", "Install") // the kubeconfig is that of the shoot
		o.follow(ctx, "operations/deployment.md", "Verify")
		Expect(leftovers(ctx, l.Virtual.Config)).To(ContainElement("controllerregistrations /provider-hybrid"))
		Expect(leftovers(ctx, l.Seed.Config)).To(ContainElement("deployments garden/gardener-extension-admission-hybrid"))
		o.expectPulled(images, "gardener-extension-provider-hybrid", "gardener-extension-admission-hybrid",
			"machine-controller-manager-provider-hybrid", "cloud-controller-manager-hybrid", "cinder-csi-plugin-hybrid")
	})

	steps.stepWithin(40*time.Minute, "Uninstall", func(ctx SpecContext) {
		o.follow(ctx, "operations/uninstall.md", "1. Shoots", "2. Seeds and domains", "3. Credentials and CloudProfiles",
			"Without gardener-operator", "5. Check")
	})

	steps.step("Nothing of ours is left in the garden, in the seed, and on the sites", func(ctx SpecContext) {
		expectNothing(ctx, l)
		Expect(shoot.Left(ctx)).To(BeEmpty())
		Expect(shoot.InGarden(ctx)).To(BeEmpty())
		Expect(l.Check()).To(Succeed())
	})
})
