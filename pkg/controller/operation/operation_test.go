// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package operation_test

import (
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/operation"
)

func worker(annotation string, last gardencorev1beta1.LastOperationType) *extensionsv1alpha1.Worker {
	w := &extensionsv1alpha1.Worker{}
	if annotation != "" {
		w.ObjectMeta = metav1.ObjectMeta{Annotations: map[string]string{v1beta1constants.GardenerOperation: annotation}}
	}
	if last != "" {
		w.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: last}
	}
	return w
}

var _ = Describe("Operation", func() {
	DescribeTable("should tell who leaves the seed",
		func(annotation string, last gardencorev1beta1.LastOperationType, expected bool) {
			Expect(operation.Last(worker(annotation, last))).To(Equal(last))
			Expect(operation.Migrates(worker(annotation, last))).To(Equal(expected))
		},
		Entry("not a new object", "", gardencorev1beta1.LastOperationType(""), false),
		Entry("not one that is reconciled", v1beta1constants.GardenerOperationReconcile, gardencorev1beta1.LastOperationTypeReconcile, false),
		Entry("one that is asked to", v1beta1constants.GardenerOperationMigrate, gardencorev1beta1.LastOperationTypeReconcile, true),
		Entry("one that does or did", "", gardencorev1beta1.LastOperationTypeMigrate, true),
		Entry("not one that is restored", v1beta1constants.GardenerOperationRestore, gardencorev1beta1.LastOperationTypeRestore, false),
	)

	DescribeTable("should tell of another one",
		func(before, after client.Object, expected bool) {
			Expect(operation.Changed().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(Equal(expected))
		},
		Entry("the first", worker("", ""), worker("", gardencorev1beta1.LastOperationTypeCreate), true),
		Entry("the next", worker("", gardencorev1beta1.LastOperationTypeCreate), worker("", gardencorev1beta1.LastOperationTypeMigrate), true),
		Entry("but not if it goes on", worker("a", gardencorev1beta1.LastOperationTypeCreate),
			worker("b", gardencorev1beta1.LastOperationTypeCreate), false),
		Entry("but not of other objects", &corev1.Secret{}, &corev1.Secret{}, false),
		Entry("but not of objects that became others", worker("", gardencorev1beta1.LastOperationTypeCreate), &corev1.Secret{}, false),
	)

	DescribeTable("should not be asked for by a status",
		func(change func(*extensionsv1alpha1.Worker), expected bool) {
			before := worker(v1beta1constants.GardenerOperationRestore, gardencorev1beta1.LastOperationTypeRestore)
			after := before.DeepCopy()
			change(after)
			Expect(operation.Asked().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(Equal(expected))
			Expect(operation.Asked().Create(event.CreateEvent{Object: after})).To(BeTrue())
		},
		Entry("such as an error", func(w *extensionsv1alpha1.Worker) { w.Status.LastError = &gardencorev1beta1.LastError{} }, false),
		Entry("but by a specification", func(w *extensionsv1alpha1.Worker) { w.Generation++ }, true),
		Entry("and by an annotation", func(w *extensionsv1alpha1.Worker) { w.Annotations[v1beta1constants.GardenerTimestamp] = "now" }, true),
	)
})
