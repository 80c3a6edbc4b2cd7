// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"encoding/json"
	"fmt"
	"time"

	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

var shoot = owner.Owner{Shoot: "shoot--a--b", Site: "racks"}

// newHost returns a free host.
func newHost(name string, changes ...func(*metal3v1alpha1.BareMetalHost)) *metal3v1alpha1.BareMetalHost {
	host := &metal3v1alpha1.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{Namespace: "hosts", Name: name, ResourceVersion: "7", Labels: map[string]string{"rack": "r1"},
			Annotations: map[string]string{}},
		Spec: metal3v1alpha1.BareMetalHostSpec{BootMACAddress: "02:00:00:00:00:01"},
	}
	host.Status.OperationalStatus = metal3v1alpha1.OperationalStatusOK
	host.Status.Provisioning.State = metal3v1alpha1.StateAvailable
	for _, change := range changes {
		change(host)
	}
	return host
}

// claim makes the host the machine of the shoot.
func claim(host *metal3v1alpha1.BareMetalHost) {
	host.Labels = shoot.MachineLabels("m")
	host.Spec.ConsumerRef = new(shoot.Reference("m"))
	host.Spec.Image = &metal3v1alpha1.Image{URL: "u"}
	host.Spec.UserData = &corev1.SecretReference{Name: "m"}
	host.Annotations[owner.AnnotationNode] = "n"
}

func annotate(key string) func(*metal3v1alpha1.BareMetalHost) {
	return func(host *metal3v1alpha1.BareMetalHost) { host.Annotations[key] = "" }
}

var _ = Describe("host", func() {
	DescribeTable("what keeps a host from being claimed",
		func(change func(*metal3v1alpha1.BareMetalHost), expected obstacle, state inventory.State) {
			host := newHost("h", change)
			Expect(obstacleTo(host, "metadata")).To(Equal(expected))
			Expect(hostOf(host, "", "metadata")).To(HaveField("State", state))
		},
		Entry("nothing", func(*metal3v1alpha1.BareMetalHost) {}, obstacleNone, inventory.Free),
		Entry("nothing in the older state", func(h *metal3v1alpha1.BareMetalHost) { h.Status.Provisioning.State = metal3v1alpha1.StateReady },
			obstacleNone, inventory.Free),
		Entry("a consumer", func(h *metal3v1alpha1.BareMetalHost) { h.Spec.ConsumerRef = &corev1.ObjectReference{Name: "x"} }, obstacleTaken,
			inventory.Taken),
		Entry("an image without a consumer", func(h *metal3v1alpha1.BareMetalHost) { h.Spec.Image = &metal3v1alpha1.Image{} }, obstacleTaken,
			inventory.Taken),
		Entry("another way to deploy", func(h *metal3v1alpha1.BareMetalHost) { h.Spec.CustomDeploy = &metal3v1alpha1.CustomDeploy{} },
			obstacleTaken, inventory.Taken),
		Entry("a system that others wrote", func(h *metal3v1alpha1.BareMetalHost) { h.Spec.ExternallyProvisioned = true }, obstacleTaken,
			inventory.Taken),
		Entry("a pause", annotate("baremetalhost.metal3.io/paused"), obstacleMaintenance, inventory.Unready),
		Entry("being detached", annotate("baremetalhost.metal3.io/detached"), obstacleMaintenance, inventory.Unready),
		Entry("being detached already", func(h *metal3v1alpha1.BareMetalHost) {
			h.Status.OperationalStatus = metal3v1alpha1.OperationalStatusDetached
		}, obstacleMaintenance, inventory.Unready),
		Entry("being unhealthy", annotate("capm3.metal3.io/unhealthy"), obstacleMaintenance, inventory.Unready),
		Entry("an error", func(h *metal3v1alpha1.BareMetalHost) { h.Status.ErrorMessage = "broken" }, obstacleFaulty, inventory.Unready),
		Entry("a release without cleaning", func(h *metal3v1alpha1.BareMetalHost) {
			h.Spec.AutomatedCleaningMode = metal3v1alpha1.CleaningModeDisabled
		}, obstacleUncleaned, inventory.Unready),
		Entry("its deletion", func(h *metal3v1alpha1.BareMetalHost) { h.DeletionTimestamp = new(metav1.Now()) }, obstacleUnready,
			inventory.Unready),
		Entry("being serviced", func(h *metal3v1alpha1.BareMetalHost) {
			h.Status.OperationalStatus = metal3v1alpha1.OperationalStatusServicing
		}, obstacleUnready, inventory.Unready),
		Entry("being cleaned", func(h *metal3v1alpha1.BareMetalHost) {
			h.Status.Provisioning.State = metal3v1alpha1.StateDeprovisioning
		}, obstacleUnready, inventory.Unready),
	)

	It("should be a fault that a host has no BMC, unless it is in maintenance", func() {
		unmanaged := func(h *metal3v1alpha1.BareMetalHost) { h.Status.Provisioning.State = metal3v1alpha1.StateUnmanaged }
		Expect(hostOf(newHost("h", unmanaged), "", "")).To(HaveField("Fault", "it has no BMC"))
		Expect(hostOf(newHost("h", unmanaged, func(h *metal3v1alpha1.BareMetalHost) {
			h.Annotations = map[string]string{metal3v1alpha1.PausedAnnotation: ""}
		}), "", "")).To(HaveField("Fault", ""))
	})

	DescribeTable("whose machine a host is",
		func(expected string, changes ...func(*metal3v1alpha1.BareMetalHost)) {
			Expect(kind.MachineOf(newHost("h", changes...), shoot)).To(Equal(expected))
		},
		Entry("nobody's", ""),
		Entry("ours", "m", claim),
		Entry("ours without a consumer", "m", claim, func(h *metal3v1alpha1.BareMetalHost) { h.Spec.ConsumerRef = nil }),
		Entry("another's with our labels", "", claim, func(h *metal3v1alpha1.BareMetalHost) { h.Spec.ConsumerRef.Namespace = "other" }),
		Entry("another site's", "", claim, func(h *metal3v1alpha1.BareMetalHost) { h.Labels[owner.LabelSite] = "other" }),
	)

	DescribeTable("what a machine is",
		func(expected inventory.Host, changes ...func(*metal3v1alpha1.BareMetalHost)) {
			expected.Name, expected.MACAddress, expected.State = "h", "02:00:00:00:00:01", inventory.Claimed
			expected.Machine, expected.ProviderID, expected.NodeName = "m", "metal3://hosts/h/m", "n"
			expected.Labels = shoot.MachineLabels("m")
			Expect(hostOf(newHost("h", append([]func(*metal3v1alpha1.BareMetalHost){claim}, changes...)...), "m", "")).To(Equal(expected))
		},
		Entry("claimed", inventory.Host{Complete: true}),
		Entry("running", inventory.Host{Complete: true, Running: true}, func(h *metal3v1alpha1.BareMetalHost) {
			h.Status.Provisioning.State, h.Status.PoweredOn = metal3v1alpha1.StateProvisioned, true
		}),
		Entry("switched off", inventory.Host{Complete: true, Running: true, Off: true}, func(h *metal3v1alpha1.BareMetalHost) {
			h.Status.Provisioning.State = metal3v1alpha1.StateProvisioned
		}),
		Entry("without an image", inventory.Host{}, func(h *metal3v1alpha1.BareMetalHost) { h.Spec.Image = nil }),
		Entry("without user data", inventory.Host{}, func(h *metal3v1alpha1.BareMetalHost) { h.Spec.UserData = nil }),
		Entry("faulty", inventory.Host{Complete: true, Fault: "provisioning error: no disk"}, func(h *metal3v1alpha1.BareMetalHost) {
			h.Status.ErrorType, h.Status.ErrorMessage = metal3v1alpha1.ProvisioningError, "no disk"
		}),
		Entry("faulty in maintenance", inventory.Host{Complete: true}, func(h *metal3v1alpha1.BareMetalHost) {
			h.Status.ErrorMessage = "no disk"
			annotate("baremetalhost.metal3.io/paused")(h)
		}),
	)

	It("should say how many hosts there are and why none is free", func() {
		var hosts []metal3v1alpha1.BareMetalHost
		for n, change := range []func(*metal3v1alpha1.BareMetalHost){
			claim,
			func(h *metal3v1alpha1.BareMetalHost) { h.Spec.ConsumerRef = &corev1.ObjectReference{} },
			annotate("baremetalhost.metal3.io/paused"),
			func(h *metal3v1alpha1.BareMetalHost) { h.Status.ErrorMessage = "broken" },
			func(h *metal3v1alpha1.BareMetalHost) { h.Status.Provisioning.State = metal3v1alpha1.StateInspecting },
			func(h *metal3v1alpha1.BareMetalHost) { h.Labels["rack"] = "r2" },
		} {
			host := newHost(fmt.Sprint(n), change)
			if n == 0 {
				host.Labels["rack"] = "r1"
			}
			hosts = append(hosts, *host)
		}
		selection := &inventory.Selection{Selector: labels.SelectorFromSet(labels.Set{"rack": "r1"})}
		free, counts := kind.Candidates(hosts, selection)
		Expect(free).To(BeEmpty())
		Expect(counts.Exhausted("hosts",
			obstacles)).To(MatchError("5 of 6 hosts match, 0 are free (2 taken, 1 in maintenance, 1 faulty, 1 not ready)"))
		Expect(platform.ClassOf(counts.Exhausted("hosts", obstacles))).To(Equal(platform.ClassExhausted))

		_, counts = kind.Candidates(append(hosts, *newHost("free")), selection)
		Expect(counts.Exhausted("hosts", obstacles)).To(MatchError(ContainSubstring("(3 taken,")), "others are claiming it")
		_, counts = kind.Candidates(nil, selection)
		Expect(counts.Exhausted("hosts", obstacles)).To(MatchError("0 of 0 hosts match, 0 are free"))
	})

	DescribeTable("the image of a host",
		func(image v1alpha1.MetalImage, expected string) {
			Expect(json.Marshal(imageOf(&image))).To(MatchJSON(expected))
		},
		Entry("with defaults", v1alpha1.MetalImage{URL: "u", Checksum: "c"}, `{"url":"u","checksum":"c","checksumType":"sha256","format":"raw"}`),
		Entry("as given", v1alpha1.MetalImage{URL: "u", Checksum: "c", ChecksumType: "md5", Format: "qcow2"},
			`{"url":"u","checksum":"c","checksumType":"md5","format":"qcow2"}`),
		Entry("that is booted", v1alpha1.MetalImage{URL: "u", Checksum: "c", Format: "live-iso"}, `{"url":"u","format":"live-iso"}`),
		Entry("of a registry", v1alpha1.MetalImage{URL: "oci://u"}, `{"url":"oci://u","format":"raw"}`),
	)

	It("should claim with one patch of our own fields, and never replace an image", func() {
		request := &inventory.Claim{Machine: "m", Image: v1alpha1.MetalImage{URL: "u", Checksum: "c"},
			Selection: inventory.Selection{Cleaning: "metadata"}}
		Expect(json.Marshal(claimPatch(newHost("h"), shoot, request, inventory.Data{NodeName: "n", NetworkData: []byte("x")}))).To(MatchJSON(`{
			"metadata": {
				"resourceVersion": "7",
				"labels": {
					"hybrid.provider.extensions.gardener.cloud/shoot": "shoot--a--b",
					"hybrid.provider.extensions.gardener.cloud/site": "racks",
					"hybrid.provider.extensions.gardener.cloud/machine": "m"
				},
				"annotations": {"hybrid.provider.extensions.gardener.cloud/node": "n"}
			},
			"spec": {
				"consumerRef": {"apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "Machine", "namespace": "shoot--a--b", "name": "m"},
				"image": {"url": "u", "checksum": "c", "checksumType": "sha256", "format": "raw"},
				"userData": {"namespace": "hosts", "name": "m"},
				"metaData": {"namespace": "hosts", "name": "m"},
				"networkData": {"namespace": "hosts", "name": "m"},
				"automatedCleaningMode": "metadata",
				"online": true
			}
		}`))
		patch, err := json.Marshal(claimPatch(newHost("h", claim), shoot, request, inventory.Data{}))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(patch)).NotTo(ContainSubstring(`"image"`))
	})

	It("should keep what is read of a host, and nothing else", func() {
		host := newHost("h", claim, annotate(metal3v1alpha1.HardwareDetailsAnnotation), annotate(metal3v1alpha1.PausedAnnotation))
		host.Status.HardwareDetails = &metal3v1alpha1.HardwareDetails{Hostname: "x"}
		host.Status.Provisioning.State = metal3v1alpha1.StateProvisioned
		host.Status.OperationHistory.Provision = metal3v1alpha1.OperationMetric{Start: metav1.Unix(1, 0), End: metav1.Unix(2, 0)}
		Expect(hostOf(host, "m", "").Provisioned).To(Equal(time.Unix(2, 0)))
		before := hostOf(host, "m", "")
		stripped, err := strip(host)
		Expect(err).NotTo(HaveOccurred())
		kept := stripped.(*metal3v1alpha1.BareMetalHost)
		Expect(hostOf(kept, "m", "")).To(Equal(before))
		Expect(kept.Status.HardwareDetails).To(BeNil())
		Expect(kept.Annotations).To(And(HaveKey(metal3v1alpha1.PausedAnnotation), Not(HaveKey(metal3v1alpha1.HardwareDetailsAnnotation))))
	})
})
