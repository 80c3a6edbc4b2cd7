// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"context"
	"encoding/json"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
)

// balancedRacks lets the nodes of the racks be load balancers.
var balancedRacks = v1alpha1.ControlPlaneSite{Name: racks, LoadBalancer: &v1alpha1.SiteLoadBalancer{MetalLB: &v1alpha1.MetalLB{
	AddressPools: []v1alpha1.MetalLBAddressPool{{Name: "a", CIDRs: []string{"10.250.11.251-10.250.11.254"},
		Advertisement: v1alpha1.MetalLBAdvertisementL2}},
}}}

// shootChange is what a shoot owner changes.
type shootChange struct {
	*gardencorev1beta1.Shoot
	infrastructure *v1alpha1.InfrastructureConfig
	controlPlane   *v1alpha1.ControlPlaneConfig
}

// changeShoot changes the Shoot in the Cluster. Nothing is reconciled because of that.
func changeShoot(ctx context.Context, change func(*shootChange)) {
	GinkgoHelper()
	object := &extensionsv1alpha1.Cluster{}
	Expect(c.Get(ctx, client.ObjectKey{Name: local.Name}, object)).To(Succeed())
	cluster, err := extensionscontroller.GetCluster(ctx, c, local.Name)
	Expect(err).NotTo(HaveOccurred())
	s := &shootChange{Shoot: cluster.Shoot}
	provider := &cluster.Shoot.Spec.Provider
	s.infrastructure, err = codec.Decode[v1alpha1.InfrastructureConfig](provider.InfrastructureConfig)
	Expect(err).NotTo(HaveOccurred())
	s.controlPlane, err = codec.Decode[v1alpha1.ControlPlaneConfig](provider.ControlPlaneConfig)
	Expect(err).NotTo(HaveOccurred())
	change(s)
	provider.InfrastructureConfig, err = codec.Encode(s.infrastructure)
	Expect(err).NotTo(HaveOccurred())
	provider.ControlPlaneConfig, err = codec.Encode(s.controlPlane)
	Expect(err).NotTo(HaveOccurred())
	content, err := json.Marshal(cluster.Shoot)
	Expect(err).NotTo(HaveOccurred())
	object.Spec.Shoot = runtime.RawExtension{Raw: content}
	Expect(c.Update(ctx, object)).To(Succeed())
}

// shootNow is the Shoot in the Cluster.
func shootNow(ctx context.Context) *shootChange {
	GinkgoHelper()
	var now *shootChange
	changeShoot(ctx, func(s *shootChange) { now = s })
	return now
}

func meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: "hybrid", Namespace: local.Name}
}

// reconcileInfrastructure lets the Infrastructure be reconciled as the Shoot says, and returns it.
func reconcileInfrastructure(ctx context.Context) *extensionsv1alpha1.Infrastructure {
	GinkgoHelper()
	infrastructure := &extensionsv1alpha1.Infrastructure{ObjectMeta: meta()}
	operate(ctx, infrastructure, v1beta1constants.GardenerOperationReconcile, func() {
		infrastructure.Spec.ProviderConfig = shootNow(ctx).Spec.Provider.InfrastructureConfig
	})
	return infrastructure
}

// reconcileControlPlane lets the ControlPlane be reconciled as the Shoot and the Infrastructure say, and returns it.
func reconcileControlPlane(ctx context.Context) *extensionsv1alpha1.ControlPlane {
	GinkgoHelper()
	infrastructure := &extensionsv1alpha1.Infrastructure{ObjectMeta: meta()}
	controlPlane := &extensionsv1alpha1.ControlPlane{ObjectMeta: meta()}
	Expect(c.Get(ctx, client.ObjectKeyFromObject(infrastructure), infrastructure)).To(Succeed())
	operate(ctx, controlPlane, v1beta1constants.GardenerOperationReconcile, func() {
		controlPlane.Spec.ProviderConfig = shootNow(ctx).Spec.Provider.ControlPlaneConfig
		controlPlane.Spec.InfrastructureProviderStatus = infrastructure.Status.ProviderStatus
	})
	return controlPlane
}

// operate changes an object, asks for an operation and waits until that has succeeded.
func operate(ctx context.Context, object extensionsv1alpha1.Object, operation string, change func()) {
	GinkgoHelper()
	since := time.Now()
	Eventually(func() error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		change()
		annotations := object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[v1beta1constants.GardenerOperation] = operation
		object.SetAnnotations(annotations)
		return c.Update(ctx, object)
	}).WithContext(ctx).Within(time.Minute).Should(Succeed())
	Expect(local.Reconciled(ctx, object, since)).To(Succeed())
}

// newKey makes a credential of the OpenStack site, which stays until it is revoked.
func newKey(ctx context.Context, name string) *openstack.Key {
	GinkgoHelper()
	member, err := bed.Credentials(openstack.Projects[0])
	Expect(err).NotTo(HaveOccurred())
	created, err := openstack.NewKey(ctx, member, name)
	Expect(err).NotTo(HaveOccurred())
	return created
}

// use writes a credential of the OpenStack site to the Secret in place of those that are there.
func use(ctx context.Context, of *openstack.Key) {
	GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: v1beta1constants.SecretNameCloudProvider, Namespace: local.Name}}
	Expect(c.Get(ctx, client.ObjectKeyFromObject(secret), secret)).To(Succeed())
	for _, name := range []string{"domainName", "tenantName", "username", "password"} {
		delete(secret.Data, cloud+"."+name)
	}
	for name, value := range of.SiteCredentials() {
		secret.Data[cloud+"."+name] = []byte(value)
	}
	Expect(c.Update(ctx, secret)).To(Succeed())
}
