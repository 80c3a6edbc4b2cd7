// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

func must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}

func namespace() *corev1.Namespace { return &corev1.Namespace{} }

var _ = Describe("Tenant", Ordered, func() {
	review := func(ctx context.Context, tenant client.Client, verb, group, resource, namespace string) bool {
		GinkgoHelper()
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource, Namespace: namespace},
		}}
		Expect(tenant.Create(ctx, review)).To(Succeed())
		return review.Status.Allowed
	}
	newClient := func(credentials metal.Credentials, err error) client.Client {
		GinkgoHelper()
		Expect(err).NotTo(HaveOccurred())
		return must(inventory.ClientOf(credentials))
	}
	addresses := func(ctx context.Context, c client.Client) error {
		return c.Get(ctx, client.ObjectKeyFromObject(metal.NewAddressClaim("none", "none")), metal.NewAddressClaim("none", "none"))
	}

	DescribeTable("should have exactly the permissions of the example",
		func(ctx context.Context, verb, group, resource, namespace string, allowed bool) {
			for _, c := range []client.Client{newClient(inventory.Token(ctx)), newClient(inventory.Certificate())} {
				Expect(review(ctx, c, verb, group, resource, namespace)).To(Equal(allowed))
			}
		},
		Entry("hosts", "patch", "metal3.io", "baremetalhosts", metal.Namespace, true),
		Entry("no new hosts", "create", "metal3.io", "baremetalhosts", metal.Namespace, false),
		Entry("no hosts elsewhere", "get", "metal3.io", "baremetalhosts", "default", false),
		Entry("Secrets", "delete", "", "secrets", metal.Namespace, true),
		Entry("no read of Secrets", "get", "", "secrets", metal.Namespace, false),
		Entry("no list of Secrets", "list", "", "secrets", metal.Namespace, false),
		Entry("claims", "create", "metal.ironcore.dev", "serverclaims", metal.Namespace, true),
		Entry("servers", "watch", "metal.ironcore.dev", "servers", "", true),
		Entry("no change of servers", "patch", "metal.ironcore.dev", "servers", "", false),
		Entry("address claims", "delete", "ipam.cluster.x-k8s.io", "ipaddressclaims", metal.Namespace, true),
		Entry("no change of addresses", "patch", "ipam.cluster.x-k8s.io", "ipaddresses", metal.Namespace, false),
		Entry("pools", "get", "ipam.cluster.x-k8s.io", "globalinclusterippools", "", true),
	)

	It("should lose its permissions and get them back", func(ctx context.Context) {
		token, certificate := newClient(inventory.Token(ctx)), newClient(inventory.Certificate())
		Expect(inventory.Revoke(ctx)).To(Succeed())
		DeferCleanup(inventory.Grant)
		Expect(addresses(ctx, token)).To(Satisfy(apierrors.IsForbidden))
		Expect(addresses(ctx, certificate)).To(Satisfy(apierrors.IsForbidden))
		Expect(inventory.Grant(ctx)).To(Succeed())
		Expect(addresses(ctx, token)).To(Satisfy(apierrors.IsNotFound))
		Expect(addresses(ctx, certificate)).To(Satisfy(apierrors.IsNotFound))
	})

	It("should be unknown without its account", func(ctx context.Context) {
		token := newClient(inventory.Token(ctx))
		Expect(addresses(ctx, token)).To(Satisfy(apierrors.IsNotFound))
		Expect(inventory.DeleteAccount(ctx)).To(Succeed())
		DeferCleanup(inventory.Grant)
		Expect(addresses(ctx, token)).To(Satisfy(apierrors.IsUnauthorized))
		Expect(inventory.Grant(ctx)).To(Succeed())
		Expect(addresses(ctx, token)).To(Satisfy(apierrors.IsUnauthorized))
		Expect(addresses(ctx, newClient(inventory.Token(ctx)))).To(Satisfy(apierrors.IsNotFound))
	})
})
