// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"context"
	"errors"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	upstream "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// fakeMachines are machines by their provider ID.
type fakeMachines struct {
	machines map[string]platform.NodeMachine
	asked    int
	err      error
	panics   bool
}

func (*fakeMachines) HasProviderID(id string) bool {
	return strings.HasPrefix(id, "toy://")
}

func (f *fakeMachines) find(node *corev1.Node) (platform.NodeMachine, bool) {
	f.asked++
	if f.panics {
		panic("broken")
	}
	id := node.Spec.ProviderID
	if id == "" {
		id = "toy://" + node.Name
	}
	machine, ok := f.machines[id]
	return machine, ok
}

func (f *fakeMachines) Exists(_ context.Context, node *corev1.Node) (bool, error) {
	_, ok := f.find(node)
	return ok && f.err == nil, f.err
}

func (f *fakeMachines) ShutDown(_ context.Context, node *corev1.Node) (bool, error) {
	_, ok := f.find(node)
	return ok, f.err
}

func (f *fakeMachines) Describe(_ context.Context, node *corev1.Node) (platform.NodeMachine, error) {
	machine, ok := f.find(node)
	if !ok {
		return machine, platform.NewError(platform.ClassNotFound, "there is none")
	}
	return machine, f.err
}

var _ = Describe("Instances", func() {
	const shoot, pool = "shoot--local--a", "pool"
	var (
		machines *fakeMachines
		i        *instances
		node     *corev1.Node
		own      = platform.NodeMachine{ProviderID: "toy://1", Type: "large", Zones: []string{"a-1"},
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}}
	)

	BeforeEach(func(ctx SpecContext) {
		machines = &fakeMachines{machines: map[string]platform.NodeMachine{"toy://1": own}}
		i = &instances{ctx: context.Background(), machines: machines, births: newBirths(nil),
			config: &siteConfig{Shoot: shoot, Region: "west", Site: &v1alpha1.CloudControllerSite{Name: "a"}}}
		node = &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "node",
				Labels: map[string]string{v1alpha1.LabelSite: "a", v1alpha1.LabelInitializedBy: "a", "worker.gardener.cloud/pool": pool}},
			Spec: corev1.NodeSpec{ProviderID: "toy://1"},
		}
	})

	It("know a machine that exists, and one of the site that is gone", func(ctx SpecContext) {
		Expect(i.InstanceExists(ctx, node)).To(BeTrue())
		Expect(i.InstanceShutdown(ctx, node)).To(BeTrue())
		node.Spec.ProviderID = "toy://gone"
		Expect(i.InstanceExists(ctx, node)).To(BeFalse())
	})

	DescribeTable("never say that the machine of a node does not exist that it cannot know",
		func(ctx SpecContext, change func(), asked int, metadata bool) {
			node.Spec.ProviderID = "toy://gone"
			change()
			exists, err := i.InstanceExists(ctx, node)
			Expect(err).To(HaveOccurred())
			Expect(exists).To(BeFalse())
			Expect(errors.Is(err, upstream.InstanceNotFound)).To(BeFalse())
			Expect(machines.asked).To(Equal(asked))

			described, err := i.InstanceMetadata(ctx, node)
			if metadata {
				Expect(err).NotTo(HaveOccurred())
				Expect(described).NotTo(BeNil())
				return
			}
			Expect(err).To(HaveOccurred())
			Expect(described).To(BeNil())
		},
		Entry("another platform's ID", func() { node.Spec.ProviderID = "other://1" }, 0, false),
		Entry("no scheme", func() { node.Spec.ProviderID = "1" }, 0, false),
		Entry("static", func() { node.Spec.ProviderID = "static://" }, 0, false),
		Entry("no ID and no machine of that name", func() { node.Spec.ProviderID = "" }, 0, false),
		Entry("no ID and a machine of that name", func() { node.Spec.ProviderID, node.Name = "", "1" }, 0, true),
		Entry("another site's label", func() { node.Labels[v1alpha1.LabelSite] = "b" }, 0, false),
		Entry("no label", func() { delete(node.Labels, v1alpha1.LabelSite) }, 0, false),
		Entry("initialized by another site", func() { node.Labels[v1alpha1.LabelInitializedBy] = "b" }, 1, false),
		Entry("initialized by nobody", func() { delete(node.Labels, v1alpha1.LabelInitializedBy) }, 1, false),
		Entry("a site that does not answer", func() { machines.err = errors.New("timeout") }, 1, false),
		Entry("a site that panics", func() { machines.panics = true }, 1, false),
		Entry("a set that was replaced", func() {
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			i.ctx = ended
		}, 0, false),
	)

	DescribeTable("describe the machine with Gardener's zone until the node is initialized",
		func(ctx SpecContext, name string, zones []string, tainted bool, zone, message string) {
			machine := own
			machine.Zones = zones
			machines.machines["toy://1"] = machine
			node.Name = name
			if tainted {
				node.Spec.Taints = []corev1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider}}
			}
			metadata, err := i.InstanceMetadata(ctx, node)
			if message != "" {
				Expect(err).To(MatchError(ContainSubstring(message)))
				return
			}
			Expect(err).NotTo(HaveOccurred())
			Expect(metadata).To(Equal(&upstream.InstanceMetadata{
				ProviderID: "toy://1", InstanceType: "large", NodeAddresses: own.Addresses, Zone: zone, Region: "west",
				AdditionalLabels: map[string]string{v1alpha1.LabelInitializedBy: "a"},
			}))
		},
		Entry("one zone", "node", []string{"a-1"}, true, "a-1", ""),
		Entry("no zone", "node", nil, true, "", "in none of the site's zones"),
		Entry("no zone, initialized", "node", nil, false, "", ""),
		Entry("two zones, the name tells", helper.MachineDeploymentName(shoot, pool, "a-2")+"-x-y", []string{"a-1", "a-2"}, true, "a-2", ""),
		Entry("two zones, the name does not tell", "node", []string{"a-1", "a-2"}, true, "", "matches none or several"),
	)

	It("refuse a machine with another ID than the node", func(ctx SpecContext) {
		machine := own
		machine.ProviderID = "toy://2"
		machines.machines["toy://1"] = machine
		_, err := i.InstanceMetadata(ctx, node)
		Expect(err).To(MatchError(ContainSubstring(`has provider ID "toy://2"`)))
		machine.ProviderID = ""
		machines.machines["toy://1"] = machine
		_, err = i.InstanceMetadata(ctx, node)
		Expect(err).To(HaveOccurred())
	})

	It("let go of the site when the set ends", func(ctx SpecContext) {
		ended, cancel := context.WithCancel(context.Background())
		_, err := call(ctx, ended, func(ctx context.Context) (any, error) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		})
		Expect(err).To(MatchError(context.Canceled))
	})
})
