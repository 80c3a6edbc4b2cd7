// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package healthcheck

import (
	"context"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/faults"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

var _ = Describe("The check for faults of machines", func() {
	const (
		fault = `site "racks": host rack-07 of machine m: provisioning error: no disk`
		down  = `site "racks2": connection refused (its machines are not watched for faults)`
	)
	unwatched := platform.InSite("racks2", platform.NewError(platform.ClassUnauthenticated, "connection refused (its machines are not watched for faults)"))

	DescribeTable("should make of what is known", func(ctx SpecContext, overview faults.Overview, before gardencorev1beta1.ConditionStatus, phase machinev1alpha1.MachinePhase, status gardencorev1beta1.ConditionStatus, detail string) {
		worker := &extensionsv1alpha1.Worker{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--s", Name: "s"},
			Status: extensionsv1alpha1.WorkerStatus{DefaultStatus: extensionsv1alpha1.DefaultStatus{Conditions: []gardencorev1beta1.Condition{
				{Type: gardencorev1beta1.ShootEveryNodeReady, Status: before},
			}}},
		}
		machine := &machinev1alpha1.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: worker.Namespace, Name: "m"},
			Status:     machinev1alpha1.MachineStatus{CurrentStatus: machinev1alpha1.CurrentStatus{Phase: phase}},
		}
		check := &machineFaults{
			client:   fakeclient.NewClientBuilder().WithScheme(landscape.Scheme).WithObjects(worker, machine).Build(),
			overview: func(context.Context, types.NamespacedName) faults.Overview { return overview },
		}
		result, err := check.Check(ctx, client.ObjectKeyFromObject(worker))
		if status == gardencorev1beta1.ConditionUnknown {
			Expect(err).To(MatchError(detail))
			return
		}
		Expect(err).NotTo(HaveOccurred())
		Expect(result.Status).To(Equal(status))
		Expect(result.Detail).To(Equal(detail))
		if status == gardencorev1beta1.ConditionProgressing {
			Expect(*result.ProgressingThreshold).To(Equal(forever))
			Expect(result.Codes).To(ConsistOf(gardencorev1beta1.ErrorInfraUnauthenticated))
		}
	},
		Entry("True, if nothing is wrong", faults.Overview{}, gardencorev1beta1.ConditionFalse, machinev1alpha1.MachineRunning, gardencorev1beta1.ConditionTrue, ""),
		Entry("False, if there is a fault", faults.Overview{Faults: []string{fault}}, gardencorev1beta1.ConditionTrue, machinev1alpha1.MachineRunning, gardencorev1beta1.ConditionFalse, fault),
		Entry("False, if there is a fault while another site is not watched", faults.Overview{Faults: []string{fault}, Unwatched: []error{unwatched}}, gardencorev1beta1.ConditionTrue, machinev1alpha1.MachineRunning, gardencorev1beta1.ConditionFalse, fault+", "+down),
		Entry("Progressing, if a site is not watched", faults.Overview{Unwatched: []error{unwatched}}, gardencorev1beta1.ConditionTrue, machinev1alpha1.MachineRunning, gardencorev1beta1.ConditionProgressing, down),
		Entry("Progressing still", faults.Overview{Unwatched: []error{unwatched}}, gardencorev1beta1.ConditionProgressing, machinev1alpha1.MachineRunning, gardencorev1beta1.ConditionProgressing, down),
		Entry("Unknown, if a site is not watched when the last fault ends", faults.Overview{Unwatched: []error{unwatched}}, gardencorev1beta1.ConditionFalse, machinev1alpha1.MachineRunning, gardencorev1beta1.ConditionUnknown, down),
		Entry("Progressing after that", faults.Overview{Unwatched: []error{unwatched}}, gardencorev1beta1.ConditionUnknown, machinev1alpha1.MachineRunning, gardencorev1beta1.ConditionProgressing, down),
		Entry("True, if a site is not watched while Gardener has to look at the nodes", faults.Overview{Unwatched: []error{unwatched}}, gardencorev1beta1.ConditionProgressing, machinev1alpha1.MachineUnknown, gardencorev1beta1.ConditionTrue, ""),
	)
})
