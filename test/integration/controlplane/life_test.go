// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"context"
	"maps"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/gardener/gardener/pkg/apis/resources/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/charts/rbacaudit"
)

func lifeSpecs() {
	It("should sleep and wake up", func(ctx SpecContext) {
		objects := ofShoot(ctx)
		changeShoot(ctx, func(s *shootChange) { s.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: new(true)} })
		reconcileControlPlane(ctx)
		Eventually(seedDeployments).WithContext(ctx).WithArguments(ctx).Should(And(HaveLen(5), HaveEach(BeEquivalentTo(0))))
		Eventually(func() bool { return local.ControlPlane.Process(manager, managerContainer) == nil }).WithContext(ctx).Should(BeTrue())
		Expect(ofShoot(ctx)).To(Equal(objects))

		changeShoot(ctx, func(s *shootChange) { s.Spec.Hibernation = nil })
		reconcileControlPlane(ctx)
		Eventually(seedDeployments).WithContext(ctx).WithArguments(ctx).Should(And(HaveLen(5), HaveEach(BeEquivalentTo(1))))
		running(ctx)
		applied(ctx)
	}, SpecTimeout(8*time.Minute))

	It("should move to another seed and leave all in the shoot as it is", func(ctx SpecContext) {
		objects, machines := ofShoot(ctx), identities(ctx, "")
		controlPlane := &extensionsv1alpha1.ControlPlane{ObjectMeta: meta()}
		operate(ctx, controlPlane, v1beta1constants.GardenerOperationMigrate, func() {})
		expectNothingInSeed(ctx)
		Expect(local.Delete(ctx, controlPlane)).To(Succeed())
		Expect(ofShoot(ctx)).To(Equal(objects))

		restored := &extensionsv1alpha1.ControlPlane{ObjectMeta: meta(), Spec: controlPlane.Spec}
		restored.Annotations = map[string]string{v1beta1constants.GardenerOperation: v1beta1constants.GardenerOperationWaitForState}
		Expect(c.Create(ctx, restored)).To(Succeed())
		before := restored.DeepCopy()
		restored.Status.State = controlPlane.Status.State
		Expect(c.Status().Patch(ctx, restored, client.MergeFrom(before))).To(Succeed())
		operate(ctx, restored, v1beta1constants.GardenerOperationRestore, func() {})
		applied(ctx)
		running(ctx)
		Expect(ofShoot(ctx)).To(Equal(objects))
		Expect(identities(ctx, "")).To(Equal(machines))
		Expect(defaultClasses(ctx)).To(ConsistOf(cloudClass))
		expectNothingRefused(ctx)
	}, SpecTimeout(8*time.Minute))

	It("should go with all that it made in the seed and in the shoot", func(ctx SpecContext) {
		Expect(local.Delete(ctx, &extensionsv1alpha1.Worker{ObjectMeta: meta()})).To(Succeed())
		Expect(local.Delete(ctx, &extensionsv1alpha1.ControlPlane{ObjectMeta: meta()})).To(Succeed())
		expectNothingInSeed(ctx)
		Expect(leftInShoot(ctx)).To(BeEmpty())
	}, SpecTimeout(12*time.Minute))

	It("should go without waiting for the shoot if that is forced", func(ctx SpecContext) {
		infrastructure := &extensionsv1alpha1.Infrastructure{ObjectMeta: meta()}
		get(ctx, infrastructure)
		controlPlane, err := local.ControlPlaneObject(infrastructure)
		Expect(err).NotTo(HaveOccurred())
		Expect(local.Create(ctx, controlPlane)).To(Succeed())
		applied(ctx)
		before := controlPlane.DeepCopy()
		controlPlane.Spec.ProviderConfig = &runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"Unknown"}`)}
		Expect(c.Patch(ctx, controlPlane, client.MergeFrom(before))).To(Succeed(), "which must not keep it from going")
		local.Seed.Workloads.ResourceManager.Pause()
		DeferCleanup(local.Seed.Workloads.ResourceManager.Resume)
		changeShoot(ctx, func(s *shootChange) {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1beta1constants.AnnotationConfirmationForceDeletion, "true")
		})
		Expect(local.Delete(ctx, controlPlane)).To(Succeed())
		resources := &resourcesv1alpha1.ManagedResourceList{}
		Expect(c.List(ctx, resources, client.InNamespace(local.Name))).To(Succeed())
		Expect(resources.Items).To(HaveEach(HaveField("DeletionTimestamp", Not(BeNil()))))

		local.Seed.Workloads.ResourceManager.Resume()
		expectNothingInSeed(ctx)
		Eventually(leftInShoot).WithContext(ctx).WithArguments(ctx).Should(BeEmpty())
		changeShoot(ctx, func(s *shootChange) { delete(s.Annotations, v1beta1constants.AnnotationConfirmationForceDeletion) })
		Expect(local.Delete(ctx, infrastructure)).To(Succeed())
		Expect(local.Objects(ctx)).To(BeEmpty())

		unused, err := local.Seed.UnusedPermissions()
		Expect(err).NotTo(HaveOccurred())
		Expect(rbacaudit.Repairs.Missing(unused)).To(BeEmpty())
	}, SpecTimeout(10*time.Minute))
}

func get(ctx context.Context, object client.Object) {
	GinkgoHelper()
	Expect(c.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
}

// expectNothingInSeed waits until nothing is left in the seed that the ControlPlane was deployed as.
func expectNothingInSeed(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(seedDeployments(ctx)).To(BeEmpty())
		resources, secrets := &resourcesv1alpha1.ManagedResourceList{}, &corev1.SecretList{}
		g.Expect(c.List(ctx, resources, client.InNamespace(local.Name))).To(Succeed())
		g.Expect(resources.Items).To(BeEmpty())
		g.Expect(c.List(ctx, secrets, client.InNamespace(local.Name))).To(Succeed())
		for _, secret := range secrets.Items {
			g.Expect(secret.Name).NotTo(Or(HavePrefix("shoot-access-"), HavePrefix("csi-"), HavePrefix("managedresource-")))
		}
		err := c.Get(ctx, client.ObjectKey{Namespace: local.Name, Name: "cloud-provider-config"}, &corev1.ConfigMap{})
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
	}).WithContext(ctx).Should(Succeed())
}

// ofShoot are the UIDs of what the ControlPlane made in the shoot, by kind and name.
func ofShoot(ctx context.Context) map[string]types.UID {
	GinkgoHelper()
	found := map[string]types.UID{}
	definitions := &metav1.PartialObjectMetadataList{}
	definitions.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinitionList"))
	for kind, list := range map[string]client.ObjectList{
		"DaemonSet": &appsv1.DaemonSetList{}, "StorageClass": &storagev1.StorageClassList{}, "CSIDriver": &storagev1.CSIDriverList{},
		"ClusterRole": &rbacv1.ClusterRoleList{}, "ClusterRoleBinding": &rbacv1.ClusterRoleBindingList{},
		"CustomResourceDefinition": definitions,
	} {
		Expect(c.List(ctx, list)).To(Succeed())
		Expect(apimeta.EachListItem(list, func(item runtime.Object) error {
			object := item.(client.Object)
			if isOurs(kind, object.GetName()) {
				found[kind+" "+object.GetName()] = object.GetUID()
			}
			return nil
		})).To(Succeed())
	}
	return found
}

// leftInShoot is what the ControlPlane made in the shoot, without the definitions of kinds: those stay.
func leftInShoot(ctx context.Context) map[string]types.UID {
	GinkgoHelper()
	found := ofShoot(ctx)
	maps.DeleteFunc(found, func(name string, _ types.UID) bool { return strings.HasPrefix(name, "CustomResourceDefinition ") })
	return found
}

// isOurs says whether an object comes from the charts.
func isOurs(kind, name string) bool {
	switch kind {
	case "ClusterRole", "ClusterRoleBinding":
		return strings.HasPrefix(name, "extensions.gardener.cloud:provider-hybrid:")
	case "CustomResourceDefinition":
		for _, group := range []string{"snapshot.storage.k8s.io", "cns.vmware.com", "metallb.io"} {
			if strings.HasSuffix(name, "."+group) {
				return true
			}
		}
		return false
	}
	return true
}
