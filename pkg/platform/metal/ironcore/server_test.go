// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package ironcore

import (
	"time"

	metalv1alpha1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
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

// freeServer returns a server that can be claimed.
func freeServer(name string) *metalv1alpha1.Server {
	return &metalv1alpha1.Server{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"rack": "r1"}},
		Spec:       metalv1alpha1.ServerSpec{ReclaimPolicy: metalv1alpha1.ServerReclaimPolicyRetain},
		Status:     metalv1alpha1.ServerStatus{State: metalv1alpha1.ServerStateAvailable, PowerState: metalv1alpha1.ServerOffPowerState},
	}
}

var _ = Describe("Servers", func() {
	selection := func(cleaning string, tolerations ...corev1.Toleration) *inventory.Selection {
		return &inventory.Selection{Selector: labels.SelectorFromSet(labels.Set{"rack": "r1"}), Tolerations: tolerations, Cleaning: cleaning}
	}

	DescribeTable("the fault of a server that nobody uses", func(expected string, change func(*metalv1alpha1.Server)) {
		server := freeServer("s")
		change(server)
		Expect(freeHostOf(server, selection(v1alpha1.MetalCleaningMetadata)).Fault).To(Equal(expected))
	},
		Entry("none", "", func(*metalv1alpha1.Server) {}),
		Entry("none while it is inspected", "", func(s *metalv1alpha1.Server) {
			s.Status.State, s.Status.PowerState = metalv1alpha1.ServerStateDiscovery, metalv1alpha1.ServerOnPowerState
		}),
		Entry("an error", `server "s" is in state Error`, func(s *metalv1alpha1.Server) { s.Status.State = metalv1alpha1.ServerStateError }),
		Entry("an error that it tells", "Ready: no answer from the BMC", func(s *metalv1alpha1.Server) {
			s.Status.State = metalv1alpha1.ServerStateError
			s.Status.Conditions = []metav1.Condition{{Type: "Ready", Message: "no answer from the BMC"}}
		}),
		Entry("no power state", `its power state is ""`, func(s *metalv1alpha1.Server) { s.Status.PowerState = "" }),
		Entry("none in a maintenance", "", func(s *metalv1alpha1.Server) {
			s.Status.State, s.Status.PowerState = metalv1alpha1.ServerStateMaintenance, ""
		}),
	)

	DescribeTable("what keeps a server from being claimed",
		func(expected obstacle, change func(*metalv1alpha1.Server)) {
			server := freeServer("s")
			change(server)
			Expect(obstacleTo(server, selection(v1alpha1.MetalCleaningMetadata))).To(Equal(expected))
			state := inventory.Unready
			switch expected {
			case obstacleNone:
				state = inventory.Free
			case obstacleTaken:
				state = inventory.Taken
			}
			Expect(freeHostOf(server, selection(v1alpha1.MetalCleaningMetadata)).State).To(Equal(state))
		},
		Entry("nothing", obstacleNone, func(*metalv1alpha1.Server) {}),
		Entry("a claim", obstacleTaken, func(s *metalv1alpha1.Server) {
			s.Spec.ServerClaimRef = &metalv1alpha1.ImmutableObjectReference{Namespace: "hosts", Name: "other"}
		}),
		Entry("a claim that it is retained after", obstacleTaken, func(s *metalv1alpha1.Server) {
			s.Spec.ServerClaimRef = &metalv1alpha1.ImmutableObjectReference{Namespace: "hosts", Name: "gone"}
			s.Status.State = metalv1alpha1.ServerStateReleased
		}),
		Entry("a maintenance", obstacleMaintenance, func(s *metalv1alpha1.Server) { s.Status.State = metalv1alpha1.ServerStateMaintenance }),
		Entry("a maintenance that begins", obstacleMaintenance, func(s *metalv1alpha1.Server) {
			s.Spec.ServerMaintenanceRef = &metalv1alpha1.ObjectReference{Namespace: "hosts", Name: "m"}
		}),
		Entry("being parked", obstacleMaintenance, func(s *metalv1alpha1.Server) {
			s.Annotations = map[string]string{metalv1alpha1.ParkedAnnotation: "true"}
		}),
		Entry("being to be parked", obstacleMaintenance, func(s *metalv1alpha1.Server) {
			s.Annotations = map[string]string{metalv1alpha1.OperationAnnotation: metalv1alpha1.OperationAnnotationPark}
		}),
		Entry("being left alone by metal-operator", obstacleMaintenance, func(s *metalv1alpha1.Server) {
			s.Annotations = map[string]string{metalv1alpha1.OperationAnnotation: metalv1alpha1.OperationAnnotationIgnore}
		}),
		Entry("being cordoned", obstacleCordoned, func(s *metalv1alpha1.Server) { s.Spec.Unclaimable = true }),
		Entry("a taint", obstacleTainted, func(s *metalv1alpha1.Server) {
			s.Spec.Taints = []metalv1alpha1.Taint{{Key: "gpu", Effect: metalv1alpha1.TaintEffectNoBind}}
		}),
		Entry("not being retained", obstacleNotRetained,
			func(s *metalv1alpha1.Server) { s.Spec.ReclaimPolicy = metalv1alpha1.ServerReclaimPolicyRecycle }),
		Entry("a state", obstacleUnready, func(s *metalv1alpha1.Server) { s.Status.State = metalv1alpha1.ServerStateDiscovery }),
		Entry("an error", obstacleUnready, func(s *metalv1alpha1.Server) { s.Status.State = metalv1alpha1.ServerStateError }),
		Entry("being switched on", obstacleUnready, func(s *metalv1alpha1.Server) { s.Status.PowerState = metalv1alpha1.ServerOnPowerState }),
		Entry("being deleted", obstacleUnready, func(s *metalv1alpha1.Server) { s.DeletionTimestamp = new(metav1.Now()) }),
	)

	It("need not be retained where nothing is wiped anyway", func() {
		server := freeServer("s")
		server.Spec.ReclaimPolicy = metalv1alpha1.ServerReclaimPolicyRecycle
		Expect(obstacleTo(server, selection(v1alpha1.MetalCleaningDisabled))).To(Equal(obstacleNone))
	})

	DescribeTable("which taints are tolerated",
		func(tolerated bool, taint metalv1alpha1.Taint, tolerations ...corev1.Toleration) {
			Expect(tolerates([]metalv1alpha1.Taint{taint}, &inventory.Selection{Tolerations: tolerations})).To(Equal(tolerated))
		},
		Entry("none without tolerations", false, metalv1alpha1.Taint{Key: "a", Effect: "NoBind"}),
		Entry("those that evict, which nothing does", true, metalv1alpha1.Taint{Key: "a", Effect: "Evict"}),
		Entry("of the same value", true, metalv1alpha1.Taint{Key: "a", Value: "1", Effect: "NoBind"}, corev1.Toleration{Key: "a", Value: "1"}),
		Entry("not of another value", false, metalv1alpha1.Taint{Key: "a", Value: "1", Effect: "NoBind"},
			corev1.Toleration{Key: "a", Operator: "Equal", Value: "2"}),
		Entry("of each value", true, metalv1alpha1.Taint{Key: "a", Value: "1", Effect: "NoBind"},
			corev1.Toleration{Key: "a", Operator: "Exists"}),
		Entry("not of another key", false, metalv1alpha1.Taint{Key: "a", Effect: "NoBind"}, corev1.Toleration{Key: "b", Operator: "Exists"}),
		Entry("not of another effect", false, metalv1alpha1.Taint{Key: "a", Effect: "NoBind"},
			corev1.Toleration{Key: "a", Operator: "Exists", Effect: "Evict"}),
		Entry("not by an unknown operator", false, metalv1alpha1.Taint{Key: "a", Value: "1", Effect: "NoBind"},
			corev1.Toleration{Key: "a", Operator: "Lt", Value: "1"}),
		Entry("by any of several", true, metalv1alpha1.Taint{Key: "a", Effect: "NoBind"}, corev1.Toleration{Key: "b", Operator: "Exists"},
			corev1.Toleration{Key: "a", Operator: "Exists"}),
	)

	It("are counted, and those that claims name are taken", func() {
		cordoned, other := freeServer("s-2"), freeServer("s-4")
		cordoned.Spec.Unclaimable = true
		other.Labels = nil
		servers := []metalv1alpha1.Server{*freeServer("s-1"), *cordoned, *freeServer("s-3"), *other}
		claims := []metalv1alpha1.ServerClaim{{Spec: metalv1alpha1.ServerClaimSpec{ServerRef: &corev1.LocalObjectReference{Name: "s-1"}}}}

		free, counted := candidates(servers, claims, selection(v1alpha1.MetalCleaningMetadata))
		Expect(free.UnsortedList()).To(ConsistOf("s-3"))
		err := counted.Exhausted("servers", obstacles)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassExhausted))
		Expect(err).To(MatchError("3 of 4 servers match, 0 are free (2 taken, 1 unclaimable)"))

		_, counted = candidates(nil, nil, selection(v1alpha1.MetalCleaningMetadata))
		Expect(counted.Exhausted("servers", obstacles)).To(MatchError("0 of 0 servers match, 0 are free"))
	})

	DescribeTable("the address of the interface that they boot from",
		func(expected string, interfaces ...metalv1alpha1.NetworkInterface) {
			server := freeServer("s")
			server.Status.NetworkInterfaces = interfaces
			Expect(macAddress(server)).To(Equal(expected))
		},
		Entry("unknown", ""),
		Entry("the first", "aa", metalv1alpha1.NetworkInterface{MACAddress: "aa"}, metalv1alpha1.NetworkInterface{MACAddress: "bb"}),
		Entry("the first with a link", "bb", metalv1alpha1.NetworkInterface{MACAddress: "aa", CarrierStatus: "down"},
			metalv1alpha1.NetworkInterface{MACAddress: "bb", CarrierStatus: "up"}),
	)
})

var _ = Describe("Hosts of machines", func() {
	us := owner.Owner{Shoot: "shoot", Site: "racks"}
	bound := func() (*metalv1alpha1.ServerClaim, *metalv1alpha1.Server) {
		server := freeServer("s")
		server.Spec.ServerClaimRef = &metalv1alpha1.ImmutableObjectReference{Namespace: "hosts", Name: "m"}
		server.Status.State, server.Status.PowerState = metalv1alpha1.ServerStateReserved, metalv1alpha1.ServerOnPowerState
		return &metalv1alpha1.ServerClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "hosts", Name: "m", Labels: us.MachineLabels("m"),
				Annotations: map[string]string{owner.AnnotationNode: "n"}},
			Spec: metalv1alpha1.ServerClaimSpec{
				ServerRef: &corev1.LocalObjectReference{Name: "s"}, IgnitionSecretRef: &corev1.LocalObjectReference{Name: "m"},
				Power: metalv1alpha1.PowerOn,
			},
			Status: metalv1alpha1.ServerClaimStatus{Phase: metalv1alpha1.PhaseBound},
		}, server
	}

	It("are what claim and server say", func() {
		claim, server := bound()
		Expect(hostOf(claim, server)).To(Equal(inventory.Host{
			Name: "s", State: inventory.Claimed, Machine: "m", ProviderID: "ironcore-metal://hosts/m", NodeName: "n", Complete: true, Running: true,
			Labels: server.Labels,
		}))
	})

	DescribeTable("what is wrong with them",
		func(expected string, change func(*metalv1alpha1.ServerClaim, *metalv1alpha1.Server) *metalv1alpha1.Server) {
			claim, server := bound()
			Expect(hostOf(claim, change(claim, server)).Fault).To(Equal(expected))
		},
		Entry("no server any more", `server "s" no longer exists`,
			func(*metalv1alpha1.ServerClaim, *metalv1alpha1.Server) *metalv1alpha1.Server { return nil }),
		Entry("nothing before they are bound", "", func(c *metalv1alpha1.ServerClaim, _ *metalv1alpha1.Server) *metalv1alpha1.Server {
			c.Status.Phase = metalv1alpha1.PhaseUnbound
			return nil
		}),
		Entry("nothing when they are released", "", func(c *metalv1alpha1.ServerClaim, _ *metalv1alpha1.Server) *metalv1alpha1.Server {
			c.DeletionTimestamp = new(metav1.Now())
			return nil
		}),
		Entry("a server that was taken away", `server "s" is no longer held for server claim "m"`,
			func(_ *metalv1alpha1.ServerClaim, s *metalv1alpha1.Server) *metalv1alpha1.Server {
				s.Spec.ServerClaimRef.Name = "other"
				return s
			}),
		Entry("an error without a word", `server "s" is in state Error`,
			func(_ *metalv1alpha1.ServerClaim, s *metalv1alpha1.Server) *metalv1alpha1.Server {
				s.Status.State = metalv1alpha1.ServerStateError
				return s
			}),
		Entry("an error with conditions", "Disk: gone", func(_ *metalv1alpha1.ServerClaim, s *metalv1alpha1.Server) *metalv1alpha1.Server {
			s.Status.State = metalv1alpha1.ServerStateError
			at := func(minute int) metav1.Time { return metav1.NewTime(time.Unix(int64(minute)*60, 0)) }
			s.Status.Conditions = []metav1.Condition{
				{Type: "PoweringOn", Message: "on", LastTransitionTime: at(1)}, {Type: "Disk", Message: "gone", LastTransitionTime: at(3)},
				{Type: "Silent", LastTransitionTime: at(4)}, {Type: "Fan", Message: "slow", LastTransitionTime: at(2)},
			}
			return s
		}),
		Entry("nothing in maintenance", "", func(_ *metalv1alpha1.ServerClaim, s *metalv1alpha1.Server) *metalv1alpha1.Server {
			s.Status.State = metalv1alpha1.ServerStateError
			s.Spec.ServerMaintenanceRef = &metalv1alpha1.ObjectReference{Name: "m"}
			return s
		}),
	)
})
