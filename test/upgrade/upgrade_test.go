// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/extension"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

// release is the folder with what the release wrote.
const release = "testdata/v0.1"

var _ = Describe("What a release wrote", Ordered, func() {
	var w *world

	BeforeAll(func(ctx SpecContext) {
		_, err := racks.MakeHosts(ctx, metal.Batch{Prefix: "racks", Count: 1, Labels: map[string]string{"rack": "racks"}})
		Expect(err).NotTo(HaveOccurred())
		_, err = racks.MakeServers(ctx, metal.Batch{Prefix: "halls", Count: 1, Labels: map[string]string{"rack": "halls"}, Retain: true})
		Expect(err).NotTo(HaveOccurred())
		w = newWorld(ctx, technicalID)
		w.makeMachines(ctx)
	}, NodeTimeout(3*time.Minute))

	It("is recorded", func(ctx SpecContext) {
		if *recordTo == "" {
			return
		}
		Expect(os.MkdirAll(*recordTo, 0o750)).To(Succeed())
		for name, document := range w.written(ctx) {
			encoded, err := json.MarshalIndent(document, "", "  ")
			Expect(err).NotTo(HaveOccurred())
			Expect(os.WriteFile(filepath.Join(*recordTo, name+".json"), append(encoded, '\n'), 0o600)).To(Succeed())
		}
	})

	It("rolls nothing: machine classes and machine deployments have the same names", func() {
		Expect(w.classNames()).To(Equal(read[[]string]("class-names")))
	})

	It("is written today, too, with nothing less", func(ctx SpecContext) {
		written := w.written(ctx)
		files, err := filepath.Glob(filepath.Join(release, "*.json"))
		Expect(err).NotTo(HaveOccurred())
		Expect(files).To(HaveLen(len(written)))
		for name, document := range written {
			Expect(missing(name, same(read[any](name)), same(document))).To(BeEmpty())
		}
	})

	It("is read strictly, and nothing of it is lost when it is written again", func() {
		kept[v1alpha1.InfrastructureState]("infrastructure-state", read[json.RawMessage]("infrastructure-state"))
		kept[v1alpha1.InfrastructureStatus]("infrastructure-status", read[json.RawMessage]("infrastructure-status"))
		kept[v1alpha1.ControlPlaneState]("controlplane-state", read[json.RawMessage]("controlplane-state"))
		classes := read[[]recordedClass]("machine-classes")
		Expect(classes).To(HaveLen(6))
		for _, class := range classes {
			kept[v1alpha1.MachineProviderSpec](class.Name, class.ProviderSpec)
		}
	})

	It("says how its sites are reached, so that they can be deleted when everybody else has forgotten them", func() {
		state, err := codec.Decode[v1alpha1.InfrastructureState](&runtime.RawExtension{Raw: read[json.RawMessage]("infrastructure-state")})
		Expect(err).NotTo(HaveOccurred())
		sites, err := site.Resolve(site.Input{Shoot: technicalID, State: state})
		Expect(err).NotTo(HaveOccurred())
		Expect(sites).To(HaveLen(4))
		for i := range sites {
			Expect(sites[i].Removed()).To(BeTrue())
			Expect(extension.Infrastructures()).To(HaveKey(sites[i].Platform))
		}
	})

	It("is found: machines are listed under their names, adopted instead of made twice, and deleted", func(ctx SpecContext) {
		for _, class := range read[[]recordedClass]("machine-classes") {
			deployment := class.Name[:strings.LastIndex(class.Name, "-")]
			By(deployment)
			name := machineOf(deployment)
			now := w.specOf(deployment)
			part, request := w.request(now, name)
			request.ProviderID = w.made[deployment].ProviderID
			Eventually(func() error { return part.Delete(ctx, request) }).WithContext(ctx).Within(soon).Should(Succeed())

			before, err := codec.Decode[v1alpha1.MachineProviderSpec](&runtime.RawExtension{Raw: class.ProviderSpec})
			Expect(err).NotTo(HaveOccurred())
			reach(before, now)
			request.Spec, request.ProviderID = before, ""
			id := w.remake(ctx, before, name)

			Eventually(func() ([]platform.Machine, error) { return part.List(ctx, request) }).WithContext(ctx).Within(soon).
				Should(ContainElement(And(HaveField("Name", name), HaveField("ProviderID", id))))
			Eventually(func() (platform.Machine,
				error) {
				return part.Create(ctx, request)
			}).WithContext(ctx).Within(soon).Should(HaveField("ProviderID", id))
			request.ProviderID = id
			Expect(part.Get(ctx, request)).To(HaveField("Name", name))
			Eventually(func() error { return part.Delete(ctx, request) }).WithContext(ctx).Within(soon).Should(Succeed())
			Eventually(func() ([]platform.Machine, error) { return part.List(ctx, request) }).WithContext(ctx).Within(soon).
				ShouldNot(ContainElement(HaveField("Name", name)))
		}
	}, SpecTimeout(5*time.Minute))

	It("leaves no machine, and no object of sites whose infrastructure is deleted", func(ctx SpecContext) {
		for i := range w.sites {
			s := &w.sites[i]
			if s.Platform == v1alpha1.PlatformOpenStack {
				continue // The stub has machines, and cannot delete what is made for them.
			}
			Eventually(func() error {
				return extension.Infrastructures()[s.Platform].Delete(ctx, s, func(context.Context, *v1alpha1.SiteState) error { return nil })
			}).WithContext(ctx).Within(soon).Should(Succeed(), s.Name)
		}
		Expect(w.openStack(ctx)["servers"]).To(BeEmpty())
		Expect(w.vSphere(ctx)).To(BeEmpty())
		Expect(w.metal(ctx)).To(BeEmpty())
	}, SpecTimeout(2*time.Minute))
})

// recordedClass is a machine class of the release.
type recordedClass struct {
	Name         string          `json:"name"`
	ProviderSpec json.RawMessage `json:"providerSpec"`
}

// read reads what the release wrote.
func read[T any](name string) T {
	GinkgoHelper()
	content, err := os.ReadFile(filepath.Join(release, name+".json"))
	Expect(err).NotTo(HaveOccurred())
	var document T
	Expect(json.Unmarshal(content, &document)).To(Succeed())
	return document
}

// kept checks that a document of the release is read strictly, and has all that it had when it is written again.
func kept[T any, P codec.Object[T]](name string, content json.RawMessage) {
	GinkgoHelper()
	document, err := codec.Decode[T, P](&runtime.RawExtension{Raw: content})
	Expect(err).NotTo(HaveOccurred(), name)
	again, err := codec.Encode[T, P](document)
	Expect(err).NotTo(HaveOccurred(), name)
	var before, after any
	Expect(json.Unmarshal(content, &before)).To(Succeed())
	Expect(json.Unmarshal(again.Raw, &after)).To(Succeed())
	Expect(missing(name, before, after)).To(BeEmpty())
}

// missing are the paths of what the first document has and the second has not. Lists of objects with names have no order.
func missing(path string, before, after any) []string {
	var paths []string
	switch before := before.(type) {
	case map[string]any:
		after, ok := after.(map[string]any)
		if !ok {
			return []string{path}
		}
		for key, value := range before {
			if _, ok := after[key]; !ok && value != nil {
				paths = append(paths, path+"."+key)
			} else {
				paths = append(paths, missing(path+"."+key, value, after[key])...)
			}
		}
	case []any:
		after, ok := after.([]any)
		if !ok || len(after) != len(before) {
			return []string{fmt.Sprintf("%s: %v, not %v", path, after, before)}
		}
		byName := func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
		before, after = slices.SortedFunc(slices.Values(before), byName), slices.SortedFunc(slices.Values(after), byName)
		for i := range before {
			paths = append(paths, missing(fmt.Sprintf("%s[%d]", path, i), before[i], after[i])...)
		}
	case string:
		// A file may have more lines.
		rest := strings.Split(fmt.Sprint(after), "\n")
		for line := range strings.SplitSeq(before, "\n") {
			i := slices.Index(rest, line)
			if i < 0 {
				return []string{fmt.Sprintf("%s: %v, not %v", path, after, before)}
			}
			rest = rest[i+1:]
		}
	default:
		if !reflect.DeepEqual(before, after) {
			paths = append(paths, fmt.Sprintf("%s: %v, not %v", path, after, before))
		}
	}
	return paths
}
