// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package static

import (
	"encoding/json"
	"net/netip"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	staticv1alpha1 "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

var (
	shoot  = owner.Owner{Shoot: "shoot--a--b", Site: "own"}
	debian = &v1alpha1.MetalOSRelease{ID: "debian", VersionID: "12"}
)

// change changes a host.
type change = func(*staticv1alpha1.StaticHost)

// newHost returns a free host.
func newHost(name string, changes ...change) *staticv1alpha1.StaticHost {
	host := &staticv1alpha1.StaticHost{
		ObjectMeta: metav1.ObjectMeta{Namespace: "hosts", Name: name, UID: "1", ResourceVersion: "7", Labels: map[string]string{"rack": "r1"}},
		Spec: staticv1alpha1.StaticHostSpec{Address: "192.0.2.7", HostKeys: []string{"ssh-ed25519 AAAA"},
			SSHSecretRef: staticv1alpha1.LocalReference{Name: "ssh"}},
		Status: staticv1alpha1.StaticHostStatus{
			Phase: staticv1alpha1.PhaseAvailable,
			Facts: &staticv1alpha1.Facts{Architecture: "amd64", CPUs: 4, MemoryMiB: 8192, SystemUUID: "u",
				OSRelease: staticv1alpha1.OSRelease{ID: "debian", VersionID: "12"}, Addresses: []string{"100.64.0.1", "192.0.2.7"},
				Disks: []staticv1alpha1.Disk{{Name: "sda", SizeGiB: 10}}},
		},
	}
	for _, condition := range []string{staticv1alpha1.ConditionReachable, staticv1alpha1.ConditionSuitable, staticv1alpha1.ConditionClean} {
		is(condition, metav1.ConditionTrue, "Checked", "")(host)
	}
	for _, change := range changes {
		change(host)
	}
	return host
}

// claim makes the host the machine of the shoot.
func claim(host *staticv1alpha1.StaticHost) {
	host.Labels = shoot.MachineLabels("m")
	host.Annotations = map[string]string{owner.AnnotationNode: "n"}
	host.Spec.ConsumerRef = new(shoot.Reference("m"))
	host.Spec.UserDataSecretRef, host.Spec.NodeName = &staticv1alpha1.LocalReference{Name: "m"}, "n"
}

// release removes from the host what the driver removes first.
func release(host *staticv1alpha1.StaticHost) {
	claim(host)
	host.Spec.UserDataSecretRef, host.Spec.NodeName = nil, ""
}

func is(condition string, status metav1.ConditionStatus, reason, message string) change {
	return func(host *staticv1alpha1.StaticHost) {
		meta.SetStatusCondition(&host.Status.Conditions, metav1.Condition{Type: condition, Status: status, Reason: reason, Message: message})
	}
}

// in sets the phase, and that of a machine.
func in(phase staticv1alpha1.Phase) change {
	return func(host *staticv1alpha1.StaticHost) {
		host.Status.Phase, host.Status.Provisioned = phase, &staticv1alpha1.Provisioned{Machine: "m"}
	}
}

var _ = Describe("host", func() {
	taint := func(host *staticv1alpha1.StaticHost) {
		host.Spec.Taints = []staticv1alpha1.Taint{{Key: "gpu", Value: "a"}}
	}

	DescribeTable("what keeps a host from being claimed",
		func(change change, expected inventory.Obstacle, state inventory.State) {
			host, selection := newHost("h", change), &inventory.Selection{OSRelease: debian}
			Expect(obstacleTo(host, selection)).To(Equal(expected))
			Expect(hostOf(host, "", selection)).To(HaveField("State", state))
		},
		Entry("nothing", func(*staticv1alpha1.StaticHost) {}, inventory.Obstacle(""), inventory.Free),
		Entry("a consumer", claim, obstacleTaken, inventory.Taken),
		Entry("maintenance", func(h *staticv1alpha1.StaticHost) { h.Spec.Maintenance = true }, obstacleMaintenance, inventory.Unready),
		Entry("a taint", taint, obstacleTainted, inventory.Unready),
		Entry("dirt", in(staticv1alpha1.PhaseDirty), obstacleDirty, inventory.Unready),
		Entry("no connection", is(staticv1alpha1.ConditionReachable, metav1.ConditionFalse, "Timeout", ""), obstacleUnreachable,
			inventory.Unready),
		Entry("no containerd", is(staticv1alpha1.ConditionSuitable, metav1.ConditionFalse, "NoContainerd", ""), obstacleUnsuitable,
			inventory.Unready),
		Entry("another version", func(h *staticv1alpha1.StaticHost) { h.Status.Facts.OSRelease.VersionID = "11" }, obstacleOtherSystem,
			inventory.Unready),
		Entry("another system", func(h *staticv1alpha1.StaticHost) { h.Status.Facts.OSRelease.ID = "ubuntu" }, obstacleOtherSystem,
			inventory.Unready),
		Entry("no facts", func(h *staticv1alpha1.StaticHost) { h.Status.Facts = nil }, obstacleUnready, inventory.Unready),
		Entry("no status", func(h *staticv1alpha1.StaticHost) { h.Status = staticv1alpha1.StaticHostStatus{} }, obstacleUnready,
			inventory.Unready),
		Entry("its deletion", func(h *staticv1alpha1.StaticHost) { h.DeletionTimestamp = new(metav1.Now()) }, obstacleUnready,
			inventory.Unready),
		Entry("a release without a consumer", in(staticv1alpha1.PhaseReleasing), obstacleUnready, inventory.Unready),
	)

	It("should be claimed with tolerations, and with any system if none is wanted", func() {
		Expect(obstacleTo(newHost("h", taint), &inventory.Selection{Tolerations: []corev1.Toleration{
			{Key: "gpu", Operator: corev1.TolerationOpExists, Effect: effectNoBind}}})).To(BeEmpty())
		Expect(obstacleTo(newHost("h", taint), &inventory.Selection{Tolerations: []corev1.Toleration{
			{Key: "gpu", Value: "b"}}})).To(Equal(obstacleTainted))
	})

	It("should say how many hosts there are and why none is free", func() {
		_, counts := kind.Candidates([]staticv1alpha1.StaticHost{
			*newHost("a", claim), *newHost("b", taint), *newHost("c", in(staticv1alpha1.PhaseDirty)),
			*newHost("d", func(h *staticv1alpha1.StaticHost) { h.Status.Facts.OSRelease.VersionID = "11" }),
		}, &inventory.Selection{OSRelease: debian})
		Expect(counts.Exhausted("hosts", obstacles)).To(MatchError(
			"4 of 4 hosts match, 0 are free (1 taken, 1 tainted, 1 dirty, 1 with another operating system)"))
	})

	DescribeTable("what a machine is",
		func(expected inventory.Host, changes ...change) {
			expected.Name, expected.State, expected.Machine = "h", inventory.Claimed, "m"
			expected.ProviderID, expected.NodeName, expected.SystemUUID = "static://hosts/h/m", "n", "u"
			expected.Labels, expected.DiscoveredAddresses = shoot.MachineLabels("m"), []netip.Addr{netip.MustParseAddr("192.0.2.7")}
			host := newHost("h", append([]change{claim}, changes...)...)
			Expect(kind.MachineOf(host, shoot)).To(Equal("m"))
			before := hostOf(host, "m", nil)
			Expect(before).To(Equal(expected))
			stripped, err := strip(host)
			Expect(err).NotTo(HaveOccurred())
			Expect(hostOf(stripped.(*staticv1alpha1.StaticHost), "m", nil)).To(Equal(before))
		},
		Entry("claimed", inventory.Host{Complete: true}),
		Entry("running", inventory.Host{Complete: true, Running: true}, in(staticv1alpha1.PhaseProvisioned)),
		Entry("updated in place", inventory.Host{Complete: true, Running: true}, in(staticv1alpha1.PhaseProvisioned),
			func(h *staticv1alpha1.StaticHost) { h.Status.Facts.OSRelease.VersionID = "13" }),
		Entry("whose user data failed", inventory.Host{Complete: true, Fault: "UserDataFailed: exit code 1"},
			in(staticv1alpha1.PhaseProvisioning), is(staticv1alpha1.ConditionProvisioned, metav1.ConditionFalse, "UserDataFailed", "exit code 1")),
		Entry("whose user data runs", inventory.Host{Complete: true}, in(staticv1alpha1.PhaseProvisioning),
			is(staticv1alpha1.ConditionProvisioned, metav1.ConditionUnknown, "Running", "")),
		Entry("that is another host", inventory.Host{Complete: true, Running: true, Fault: "IdentityChanged: other machine ID"},
			in(staticv1alpha1.PhaseProvisioned),
			is(staticv1alpha1.ConditionReachable, metav1.ConditionFalse, "IdentityChanged", "other machine ID")),
		Entry("without containerd", inventory.Host{Complete: true, Running: true}, in(staticv1alpha1.PhaseProvisioned),
			is(staticv1alpha1.ConditionSuitable, metav1.ConditionFalse, "NoContainerd", "")),
		Entry("being released", inventory.Host{}, in(staticv1alpha1.PhaseReleasing), release),
		Entry("dirty", inventory.Host{Fault: "StepFailed: unmount"}, release, in(staticv1alpha1.PhaseDirty),
			is(staticv1alpha1.ConditionClean, metav1.ConditionFalse, "StepFailed", "unmount")),
		Entry("in maintenance", inventory.Host{Complete: true}, is(staticv1alpha1.ConditionReachable, metav1.ConditionFalse, "Off", ""),
			func(h *staticv1alpha1.StaticHost) { h.Spec.Maintenance = true }),
	)

	It("should have all its addresses if that of its SSH server is not among them", func() {
		host := newHost("h", claim, func(h *staticv1alpha1.StaticHost) {
			h.Spec.Address, h.Status.Facts.Addresses = "h.example.com", []string{"192.0.2.8", "none", "2001:db8::8"}
		})
		Expect(hostOf(host, "m", nil).DiscoveredAddresses).To(Equal([]netip.Addr{netip.MustParseAddr("192.0.2.8"),
			netip.MustParseAddr("2001:db8::8")}))
	})

	It("should be nobody's machine without a consumer", func() {
		Expect(kind.MachineOf(newHost("h", claim, func(h *staticv1alpha1.StaticHost) { h.Spec.ConsumerRef = nil }), shoot)).To(BeEmpty())
		Expect(kind.MachineOf(newHost("h", claim, func(h *staticv1alpha1.StaticHost) { h.Spec.ConsumerRef.Namespace = "x" }), shoot)).
			To(BeEmpty())
	})

	It("should have its hardware, within bounds", func() {
		Expect(surveyed(newHost("h", taint))).To(Equal(inventory.Surveyed{Tainted: true, CPUs: 4, Memory: 8 << 30, Architecture: "amd64"}))
		for _, memory := range []int64{-1, 1 << 62} {
			Expect(surveyed(newHost("h", func(h *staticv1alpha1.StaticHost) { h.Status.Facts.MemoryMiB = memory })).Memory).
				To(BeNumerically(">=", 0))
		}
	})

	It("should be claimed with one patch", func() {
		Expect(json.Marshal(claimPatch(newHost("h"), shoot, &inventory.Claim{Machine: "m"}, inventory.Data{NodeName: "n"}))).To(MatchJSON(`{
			"metadata": {
				"resourceVersion": "7",
				"labels": {
					"hybrid.provider.extensions.gardener.cloud/shoot": "shoot--a--b",
					"hybrid.provider.extensions.gardener.cloud/site": "own",
					"hybrid.provider.extensions.gardener.cloud/machine": "m"
				},
				"annotations": {"hybrid.provider.extensions.gardener.cloud/node": "n"}
			},
			"spec": {
				"consumerRef": {"apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "Machine", "namespace": "shoot--a--b", "name": "m"},
				"userDataSecretRef": {"name": "m"},
				"nodeName": "n"
			}
		}`))
	})

	It("should get a script, and nothing else", func() {
		secret, err := secretOf(newHost("h"), "m", inventory.Data{UserData: []byte("#!/bin/bash\n")})
		Expect(err).NotTo(HaveOccurred())
		Expect(secret.Data).To(Equal(map[string][]byte{"userData": []byte("#!/bin/bash\n")}))
		Expect(secret.OwnerReferences).To(ConsistOf(HaveField("Kind", "StaticHost")))
		for _, text := range []string{"", "#cloud-config\n", `{"ignition": {}}`} {
			_, err := secretOf(newHost("h"), "m", inventory.Data{UserData: []byte(text)})
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		}
	})

	DescribeTable("how a machine is removed from a host", func(expected string, changes ...change) {
		host := newHost("h", append([]change{claim, in(staticv1alpha1.PhaseProvisioned)}, changes...)...)
		Expect(isReleasable(host)).To(BeFalse())
		Expect(json.Marshal(cleanPatch(host, "m", ""))).To(MatchJSON(
			`{"metadata": {"resourceVersion": "7"}, "spec": {"userDataSecretRef": null, "nodeName": null}}`))
		host = newHost("h", append([]change{release, in(staticv1alpha1.PhaseProvisioned)}, changes...)...)
		Expect(cleanPatch(host, "m", "")).To(BeNil())
		Expect(isReleasable(host)).To(BeFalse())
		Expect(unreleased(host)).To(MatchError(ContainSubstring(expected)))
		Expect(platform.ClassOf(unreleased(host))).To(Equal(platform.ClassTransient))
	},
		Entry("not begun", `host "h" is waiting to be released`),
		Entry("begun", `host "h" is Releasing`, in(staticv1alpha1.PhaseReleasing)),
		Entry("failed", "annotated the StaticHost with static.hybrid.provider.extensions.gardener.cloud/retry: StepFailed: unmount",
			in(staticv1alpha1.PhaseDirty), is(staticv1alpha1.ConditionClean, metav1.ConditionFalse, "StepFailed", "unmount")),
		Entry("out of reach", "its administrator has repaired it: Timeout: no answer",
			in(staticv1alpha1.PhaseReleasing), is(staticv1alpha1.ConditionReachable, metav1.ConditionFalse, "Timeout", "no answer")),
	)

	It("should be freed when nothing of the machine is on it", func() {
		host := newHost("h", release)
		Expect(isReleasable(host)).To(BeTrue())
		Expect(isReleasable(newHost("h", claim))).To(BeFalse(), "the operator may be about to provision it")
		Expect(json.Marshal(freePatch(host, shoot, "m"))).To(MatchJSON(`{
			"metadata": {
				"resourceVersion": "7",
				"labels": {
					"hybrid.provider.extensions.gardener.cloud/shoot": null,
					"hybrid.provider.extensions.gardener.cloud/site": null,
					"hybrid.provider.extensions.gardener.cloud/machine": null
				},
				"annotations": {"hybrid.provider.extensions.gardener.cloud/node": null}
			},
			"spec": {"consumerRef": null}
		}`))
		Expect(held(host)).To(Succeed())
		host.Spec.Maintenance = true
		Expect(held(host)).To(MatchError(ContainSubstring("in maintenance")))
	})
})
