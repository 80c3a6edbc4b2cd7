// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package quarantine

import (
	"slices"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var now = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// settings are the defaults.
func settings() v1alpha1.Quarantine {
	config := &v1alpha1.CloudProfileConfig{Sites: []v1alpha1.CloudProfileSite{{}}}
	v1alpha1.SetCloudProfileConfigDefaults(config)
	return *config.Sites[0].Quarantine
}

// up are machines that have been ready for a day.
func up(count int) []contact {
	return slices.Repeat([]contact{{ready: now.Add(-24 * time.Hour)}}, count)
}

// lost are machines that were lost at the given time before now.
func lost(count int, ago time.Duration) []contact {
	return slices.Repeat([]contact{{lost: now.Add(-ago)}}, count)
}

func racks(contacts ...[]contact) facts {
	return facts{site: "racks", settings: settings(), contacts: slices.Concat(contacts...), healthTimeout: 10 * time.Minute}
}

func conditionOf(status gardencorev1beta1.ConditionStatus, reason string, since, updated time.Duration) *gardencorev1beta1.Condition {
	return &gardencorev1beta1.Condition{
		Type: v1alpha1.ConditionSiteQuarantinedPrefix + "racks", Status: status, Reason: reason,
		LastTransitionTime: metav1.NewTime(now.Add(-since)), LastUpdateTime: metav1.NewTime(now.Add(-updated)),
	}
}

func isQuarantined(f facts, before *gardencorev1beta1.Condition) bool {
	v := f.decide(now, before)
	return v != nil && v.status == gardencorev1beta1.ConditionTrue
}

var _ = Describe("The begin of a quarantine", func() {
	const minute = time.Minute

	DescribeTable("depends on the losses", func(f facts, before *gardencorev1beta1.Condition, begins bool) {
		if !begins {
			Expect(isQuarantined(f, before)).To(BeFalse())
			return
		}
		Expect(f.decide(now, before)).To(HaveValue(Equal(verdict{gardencorev1beta1.ConditionTrue, v1alpha1.ReasonSiteCutOff, `Site "racks" is ` +
			`cut off: the kubelets of at least 60 % of its machines do not report. Its machines are neither replaced nor deleted until they do, ` +
			`but no longer than until 2026-11-25T12:00:00Z. To end this earlier, add the site to annotation ` +
			`hybrid.provider.extensions.gardener.cloud/end-quarantine of the Shoot and reconcile it.`})))
	},
		Entry("no machine", racks(), nil, false),
		Entry("all machines are well", racks(up(10)), nil, false),
		Entry("100 % of the machines", racks(lost(10, minute)), nil, true),
		Entry("60 % of the machines", racks(up(4), lost(6, minute)), nil, true),
		Entry("less than 60 % of the machines", racks(up(41), lost(59, minute)), nil, false),
		Entry("30 % of the machines", racks(up(7), lost(3, minute)), nil, false),
		Entry("a single dead host of many", racks(up(9), lost(1, minute)), nil, false),
		Entry("a single dead host of two", racks(up(1), lost(1, minute)), nil, false),
		Entry("the only host", racks(lost(1, minute)), nil, false),
		Entry("two hosts of two", racks(lost(2, minute)), nil, true),

		Entry("losses at the ends of the window", racks(lost(3, 6*minute), lost(3, minute), up(4)), nil, true),
		Entry("losses over more than the window", racks(lost(3, 6*minute+time.Second), lost(3, minute), up(4)), nil, false),
		Entry("losses in a window of hours ago, after which the extension was down", racks(lost(4, 9*time.Hour), up(2)), nil, true),
		Entry("losses after others that do not count as running any more", racks(lost(4, time.Hour), lost(4, minute), up(2)), nil, true),
		Entry("the last host after many others", racks(lost(9, 3*time.Hour), lost(1, minute)), conditionOf(gardencorev1beta1.ConditionFalse,
			v1alpha1.ReasonQuarantineExpired, 2*time.Hour, 2*time.Hour), false),

		Entry("losses before the end of the last quarantine", racks(lost(10, time.Hour)),
			conditionOf(gardencorev1beta1.ConditionFalse, v1alpha1.ReasonQuarantineExpired, minute, minute), false),
		Entry("losses after the end of the last quarantine", racks(lost(10, minute)),
			conditionOf(gardencorev1beta1.ConditionFalse, v1alpha1.ReasonQuarantineRecovered, time.Hour, time.Hour), true),
		Entry("losses after the end, besides hosts that are dead since before", racks(lost(4, 2*time.Hour), lost(6, minute)),
			conditionOf(gardencorev1beta1.ConditionFalse, v1alpha1.ReasonQuarantineRecovered, time.Hour, time.Hour), true),
	)

	DescribeTable("needs a second witness if few machines are lost", func(change func(*facts), begins bool) {
		f := racks(lost(1, time.Minute))
		change(&f)
		Expect(isQuarantined(f, nil)).To(Equal(begins))
	},
		Entry("none", func(*facts) {}, false),
		Entry("the site's API", func(f *facts) { f.unreachable = true }, true),
		Entry("all other sites", func(f *facts) { f.othersLost = true }, true),
		Entry("a smaller minimum", func(f *facts) { f.settings.MinimumMachines = new(int32(1)) }, true),
		Entry("the site's API, while most machines are well", func(f *facts) {
			f.unreachable, f.contacts = true, append(f.contacts, up(2)...)
		}, false),
	)

	It("should have settings", func() {
		f := racks(up(7), lost(3, minute))
		f.settings.Share = new(int32(30))
		Expect(isQuarantined(f, nil)).To(BeTrue())
		f.settings.Share = new(int32(31))
		Expect(isQuarantined(f, nil)).To(BeFalse())
		f = racks(lost(3, 9*minute), lost(3, minute), up(4))
		f.settings.Window = &metav1.Duration{Duration: 8 * minute}
		Expect(isQuarantined(f, nil)).To(BeTrue())
	})

	It("should not be while it is off", func() {
		f := racks(lost(10, minute))
		f.off = "the shoot is hibernated"
		Expect(isQuarantined(f, nil)).To(BeFalse())
	})
})

var _ = Describe("A quarantine", func() {
	goOn := func(f facts, before *gardencorev1beta1.Condition) string {
		GinkgoHelper()
		v := f.decide(now, before)
		Expect(v).NotTo(BeNil())
		if v.reason == v1alpha1.ReasonSiteCutOff || v.reason == v1alpha1.ReasonSiteRecovering {
			Expect(v.status).To(Equal(gardencorev1beta1.ConditionTrue))
		} else {
			Expect(v.status).To(Equal(gardencorev1beta1.ConditionFalse))
		}
		return v.reason
	}
	const started = time.Hour
	cutOff := conditionOf(gardencorev1beta1.ConditionTrue, v1alpha1.ReasonSiteCutOff, started, started)
	recovering := func(since time.Duration) *gardencorev1beta1.Condition {
		return conditionOf(gardencorev1beta1.ConditionTrue, v1alpha1.ReasonSiteRecovering, started, since)
	}
	back := func(count int, ago time.Duration) []contact {
		return slices.Repeat([]contact{{ready: now.Add(-ago)}}, count)
	}
	terminating := func(contacts []contact) []contact {
		for i := range contacts {
			contacts[i].terminating = true
		}
		return contacts
	}

	It("should go on while the share is lost, whatever the window and the witnesses", func() {
		Expect(goOn(racks(lost(10, started)), cutOff)).To(Equal(v1alpha1.ReasonSiteCutOff))
		Expect(goOn(racks(lost(1, started)), cutOff)).To(Equal(v1alpha1.ReasonSiteCutOff))
		Expect(goOn(racks(lost(3, started), lost(3, time.Minute), up(4)), cutOff)).To(Equal(v1alpha1.ReasonSiteCutOff))
	})

	It("should keep what it says while it goes on", func() {
		before, after := racks(lost(10, started)).decide(now, cutOff), racks(lost(7, started), up(3)).decide(now.Add(time.Hour), cutOff)
		Expect(after).To(Equal(before))
	})

	It("should recover one health timeout after the last machine is back", func() {
		Expect(goOn(racks(lost(5, started), back(5, 0)), cutOff)).To(Equal(v1alpha1.ReasonSiteRecovering))
		Expect(goOn(racks(lost(1, started), back(9, 9*time.Minute)), recovering(9*time.Minute))).To(Equal(v1alpha1.ReasonSiteRecovering))
		Expect(goOn(racks(lost(1, started), back(9, 10*time.Minute)), recovering(10*time.Minute))).To(Equal(v1alpha1.ReasonQuarantineRecovered))
		Expect(goOn(racks(lost(1, started), back(8, 20*time.Minute), back(1, 9*time.Minute)), recovering(20*time.Minute))).To(
			Equal(v1alpha1.ReasonSiteRecovering), "a machine came back later")
		Expect(goOn(racks(back(9, 20*time.Minute), back(1, -time.Hour)), recovering(20*time.Minute))).To(
			Equal(v1alpha1.ReasonQuarantineRecovered), "the clock of a node is wrong")
		Expect(goOn(racks(back(10, time.Hour)), cutOff)).To(Equal(v1alpha1.ReasonSiteRecovering), "the extension was down")
	})

	It("should name the health timeout and the end", func() {
		Expect(racks(back(2, 0)).decide(now, cutOff).message).To(Equal(
			`Site "racks" is back. Its machines are kept until 10m0s after the last of them came back, but no longer than until ` +
				`2026-11-25T11:00:00Z.`))
		Expect(racks(up(2)).decide(now, recovering(time.Hour)).message).To(Equal(
			`The quarantine of site "racks" is over: its machines have been back for 10m0s. Machines that are still lost are replaced.`))
	})

	It("should not end while the site flaps every 90 seconds", func() {
		f, current := racks(lost(4, 0)), *cutOff
		for i := range 100 {
			at := now.Add(time.Duration(i) * 90 * time.Second)
			expected := v1alpha1.ReasonSiteCutOff
			if f.contacts = slices.Repeat([]contact{{lost: at}}, 4); i%2 == 1 {
				f.contacts = slices.Repeat([]contact{{ready: at}}, 4)
				expected = v1alpha1.ReasonSiteRecovering
			}
			v := f.decide(at, &current)
			Expect(v.status).To(Equal(gardencorev1beta1.ConditionTrue))
			Expect(v.reason).To(Equal(expected))
			if v.reason != current.Reason {
				current.Reason, current.LastUpdateTime = v.reason, metav1.NewTime(at)
			}
		}
	})

	It("should be cut off again by a loss while it recovers", func() {
		Expect(goOn(racks(lost(6, time.Second), up(4)), recovering(5*time.Minute))).To(Equal(v1alpha1.ReasonSiteCutOff))
	})

	It("should recover without terminating machines, which are not observed", func() {
		Expect(goOn(racks(terminating(lost(3, started)), back(1, 0)), cutOff)).To(Equal(v1alpha1.ReasonSiteRecovering))
		Expect(goOn(racks(terminating(lost(3, started))), cutOff)).To(Equal(v1alpha1.ReasonSiteCutOff))
		Expect(goOn(racks(), cutOff)).To(Equal(v1alpha1.ReasonSiteRecovering), "no machine is left")
	})

	It("should expire", func() {
		before := conditionOf(gardencorev1beta1.ConditionTrue, v1alpha1.ReasonSiteCutOff, 24*time.Hour, 24*time.Hour)
		Expect(goOn(racks(lost(10, 24*time.Hour)), before)).To(Equal(v1alpha1.ReasonQuarantineExpired))
		Expect(racks(lost(10, 24*time.Hour)).decide(now, before).message).To(Equal(`The quarantine of site "racks" is over: it reached its ` +
			`maximum duration of 24h0m0s. Machines that are still lost are replaced.`))
		before.LastTransitionTime = metav1.NewTime(now.Add(-24*time.Hour + time.Second))
		Expect(goOn(racks(lost(10, 24*time.Hour)), before)).To(Equal(v1alpha1.ReasonSiteCutOff))
	})

	It("should end when it is off", func() {
		f := racks(lost(10, started))
		f.off = "the shoot is being deleted"
		Expect(f.decide(now, cutOff)).To(HaveValue(Equal(verdict{gardencorev1beta1.ConditionFalse, v1alpha1.ReasonQuarantineEnded,
			`The quarantine of site "racks" is over: the shoot is being deleted.`})))
	})

	It("should be remembered as long as the site has machines", func() {
		ended := conditionOf(gardencorev1beta1.ConditionFalse, v1alpha1.ReasonQuarantineEnded, started, started)
		ended.Message = "over"
		Expect(racks(lost(2, 2*started)).decide(now, ended)).To(HaveValue(Equal(verdict{ended.Status, ended.Reason, "over"})))
		Expect(racks().decide(now, ended)).To(BeNil())
	})

	It("should be decided about again when it expires or has recovered", func() {
		f := racks(back(2, time.Minute))
		Expect(f.next(now, cutOff)).To(Equal(now.Add(23 * time.Hour)))
		Expect(f.next(now, recovering(2*time.Minute))).To(Equal(now.Add(9 * time.Minute)))
		Expect(f.next(now, conditionOf(gardencorev1beta1.ConditionTrue, v1alpha1.ReasonSiteRecovering, 24*time.Hour-time.Minute, 0))).To(
			Equal(now.Add(time.Minute)))
	})
})

var _ = Describe("The contact to a machine", func() {
	since := metav1.NewTime(now.Add(-time.Hour))
	updated := metav1.NewTime(now.Add(-time.Minute))

	machine := func(phase machinev1alpha1.MachinePhase, conditions ...corev1.NodeCondition) machinev1alpha1.Machine {
		m := machinev1alpha1.Machine{}
		m.Spec.NodeTemplateSpec.Labels = map[string]string{v1alpha1.LabelSite: "racks"}
		m.Status.CurrentStatus = machinev1alpha1.CurrentStatus{Phase: phase, LastUpdateTime: updated}
		m.Status.Conditions = conditions
		return m
	}
	ready := func(status corev1.ConditionStatus) corev1.NodeCondition {
		return corev1.NodeCondition{Type: corev1.NodeReady, Status: status, LastTransitionTime: since}
	}
	pressure := func(status corev1.ConditionStatus) corev1.NodeCondition {
		return corev1.NodeCondition{Type: corev1.NodeDiskPressure, Status: status, LastTransitionTime: since}
	}

	DescribeTable("is read from its Machine", func(m machinev1alpha1.Machine, expected ...contact) {
		contacts := contactsOf([]machinev1alpha1.Machine{m})["racks"]
		Expect(slices.Equal(contacts, expected)).To(BeTrue(), "%v", contacts)
	},
		Entry("it never ran", machine(machinev1alpha1.MachinePending)),
		Entry("it is ready", machine(machinev1alpha1.MachineRunning, pressure(corev1.ConditionFalse), ready(corev1.ConditionTrue)),
			contact{ready: since.Time}),
		Entry("its kubelet reports that it is not ready", machine(machinev1alpha1.MachineUnknown, ready(corev1.ConditionFalse)), contact{}),
		Entry("its kubelet is silent", machine(machinev1alpha1.MachineUnknown, ready(corev1.ConditionUnknown)), contact{lost: since.Time}),
		Entry("its kubelet is silent since an unknown time",
			machine(machinev1alpha1.MachineUnknown, corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}),
			contact{lost: updated.Time}),
		Entry("it failed", machine(machinev1alpha1.MachineFailed, ready(corev1.ConditionUnknown)), contact{lost: since.Time}),
		Entry("its Node is missing", machine(machinev1alpha1.MachineUnknown, ready(corev1.ConditionTrue), pressure(corev1.ConditionFalse)),
			contact{lost: updated.Time}),
		Entry("its disk is full", machine(machinev1alpha1.MachineUnknown, ready(corev1.ConditionTrue), pressure(corev1.ConditionTrue)),
			contact{ready: since.Time}),
		Entry("it reboots for an update in place", machine(machinev1alpha1.MachineInPlaceUpdating, ready(corev1.ConditionUnknown))),
		Entry("it terminates after it was lost", machine(machinev1alpha1.MachineTerminating, ready(corev1.ConditionUnknown)),
			contact{lost: since.Time, terminating: true}),
		Entry("it terminates, and is not observed any more", machine(machinev1alpha1.MachineTerminating, ready(corev1.ConditionTrue))),
	)

	It("should not count machines without a site", func() {
		other := machine(machinev1alpha1.MachineRunning, ready(corev1.ConditionTrue))
		other.Spec.NodeTemplateSpec.Labels = nil
		Expect(contactsOf([]machinev1alpha1.Machine{other})).To(BeEmpty())
	})
})
