// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package charts_test

import (
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/charts/rbacaudit"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

// early is a service account whose role comes late.
var early = serviceaccount.MakeUsername(metav1.NamespaceDefault, "early")

var _ = Describe("Requests that were refused", func() {
	It("should be those that are refused for good, not those that came before the roles", func(ctx SpecContext) {
		meta := metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "early"}
		Expect(apiServer.Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta})).To(Succeed())
		kubeconfig := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
		Expect(rendering.WriteKubeconfig(ctx, cluster.Config, meta.Namespace, meta.Name, kubeconfig)).To(Succeed())
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		Expect(err).NotTo(HaveOccurred())
		c, err := client.New(config, client.Options{Scheme: apiServer.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		key := client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "any"}
		Expect(c.Get(ctx, key, &corev1.ConfigMap{})).To(MatchError(apierrors.IsForbidden, "IsForbidden"))
		Expect(c.Get(ctx, key, &corev1.Secret{})).To(MatchError(apierrors.IsForbidden, "IsForbidden"))

		refused := func() []string {
			GinkgoHelper()
			requests, err := rbacaudit.ReadFile(auditLog, early)
			Expect(err).NotTo(HaveOccurred())
			found, err := rbacaudit.Refused(ctx, apiServer, early, requests)
			Expect(err).NotTo(HaveOccurred())
			var texts []string
			for _, request := range found {
				texts = append(texts, request.String())
			}
			return texts
		}
		Eventually(refused).WithTimeout(30 * time.Second).Should(ConsistOf("get configmaps any in default", "get secrets any in default"))

		for _, o := range []client.Object{
			&rbacv1.Role{ObjectMeta: meta,
				Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}}},
			&rbacv1.RoleBinding{
				ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
				Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: meta.Namespace, Name: meta.Name}},
			},
		} {
			Expect(apiServer.Create(ctx, o)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(apiServer.Delete(ctx, o)).To(Succeed()) })
		}
		Eventually(refused).WithTimeout(30 * time.Second).Should(ConsistOf("get secrets any in default"))
	})
})
