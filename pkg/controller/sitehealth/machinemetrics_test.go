// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth

import (
	"context"
	"errors"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

var _ = Describe("Metrics of machines", func() {
	now := time.Unix(1_700_000_000, 0)

	collector := func(objects ...client.Object) *machines {
		reader := fakeclient.NewClientBuilder().WithScheme(landscape.Scheme).WithObjects(objects...).Build()
		return &machines{log: logr.Discard(), reader: reader, clock: testclock.NewFakePassiveClock(now)}
	}
	leads := func(m *machines) *machines {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() { defer close(ended); _ = m.Start(ctx) }()
		DeferCleanup(func() {
			cancel()
			Eventually(ended).Should(BeClosed())
			Expect(testutil.CollectAndCount(m)).To(BeZero())
		})
		Eventually(m.leads.Load).Should(BeTrue())
		return m
	}
	aged := func(m machinev1alpha1.Machine, age time.Duration) *machinev1alpha1.Machine {
		m.CreationTimestamp = metav1.NewTime(now.Add(-age))
		return &m
	}
	deployment := func(name, site string, replicas int32) *machinev1alpha1.MachineDeployment {
		d := &machinev1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--s", Name: name}}
		d.Spec.Replicas = replicas
		d.Spec.Template.Spec.NodeTemplateSpec.Labels = map[string]string{v1alpha1.LabelSite: site}
		return d
	}

	It("counts machines by site and phase, and says which wait and for how long", func() {
		terminating := aged(machine("d", "cloud", machinev1alpha1.MachineRunning, "Delete", ""), time.Hour)
		terminating.Finalizers, terminating.DeletionTimestamp = []string{"test/finalizer"}, new(metav1.NewTime(now.Add(-3*time.Minute)))
		unknown := aged(machine("u", "racks", machinev1alpha1.MachineUnknown, "HealthCheck", ""), time.Hour)
		unknown.Status.CurrentStatus.LastUpdateTime = metav1.NewTime(now.Add(-2 * time.Minute))

		m := leads(collector(
			aged(machine("a", "cloud", machinev1alpha1.MachineRunning, "Create", ""), time.Hour),
			aged(machine("b", "cloud", machinev1alpha1.MachinePending, "Create", ""), time.Minute),
			aged(machine("c", "cloud", machinev1alpha1.MachinePending, "Create", ""), 10*time.Minute),
			terminating, unknown,
			aged(machine("n", "racks", "", "", ""), 5*time.Second),
			aged(machine("x", "racks", machinev1alpha1.MachineCrashLoopBackOff, "Create", noHost), 20*time.Minute),
			aged(machine("y", "cloud", machinev1alpha1.MachineCrashLoopBackOff, "Create", noQuota), 20*time.Minute),
			aged(machine("o", "", machinev1alpha1.MachineRunning, "Create", ""), time.Hour),
			deployment("a", "cloud", 3), deployment("b", "cloud", 1), deployment("c", "racks", 2), deployment("d", "", 9),
		))
		Expect(testutil.CollectAndCompare(m, strings.NewReader(`
# HELP hybrid_machines Machines of a shoot on a site.
# TYPE hybrid_machines gauge
hybrid_machines{phase="CrashLoopBackOff",shoot_namespace="shoot--p--s",site="cloud"} 1
hybrid_machines{phase="CrashLoopBackOff",shoot_namespace="shoot--p--s",site="racks"} 1
hybrid_machines{phase="New",shoot_namespace="shoot--p--s",site="racks"} 1
hybrid_machines{phase="Pending",shoot_namespace="shoot--p--s",site="cloud"} 2
hybrid_machines{phase="Running",shoot_namespace="shoot--p--s",site="cloud"} 1
hybrid_machines{phase="Terminating",shoot_namespace="shoot--p--s",site="cloud"} 1
hybrid_machines{phase="Unknown",shoot_namespace="shoot--p--s",site="racks"} 1
# HELP hybrid_machines_longest_wait_seconds Longest time that a shoot has been waiting for a machine of a phase on a site.
# TYPE hybrid_machines_longest_wait_seconds gauge
hybrid_machines_longest_wait_seconds{phase="CrashLoopBackOff",shoot_namespace="shoot--p--s",site="cloud"} 1200
hybrid_machines_longest_wait_seconds{phase="CrashLoopBackOff",shoot_namespace="shoot--p--s",site="racks"} 1200
hybrid_machines_longest_wait_seconds{phase="New",shoot_namespace="shoot--p--s",site="racks"} 5
hybrid_machines_longest_wait_seconds{phase="Pending",shoot_namespace="shoot--p--s",site="cloud"} 600
hybrid_machines_longest_wait_seconds{phase="Terminating",shoot_namespace="shoot--p--s",site="cloud"} 180
hybrid_machines_longest_wait_seconds{phase="Unknown",shoot_namespace="shoot--p--s",site="racks"} 120
# HELP hybrid_machines_wanted Machines that a shoot wants on a site.
# TYPE hybrid_machines_wanted gauge
hybrid_machines_wanted{shoot_namespace="shoot--p--s",site="cloud"} 4
hybrid_machines_wanted{shoot_namespace="shoot--p--s",site="racks"} 2
# HELP hybrid_machines_without_room Machines of a shoot that wait for quota or capacity of a site.
# TYPE hybrid_machines_without_room gauge
hybrid_machines_without_room{reason="SiteExhausted",shoot_namespace="shoot--p--s",site="racks"} 1
hybrid_machines_without_room{reason="SiteQuotaUsedUp",shoot_namespace="shoot--p--s",site="cloud"} 1
`))).To(Succeed())
	})

	It("says for how long sites have failed that stop no other, and which are in quarantine", func() {
		infra := &extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--s", Name: "infra"}}
		for reason, since := range map[string]time.Duration{v1alpha1.ReasonSitesStay: time.Minute, v1alpha1.ReasonDeletionFailed: time.Hour,
			v1alpha1.ReasonMachinesLeft: time.Hour} {
			infra.Status.Conditions = append(infra.Status.Conditions, gardencorev1beta1.Condition{
				Type: gardencorev1beta1.ConditionType(reason), Reason: reason, LastTransitionTime: metav1.NewTime(now.Add(-since))})
		}
		for site, status := range map[string]gardencorev1beta1.ConditionStatus{"racks": gardencorev1beta1.ConditionTrue,
			"cloud": gardencorev1beta1.ConditionFalse} {
			infra.Status.Conditions = append(infra.Status.Conditions, gardencorev1beta1.Condition{
				Type: gardencorev1beta1.ConditionType(v1alpha1.ConditionSiteQuarantinedPrefix + site), Status: status})
		}
		controlPlane := &extensionsv1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--s", Name: "s"}}
		controlPlane.Status.Conditions = []gardencorev1beta1.Condition{{Reason: v1alpha1.ReasonSitesStay,
			LastTransitionTime: metav1.NewTime(now.Add(-time.Hour))}}
		Expect(testutil.CollectAndCompare(leads(collector(infra, controlPlane)), strings.NewReader(`
# HELP hybrid_site_quarantined 1 if a site of a shoot is in quarantine, 0 if it was.
# TYPE hybrid_site_quarantined gauge
hybrid_site_quarantined{shoot_namespace="shoot--p--s",site="cloud"} 0
hybrid_site_quarantined{shoot_namespace="shoot--p--s",site="racks"} 1
# HELP hybrid_sites_failing_seconds For how long sites of a shoot have not been reconciled or deleted.
# TYPE hybrid_sites_failing_seconds gauge
hybrid_sites_failing_seconds{kind="ControlPlane",reason="SitesStay",shoot_namespace="shoot--p--s"} 3600
hybrid_sites_failing_seconds{kind="Infrastructure",reason="DeletionFailed",shoot_namespace="shoot--p--s"} 3600
hybrid_sites_failing_seconds{kind="Infrastructure",reason="SitesStay",shoot_namespace="shoot--p--s"} 60
`))).To(Succeed())
	})

	DescribeTable("counts nothing if the machines cannot be read",
		func(refusal error, lines int) {
			var logged []string
			m := collector(aged(machine("a", "cloud", machinev1alpha1.MachineRunning, "Create", ""), time.Hour))
			m.log = funcr.New(func(_, line string) { logged = append(logged, line) }, funcr.Options{})
			m.reader = interceptor.NewClient(m.reader.(client.WithWatch), interceptor.Funcs{
				List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return refusal },
			})
			Expect(testutil.CollectAndCount(leads(m))).To(BeZero())
			Expect(logged).To(HaveLen(lines))
		},
		Entry("and says so", errors.New("no cache"), 1),
		Entry("and is silent in a cluster without their API", &meta.NoKindMatchError{}, 0),
	)

	It("tells nothing while another replica leads", func() {
		Expect(testutil.CollectAndCount(collector(aged(machine("a", "cloud", machinev1alpha1.MachineRunning, "Create", ""),
			time.Hour)))).To(BeZero())
	})
})
