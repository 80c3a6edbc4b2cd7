// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
)

// played is a site whose start fails with an error if that is set.
type played struct {
	site
	called string
	fails  error
}

func (p *played) name() string                { return p.called }
func (p *played) start(context.Context) error { return p.fails }

var _ = Describe("sites", func() {
	var (
		d            *demo
		first, other *played
	)

	BeforeEach(func() {
		file, err := os.Create(filepath.Join(GinkgoT().TempDir(), "out"))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(file.Close)
		first, other = &played{called: cloud}, &played{called: vc}
		d = &demo{screen: newScreen(file), chosen: []site{first, other}, sites: []site{first, other}}
	})

	var results []result
	start := func() error {
		r := &runner{screen: d.screen}
		var steps []step
		for _, s := range d.chosen {
			steps = append(steps, step{name: s.name(), run: d.startSite(s)})
		}
		err := r.run(context.Background(), []step{{parallel: steps}, {name: "check", run: d.checkSites}})
		results = r.results
		return err
	}

	It("should be those that are asked for", func() {
		all := []site{first, other}
		Expect(choose(all, "")).To(Equal(all))
		Expect(choose(all, "vc")).To(Equal([]site{other}))
		Expect(choose(all, "vc,cloud")).To(Equal([]site{other, first}))
		_, err := choose(all, "vc,racks")
		Expect(err).To(MatchError(`there is no site "racks"; SITES is one or more of cloud, vc, divided by commas`))
		_, err = choose(all, "vc,vc")
		Expect(err).To(MatchError(`SITES names "vc" twice`))
	})

	It("should be left out if this machine cannot run them, with the reason", func() {
		first.fails = fmt.Errorf("%w: not root", openstack.ErrNotPossible)
		Expect(start()).To(Succeed())
		Expect(d.sites).To(Equal([]site{other}))
		Expect(d.leftOut).To(ConsistOf("site cloud is left out: OpenStack cannot be installed here: not root"))
		Expect(results).To(ContainElements(
			And(HaveField("Step", "cloud"), HaveField("Result", "left out"), HaveField("Error", ContainSubstring("not root"))),
			And(HaveField("Step", "vc"), HaveField("Result", "ok"))))
	})

	It("should fail if none is left, or if one does not start for another reason", func() {
		first.fails = fmt.Errorf("%w: not root", openstack.ErrNotPossible)
		d.chosen, d.sites = []site{first}, []site{first}
		err := start()
		Expect(err).To(MatchError(And(ContainSubstring("no site is left"), ContainSubstring("not root"))))
		Expect(exitCode(err, false)).To(Equal(3))

		first.fails = errors.New("broken")
		Expect(start()).To(MatchError("cloud: broken"))
	})
})

var _ = Describe("selection", func() {
	read := func(name string, object any) {
		GinkgoHelper()
		content, err := os.ReadFile(filepath.Join(landscape.Root(), "example", onAllPlatforms.folder+name))
		Expect(err).NotTo(HaveOccurred())
		Expect(yaml.UnmarshalStrict(content, object)).To(Succeed())
	}

	DescribeTable("should keep a valid shoot on some sites of the example",
		func(sites, wantedZones []string, pools int) {
			var (
				cluster        extensionsv1alpha1.Cluster
				infrastructure extensionsv1alpha1.Infrastructure
				controlPlane   extensionsv1alpha1.ControlPlane
				worker         extensionsv1alpha1.Worker
				profile        gardencorev1beta1.CloudProfile
				shoot          gardencorev1beta1.Shoot
			)
			read("30-cluster.yaml", &cluster)
			read("30-infrastructure.yaml", &infrastructure)
			read("30-controlplane.yaml", &controlPlane)
			read("30-worker.yaml", &worker)
			Expect(json.Unmarshal(cluster.Spec.CloudProfile.Raw, &profile)).To(Succeed())
			config, err := codec.Decode[v1alpha1.CloudProfileConfig](profile.Spec.ProviderConfig)
			Expect(err).NotTo(HaveOccurred())

			s := newSelection(config, sites)
			Expect(s.cluster(&cluster)).To(Succeed())
			Expect(s.infrastructure(&infrastructure)).To(Succeed())
			Expect(s.controlPlane(&controlPlane)).To(Succeed())
			Expect(s.worker(&worker)).To(Succeed())

			Expect(json.Unmarshal(cluster.Spec.Shoot.Raw, &shoot)).To(Succeed())
			kept, err := codec.Decode[v1alpha1.InfrastructureConfig](shoot.Spec.Provider.InfrastructureConfig)
			Expect(err).NotTo(HaveOccurred())
			Expect(kept.Sites).To(HaveLen(len(sites)))
			Expect(infrastructure.Spec.ProviderConfig.Raw).To(MatchJSON(shoot.Spec.Provider.InfrastructureConfig.Raw))
			Expect(controlPlane.Spec.ProviderConfig.Raw).To(MatchJSON(shoot.Spec.Provider.ControlPlaneConfig.Raw))
			controls, err := codec.Decode[v1alpha1.ControlPlaneConfig](controlPlane.Spec.ProviderConfig)
			Expect(err).NotTo(HaveOccurred())
			Expect(controls.DefaultSite).To(Equal(sites[0]))
			path := field.NewPath("spec", "provider")
			Expect(validation.ValidateInfrastructureConfig(kept, config, shoot.Spec.Networking, shoot.Spec.Region, path)).To(BeEmpty())
			Expect(validation.ValidateWorkers(shoot.Spec.Provider.Workers, &profile.Spec, config, kept, path)).To(BeEmpty())

			Expect(worker.Spec.Pools).To(HaveLen(pools))
			Expect(shoot.Spec.Provider.Workers).To(HaveLen(pools))
			for i, pool := range worker.Spec.Pools {
				of := shoot.Spec.Provider.Workers[i]
				Expect(pool.Zones).To(Equal(of.Zones))
				Expect(pool.Minimum).To(Equal(of.Minimum))
				Expect(pool.Maximum).To(Equal(of.Maximum))
			}
			mixed := poolOf(&worker)
			Expect(mixed.Zones).To(Equal(wantedZones))
			Expect(mixed.Minimum).To(BeEquivalentTo(len(wantedZones)))
		},
		Entry("all", []string{cloud, vc, racks, hall}, []string{"cloud-a", "vc-1", "rack-1", "hall-1"}, 2),
		Entry("OpenStack", []string{cloud}, []string{"cloud-a"}, 2),
		Entry("vSphere", []string{vc}, []string{"vc-1"}, 1),
		Entry("OpenStack and vSphere", []string{cloud, vc}, []string{"cloud-a", "vc-1"}, 2),
		Entry("Metal3", []string{racks}, []string{"rack-1"}, 2),
		Entry("IronCore", []string{hall}, []string{"hall-1"}, 1),
	)
})
