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
	"github.com/gophercloud/gophercloud/v2"
	gopherstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
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
	AddressPools: []v1alpha1.MetalLBAddressPool{{Name: "a", CIDRs: []string{"10.250.11.251-10.250.11.254"}, Advertisement: v1alpha1.MetalLBAdvertisementL2}},
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
	infrastructure, controlPlane := &extensionsv1alpha1.Infrastructure{ObjectMeta: meta()}, &extensionsv1alpha1.ControlPlane{ObjectMeta: meta()}
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
	}).WithContext(ctx).Within(10 * time.Second).Should(Succeed())
	Expect(local.Reconciled(ctx, object, since)).To(Succeed())
}

// applicationCredential is a credential for the project of the OpenStack site that can be revoked.
type applicationCredential struct {
	id, secret string
	revoke     func(context.Context) error
}

// newApplicationCredential makes a credential, which stays until it is revoked.
func newApplicationCredential(ctx context.Context, name string) applicationCredential {
	GinkgoHelper()
	member, err := bed.Credentials(openstack.Projects[0])
	Expect(err).NotTo(HaveOccurred())
	provider, err := gopherstack.AuthenticatedClient(ctx, gophercloud.AuthOptions{
		IdentityEndpoint: member.AuthURL, Username: member.Username, Password: member.Password, DomainName: member.Domain, TenantName: member.Project,
	})
	Expect(err).NotTo(HaveOccurred())
	identity, err := gopherstack.NewIdentityV3(provider, gophercloud.EndpointOpts{Region: member.Region})
	Expect(err).NotTo(HaveOccurred())
	user, err := provider.GetAuthResult().(tokens.CreateResult).ExtractUser()
	Expect(err).NotTo(HaveOccurred())
	created, err := applicationcredentials.Create(ctx, identity, user.ID, applicationcredentials.CreateOpts{Name: name}).Extract()
	Expect(err).NotTo(HaveOccurred())
	revoke := func(ctx context.Context) error {
		err := applicationcredentials.Delete(ctx, identity, user.ID, created.ID).ExtractErr()
		if gophercloud.ResponseCodeIs(err, 404) {
			return nil
		}
		return err
	}
	return applicationCredential{id: created.ID, secret: created.Secret, revoke: revoke}
}

// useCredential writes a credential of the OpenStack site to the Secret in place of those that are there.
func useCredential(ctx context.Context, credential applicationCredential) {
	GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: v1beta1constants.SecretNameCloudProvider, Namespace: local.Name}}
	Expect(c.Get(ctx, client.ObjectKeyFromObject(secret), secret)).To(Succeed())
	for _, name := range []string{"domainName", "tenantName", "username", "password"} {
		delete(secret.Data, cloud+"."+name)
	}
	secret.Data[cloud+".applicationCredentialID"] = []byte(credential.id)
	secret.Data[cloud+".applicationCredentialSecret"] = []byte(credential.secret)
	Expect(c.Update(ctx, secret)).To(Succeed())
}
