// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package healthcheck

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gardener/gardener/extensions/pkg/controller/controlplane/genericactuator"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/gardener/gardener/pkg/apis/resources/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = Describe("Health checks of ControlPlanes", func() {
	const namespace = "shoot--local--controlplane"
	var controlPlane *extensionsv1alpha1.ControlPlane

	condition := func(ctx context.Context, conditionType gardencorev1beta1.ConditionType) gardencorev1beta1.Condition {
		found := &extensionsv1alpha1.ControlPlane{}
		if err := apiServer.Get(ctx, client.ObjectKeyFromObject(controlPlane), found); err != nil {
			return gardencorev1beta1.Condition{Message: err.Error()}
		}
		if c := v1beta1helper.GetCondition(found.Status.Conditions, conditionType); c != nil {
			return *c
		}
		return gardencorev1beta1.Condition{}
	}
	eventually := func(ctx context.Context, conditionType gardencorev1beta1.ConditionType) AsyncAssertion {
		return Eventually(condition).WithArguments(ctx, conditionType).WithTimeout(20 * time.Second)
	}
	deployment := func(ctx context.Context, name string, available corev1.ConditionStatus) {
		GinkgoHelper()
		labels := map[string]string{"role": name}
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}},
		}}
		if err := apiServer.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
			Expect(apiServer.Create(ctx, d)).To(Succeed())
		}
		d.Status.ObservedGeneration = d.Generation
		d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas = 1, 1, 1, 1
		d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: available}}
		Expect(apiServer.Status().Update(ctx, d)).To(Succeed())
	}
	managedResource := func(ctx context.Context, name string, healthy gardencorev1beta1.ConditionStatus) {
		GinkgoHelper()
		mr := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec: resourcesv1alpha1.ManagedResourceSpec{SecretRefs: []corev1.LocalObjectReference{}}}
		if err := apiServer.Get(ctx, client.ObjectKeyFromObject(mr), mr); err != nil {
			Expect(apiServer.Create(ctx, mr)).To(Succeed())
		}
		mr.Status.ObservedGeneration = mr.Generation
		mr.Status.Conditions = nil
		for _, conditionType := range []gardencorev1beta1.ConditionType{resourcesv1alpha1.ResourcesApplied, resourcesv1alpha1.ResourcesHealthy} {
			mr.Status.Conditions = append(mr.Status.Conditions, gardencorev1beta1.Condition{
				Type: conditionType, Status: healthy, LastTransitionTime: metav1.Now(), LastUpdateTime: metav1.Now(), Reason: "Test", Message: "test",
			})
		}
		Expect(apiServer.Status().Update(ctx, mr)).To(Succeed())
	}

	It("should tell of the deployments that there are and of all managed resources", func(ctx SpecContext) {
		Expect(apiServer.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
		raw := func(value any) runtime.RawExtension {
			data, err := json.Marshal(value)
			Expect(err).NotTo(HaveOccurred())
			return runtime.RawExtension{Raw: data}
		}
		Expect(apiServer.Create(ctx,
			&extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: namespace}, Spec: extensionsv1alpha1.ClusterSpec{
				CloudProfile: raw(&gardencorev1beta1.CloudProfile{TypeMeta: metav1.TypeMeta{APIVersion: "core.gardener.cloud/v1beta1",
					Kind: "CloudProfile"}}),
				Shoot: raw(&gardencorev1beta1.Shoot{TypeMeta: metav1.TypeMeta{APIVersion: "core.gardener.cloud/v1beta1", Kind: "Shoot"}}),
			}})).To(Succeed())
		deployment(ctx, cloudControllerManager, corev1.ConditionTrue)
		deployment(ctx, "csi-a-controller", corev1.ConditionTrue)
		resources := []string{
			genericactuator.ControlPlaneSeedConfigurationChartResourceName, genericactuator.ControlPlaneSeedChartResourceName,
			genericactuator.ControlPlaneShootChartResourceName, genericactuator.ControlPlaneShootCRDsChartResourceName,
			genericactuator.StorageClassesChartResourceName,
		}
		for _, name := range resources {
			managedResource(ctx, name, gardencorev1beta1.ConditionTrue)
		}
		controlPlane = &extensionsv1alpha1.ControlPlane{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"},
			Spec: extensionsv1alpha1.ControlPlaneSpec{DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: v1alpha1.ProviderType}, Region: "west",
				SecretRef: corev1.SecretReference{Name: "a"}},
		}
		Expect(apiServer.Create(ctx, controlPlane)).To(Succeed())
		eventually(ctx, gardencorev1beta1.ShootControlPlaneHealthy).Should(HaveField("Status", gardencorev1beta1.ConditionTrue))
		eventually(ctx, gardencorev1beta1.ShootSystemComponentsHealthy).Should(HaveField("Status", gardencorev1beta1.ConditionTrue))

		for _, name := range []string{cloudControllerManager, "csi-a-controller"} {
			deployment(ctx, name, corev1.ConditionFalse)
			eventually(ctx,
				gardencorev1beta1.ShootControlPlaneHealthy).Should(And(HaveField("Status", gardencorev1beta1.ConditionFalse),
				HaveField("Message", ContainSubstring(name))))
			deployment(ctx, name, corev1.ConditionTrue)
			eventually(ctx, gardencorev1beta1.ShootControlPlaneHealthy).Should(HaveField("Status", gardencorev1beta1.ConditionTrue))
		}
		for i, name := range resources {
			conditionType := gardencorev1beta1.ShootSystemComponentsHealthy
			if i < 2 {
				conditionType = gardencorev1beta1.ShootControlPlaneHealthy
			}
			managedResource(ctx, name, gardencorev1beta1.ConditionFalse)
			eventually(ctx,
				conditionType).Should(And(HaveField("Status", gardencorev1beta1.ConditionFalse), HaveField("Message", ContainSubstring(name))))
			managedResource(ctx, name, gardencorev1beta1.ConditionTrue)
			eventually(ctx, conditionType).Should(HaveField("Status", gardencorev1beta1.ConditionTrue))
		}
	})
})
