// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0
package worker

import (
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("patientClient", func() {
	failed := func(name string, operation machinev1alpha1.MachineOperationType, description string) *machinev1alpha1.MachineSummary {
		return &machinev1alpha1.MachineSummary{Name: name, LastOperation: machinev1alpha1.LastOperation{
			Type: operation, State: machinev1alpha1.MachineStateFailed, Description: description, LastUpdateTime: metav1.Now(),
		}}
	}

	It("should tell of machines that failed, and not of those whose deletion goes on", func(ctx SpecContext) {
		const progress = "VM deletion failed due to - machine codes error: code = [Unavailable] message = [Progress: site \"racks\": host \"a\" is deprovisioning]. However, will re-try"
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: newNamespace()}}
		Expect(apiServer.Create(ctx, namespace)).To(Succeed())
		deployment := &machinev1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "pool"}}
		Expect(apiServer.Create(ctx, deployment)).To(Succeed())
		deployment.Status.FailedMachines = []*machinev1alpha1.MachineSummary{
			failed("cleaned", machinev1alpha1.MachineOperationDelete, progress),
			failed("dirty", machinev1alpha1.MachineOperationDelete, "code = [Unavailable] message = [Transient: site \"racks\": host \"a\" cannot be cleaned]"),
			failed("created", machinev1alpha1.MachineOperationCreate, progress),
		}
		Expect(apiServer.Status().Update(ctx, deployment)).To(Succeed())

		list := &machinev1alpha1.MachineDeploymentList{}
		Expect(patientClient{apiServer}.List(ctx, list, client.InNamespace(deployment.Namespace))).To(Succeed())
		Expect(list.Items).To(HaveLen(1))
		Expect(list.Items[0].Status.FailedMachines).To(HaveExactElements(HaveField("Name", "dirty"), HaveField("Name", "created")))
	})
})
