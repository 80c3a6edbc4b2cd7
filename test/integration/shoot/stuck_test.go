// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"context"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/charts/rbacaudit"
)

// stuckSpecs need a pool of two minutes of age: only then Gardener takes a machine-controller-manager that does nothing for stuck.
func stuckSpecs() {
	It("should restart a machine-controller-manager that is stuck", func(ctx SpecContext) {
		Eventually(ctx, ending).Within(time.Minute).Should(BeEmpty(), "what machine-controller-manager still deletes for the specs before")
		before, classes := identities(ctx), classesOf(ctx)
		seed.MCM.Stop(ctx)
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: shoot, Name: "machine-controller-manager",
				Labels: map[string]string{"role": "machine-controller-manager"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "main"}}},
		}
		Expect(seed.Client.Create(ctx, pod)).To(Succeed())
		// A machine that has failed ends the wait for the others.
		failMachines(ctx, []*machinev1alpha1.MachineSummary{{
			Name: "failed", LastOperation: machinev1alpha1.LastOperation{Type: machinev1alpha1.MachineOperationCreate,
				Description: "the password is wrong"},
		}})
		var original *extensionsv1alpha1.WorkerPool
		Expect(change(ctx, func(w *extensionsv1alpha1.Worker) {
			mixed := pool(w, "mixed")
			original = mixed.DeepCopy()
			mixed.MachineImage.Version, mixed.NodeAgentSecretName = "1877.4.0", new("gardener-node-agent-mixed-2")
		})).NotTo(Equal(succeeded))
		Eventually(func() error { return seed.Client.Get(ctx, client.ObjectKeyFromObject(pod), &corev1.Pod{}) }).
			WithContext(ctx).Within(time.Minute).Should(MatchError(apierrors.IsNotFound, "not found"))

		failMachines(ctx, nil)
		restored := make(chan gardencorev1beta1.LastOperationState, 1)
		go func() {
			defer GinkgoRecover()
			restored <- change(ctx, func(w *extensionsv1alpha1.Worker) { *pool(w, "mixed") = *original })
		}()
		Eventually(ctx, classesOf).Within(time.Minute).Should(Equal(classes), "before which machine-controller-manager would roll the pool")
		Expect(seed.MCM.Start()).To(Succeed())
		Eventually(ctx, restored).Within(4 * time.Minute).Should(Receive(Equal(succeeded)))
		Expect(identities(ctx)).To(Equal(before))
	}, SpecTimeout(16*time.Minute))

	It("should have needed permissions for what happens here alone", func() {
		unused, err := seed.UnusedPermissions()
		Expect(err).NotTo(HaveOccurred())
		Expect(rbacaudit.Pools.Missing(unused)).To(BeEmpty())
	})
}

// ending are the names of the machine deployments that are being deleted.
func ending(ctx context.Context) []string {
	GinkgoHelper()
	list := &machinev1alpha1.MachineDeploymentList{}
	Expect(seed.Client.List(ctx, list, client.InNamespace(shoot))).To(Succeed())
	var names []string
	for _, deployment := range list.Items {
		if deployment.DeletionTimestamp != nil {
			names = append(names, deployment.Name)
		}
	}
	return names
}

// classesOf are the machine classes of the machine deployments, by their names.
func classesOf(ctx context.Context) map[string]string {
	GinkgoHelper()
	list := &machinev1alpha1.MachineDeploymentList{}
	Expect(seed.Client.List(ctx, list, client.InNamespace(shoot))).To(Succeed())
	names := map[string]string{}
	for _, deployment := range list.Items {
		names[deployment.Name] = deployment.Spec.Template.Spec.Class.Name
	}
	return names
}

// failMachines says which machines of the pool have failed, as machine-controller-manager does.
func failMachines(ctx context.Context, failed []*machinev1alpha1.MachineSummary) {
	GinkgoHelper()
	list := &machinev1alpha1.MachineDeploymentList{}
	Expect(seed.Client.List(ctx, list, client.InNamespace(shoot))).To(Succeed())
	Expect(list.Items).NotTo(BeEmpty())
	for i := range list.Items {
		before := list.Items[i].DeepCopy()
		list.Items[i].Status.FailedMachines = failed
		Expect(seed.Client.Status().Patch(ctx, &list.Items[i], client.MergeFrom(before))).To(Succeed())
	}
}
