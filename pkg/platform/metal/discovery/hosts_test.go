// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"fmt"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

func TestDiscovery(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Metal Discovery Suite")
}

var _ = Describe("Hosts", func() {
	host := func(name string, cpus int64, labels ...string) inventory.Surveyed {
		h := inventory.Surveyed{Name: name, Free: true, CPUs: cpus, Memory: cpus << 30, Architecture: "x86_64", Labels: map[string]string{}}
		for i := 0; i < len(labels); i += 2 {
			h.Labels[labels[i]] = labels[i+1]
		}
		return h
	}
	offerOf := func(hosts ...inventory.Surveyed) (zones, types map[string]map[string]string, offer *platform.Offer) {
		offer = &platform.Offer{}
		offerHosts("racks", hosts, offer)
		zones, types = map[string]map[string]string{}, map[string]map[string]string{}
		for _, object := range offer.Objects {
			if zone := object.Entries.Zone; zone != nil {
				zones[zone.Name] = nil
				if selector := zone.Metal.HostSelector; selector != nil {
					zones[zone.Name] = selector.MatchLabels
				}
			}
			if machineType := object.Entries.MachineType; machineType != nil {
				types[object.Name] = nil
				if selector := machineType.Metal.HostSelector; selector != nil {
					types[object.Name] = selector.MatchLabels
				}
			}
		}
		return zones, types, offer
	}

	It("should be one zone and one machine type if they are alike", func() {
		zones, types, offer := offerOf(host("a", 8), host("b", 8))
		Expect(zones).To(Equal(map[string]map[string]string{"racks": nil}))
		Expect(types).To(Equal(map[string]map[string]string{"metal-8-8gi": nil}))
		Expect(offer.Objects).To(ContainElement(And(HaveField("Kind", platform.KindHosts), HaveField("Count", 2), HaveField("Free", 2),
			HaveField("Architecture", "amd64"))))
		Expect(offer.Omitted).To(BeEmpty())
	})

	It("should be distinguished by labels that all of them have and no others", func() {
		zones, types, offer := offerOf(
			host("a", 8, "rack", "r1", "size", "s", "serial", "1"), host("b", 8, "rack", "r2", "size", "s", "serial", "2"),
			host("c", 32, "rack", "r1", "size", "l", "serial", "3"), host("d", 64, "rack", "r2", "serial", "4", "size", "l"),
			host("e", 64, "rack", "r2", "serial", "5"))
		Expect(zones).To(Equal(map[string]map[string]string{"racks-r1": {"rack": "r1"}, "racks-r2": {"rack": "r2"}}))
		Expect(types).To(Equal(map[string]map[string]string{"metal-8-8gi": {"size": "s"}, "metal-32-32gi": {"serial": "3"}}))
		Expect(offer.Omitted).To(ConsistOf(platform.Omission{Kind: platform.KindGroup, Name: "hosts with 64 CPUs and 64Gi",
			Reason: "2 hosts have no label that all of them have and no other host has"}))
	})

	It("should not be offered if they are tainted, or if nothing is known about them", func() {
		tainted := host("t", 8, "size", "t")
		tainted.Tainted = true
		_, types, offer := offerOf(tainted, host("u", 0), host("a", 8, "size", "s"))
		Expect(types).To(Equal(map[string]map[string]string{"metal-8-8gi": {"size": "s"}}))
		Expect(offer.Omitted).To(ConsistOf(HaveField("Name", "1 hosts"), HaveField("Name", "1 tainted hosts")))
	})

	It("should be as one host if only the labels of shoots differ", func() {
		_, _, offer := offerOf(host("a", 8, owner.LabelMachine, "m1", owner.LabelShoot, "s", owner.LabelSite, "racks"), host("b", 8))
		Expect(offer.Objects).To(ContainElement(And(HaveField("Kind", platform.KindHosts), HaveField("Count", 2))))
	})

	It("should have one zone if a label has too many values to be one of failure domains", func() {
		var hosts []inventory.Surveyed
		for i := range 60 {
			hosts = append(hosts, host(fmt.Sprint("h", i), 8, "rack", fmt.Sprint(i)))
		}
		zones, _, _ := offerOf(hosts...)
		Expect(zones).To(HaveLen(1))
	})

	It("should be none in an empty inventory", func() {
		zones, types, _ := offerOf()
		Expect(zones).To(HaveLen(1))
		Expect(types).To(BeEmpty())
	})
})
