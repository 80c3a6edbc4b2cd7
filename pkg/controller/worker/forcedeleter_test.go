// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform/toyapi"
)

// lateMachines are those of a site that takes some time to list them, and lists some that are gone.
type lateMachines struct {
	platform.Machines

	delay time.Duration
	err   error
	// stale is how long a machine is listed that is deleted.
	stale time.Duration

	mutex   sync.Mutex
	deleted []time.Time
}

func (m *lateMachines) List(ctx context.Context, _ platform.MachineRequest) ([]platform.Machine, error) {
	pause(ctx, m.delay)
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.err != nil || len(m.deleted) > 0 && time.Since(m.deleted[0]) > m.stale {
		return nil, m.err
	}
	return []platform.Machine{{Name: "m", ProviderID: "toy:///racks/m"}}, nil
}

func (m *lateMachines) Delete(context.Context, platform.MachineRequest) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.deleted = append(m.deleted, time.Now())
	return nil
}

// unfinishedMachines are those of a site that lists none which is still being made, and deletes it when it is there.
type unfinishedMachines struct {
	platform.Machines

	done time.Time

	mutex   sync.Mutex
	deleted []string
}

func (m *unfinishedMachines) List(context.Context, platform.MachineRequest) ([]platform.Machine, error) {
	return nil, nil
}

func (m *unfinishedMachines) Delete(_ context.Context, r platform.MachineRequest) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if r.Name != "gone" && time.Now().Before(m.done) {
		return platform.NewError(platform.ClassTransient, "%s is still being made", r.Name)
	}
	m.deleted = append(m.deleted, r.Name+" at "+toyapi.Of[toyapi.MachineSpec](r.Spec.Blocks).Connection.Place)
	return nil
}

var _ = Describe("forceDeleter", func() {
	remove := func(ctx context.Context, m *lateMachines, scopes int) []v1alpha1.Orphan {
		t := &target{site: "racks", known: []machine{{
			Machine: platform.Machine{Name: "m", ProviderID: "toy:///racks/m"}, class: &v1alpha1.MachineProviderSpec{Site: "racks"},
		}}}
		for range scopes {
			t.scopes = append(t.scopes, &v1alpha1.MachineProviderSpec{Site: "racks", Blocks: toyapi.Blocks(&toyapi.MachineSpec{})})
		}
		d := forceDeleter{machines: platform.Registry[platform.Machines]{toyapi.Platform: m}, timeout: time.Minute}
		return d.deleteAll(ctx, []*target{t})
	}

	It("should ask all places of a site at the same time", func(ctx SpecContext) {
		m := &lateMachines{delay: 500 * time.Millisecond, err: platform.NewError(platform.ClassForbidden, "403")}
		begun := time.Now()
		Expect(remove(ctx, m, 20)).To(HaveExactElements(HaveField("Reason", ContainSubstring("403"))))
		Expect(time.Since(begun)).To(BeNumerically("<", 5*time.Second), "ten, if one waited for the other")
	})

	DescribeTable("should delete known machines that no place lists",
		func(ctx SpecContext, done, timeout time.Duration, orphans, deleted types.GomegaMatcher) {
			at := func(place string) *v1alpha1.MachineProviderSpec {
				return &v1alpha1.MachineProviderSpec{Site: "racks",
					Blocks: toyapi.Blocks(&toyapi.MachineSpec{Connection: toyapi.Connection{Place: place}})}
			}
			known := func(name, providerID, place string) machine {
				return machine{Machine: platform.Machine{Name: name, ProviderID: providerID}, class: at(place)}
			}
			t := &target{
				site:   "racks",
				scopes: []*v1alpha1.MachineProviderSpec{at("east")},
				known: []machine{known("a", "", "east"), known("b", "", "west"), known("c", "toy:///racks/c", "west"),
					known("gone", "toy:///racks/gone", "east")},
			}
			m := &unfinishedMachines{done: time.Now().Add(done)}
			d := forceDeleter{machines: platform.Registry[platform.Machines]{toyapi.Platform: m}, timeout: timeout}
			Expect(d.deleteAll(ctx, []*target{t})).To(orphans)
			Expect(m.deleted).To(deleted)
		},
		Entry("when they are made", time.Second, time.Minute, BeEmpty(), ConsistOf("gone at east", "a at east", "b at west", "c at west")),
		Entry("or say that they are still being made", time.Hour, 6*time.Second, HaveExactElements(
			And(HaveField("Name", "a"), HaveField("Reason", ContainSubstring("a is still being made"))),
			And(HaveField("Name", "b"), HaveField("Reason", ContainSubstring("b is still being made"))),
			And(HaveField("Name", "c"), HaveField("ID", "toy:///racks/c"), HaveField("Reason", ContainSubstring("c is still being made"))),
		), ConsistOf("gone at east")),
	)

	It("should give a list time to become true", func(ctx SpecContext) {
		m := &lateMachines{stale: time.Second}
		Expect(remove(ctx, m, 1)).To(BeEmpty())
		Expect(len(m.deleted)).To(BeNumerically("<=", 2))
	})

	It("should know a listed machine by its provider ID, or by its name if it had none", func() {
		scope := &v1alpha1.MachineProviderSpec{Site: "racks"}
		s := siteMachines{target: &target{}, all: []*machine{
			{Machine: platform.Machine{Name: "a"}, class: scope},
			{Machine: platform.Machine{Name: "b", ProviderID: "toy:///b"}, class: scope},
		}}
		for _, found := range []platform.Machine{
			{Name: "a", ProviderID: "toy:///a"}, {Name: "renamed", ProviderID: "toy:///b"}, {Name: "a", ProviderID: "toy:///twin"},
			{Name: "c"}, {Name: "d"}, {Name: "c"},
		} {
			s.record(found).scope = scope
		}
		var names []string
		for _, m := range s.all {
			names = append(names, m.Name+" "+m.ProviderID)
		}
		Expect(names).To(Equal([]string{"a toy:///a", "renamed toy:///b", "a toy:///twin", "c ", "d "}))
	})
})
