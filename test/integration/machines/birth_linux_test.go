// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
)

// birthSpecs are about what is known of the births of the machines.
func birthSpecs() {
	// known are the phases that are known on each site in addition to ofAll.
	known := map[string][]platform.BirthPhase{
		shoot.MetalSites[0]: {platform.BirthProvisioned},
		shoot.MetalSites[1]: nil,
		ownSite:             nil,
		shoot.VSphereSite:   {platform.BirthPowered},
		shoot.Sites[0]:      {platform.BirthPowered},
	}
	ofAll := []platform.BirthPhase{platform.BirthClaimed, platform.BirthRegistered, platform.BirthInitialized, platform.BirthReady}
	profileOf := func(ctx context.Context, pool string) func() string {
		return func() string {
			return machineOf(ctx, pool).Annotations[v1alpha1.AnnotationBirthProfile]
		}
	}

	It("should have profiles of their births, which metrics count once", Label(life), func(ctx SpecContext) {
		profiles, expected := map[string]string{}, map[string]uint64{}
		for _, pool := range pools() {
			Eventually(profileOf(ctx, pool.name), joinTime, time.Second).ShouldNot(BeEmpty(), pool.name)
			machine, node := machineOf(ctx, pool.name), &corev1.Node{}
			profiles[pool.name] = machine.Annotations[v1alpha1.AnnotationBirthProfile]
			AddReportEntry("birth "+pool.name, profiles[pool.name])
			Expect(lab.shoot.Seed.Client.Get(ctx, client.ObjectKey{Name: machine.Labels[machinev1alpha1.NodeLabelKey]}, node)).To(Succeed())

			site := machine.Spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite]
			phases := append(slices.Clone(ofAll), known[site]...)
			profile := platform.ParseBirthProfile(profiles[pool.name])
			Expect(slices.Collect(maps.Keys(profile))).To(ConsistOf(phases), pool.name)
			created := machine.CreationTimestamp.Time
			Expect(profile[platform.BirthRegistered]).To(Equal(node.CreationTimestamp.Sub(created)), pool.name)
			for _, phase := range append(slices.Clone(known[site]), platform.BirthClaimed) {
				Expect(profile[phase]).To(BeNumerically("<=", profile[platform.BirthRegistered]), "%s %s", pool.name, phase)
			}
			for _, phase := range []platform.BirthPhase{platform.BirthInitialized, platform.BirthReady} {
				Expect(profile[phase]).To(BeNumerically(">=", profile[platform.BirthRegistered]), "%s %s", pool.name, phase)
				Expect(created.Add(profile[phase])).To(BeTemporally("<=", time.Now()), "%s %s", pool.name, phase)
			}
			for _, phase := range phases {
				expected[site+" "+machine.Spec.NodeTemplateSpec.Labels[v1alpha1.LabelPlatform]+" "+string(phase)]++
			}
		}
		Expect(births(ctx)).To(Equal(expected))

		By("another process of the driver")
		driver := lab.shoot.Seed.Driver
		driver.Stop(ctx)
		Expect(driver.Start()).To(Succeed())
		Eventually(ctx, births, joinTime, time.Second).Should(BeEmpty())
		Consistently(ctx, births, 10*time.Second, time.Second).Should(BeEmpty())
		for _, pool := range pools() {
			Expect(profileOf(ctx, pool.name)()).To(Equal(profiles[pool.name]))
		}
	}, SpecTimeout(specTime))
}

// births are the numbers of births that the driver counts, by site, platform, and phase.
func births(ctx context.Context) (map[string]uint64, error) {
	at := slices.IndexFunc(lab.shoot.Seed.Driver.Args, func(arg string) bool { return strings.HasPrefix(arg, "--port=") })
	url := "http://127.0.0.1:" + strings.TrimPrefix(lab.shoot.Seed.Driver.Args[at], "--port=") + "/metrics"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return nil, err
	}
	counts := map[string]uint64{}
	for _, metric := range families["hybrid_machine_birth_seconds"].GetMetric() {
		labels := map[string]string{}
		for _, pair := range metric.GetLabel() {
			labels[pair.GetName()] = pair.GetValue()
		}
		counts[labels["site"]+" "+labels["platform"]+" "+labels["phase"]] = metric.GetHistogram().GetSampleCount()
	}
	return counts, nil
}
