// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape_test

import (
	"context"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/charts/rbacaudit"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

// chart is what a chart has for a reader.
const chart = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: default}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: not-created, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
- {apiGroups: [""], resources: [secrets], verbs: [get, list, watch, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects:
- {kind: ServiceAccount, name: reader, namespace: default}
`

var _ = Describe("An audit log", func() {
	user := serviceaccount.MakeUsername("default", "reader")

	DescribeTable("should tell which permissions a service account does not need",
		func(ctx SpecContext, audited landscape.Audited) {
			dir := GinkgoT().TempDir()
			log := filepath.Join(dir, "audit.log")
			cluster, err := landscape.NewCluster(dir, landscape.DefaultBinaries())
			Expect(err).NotTo(HaveOccurred())
			args, err := audited.Args(dir, log)
			Expect(err).NotTo(HaveOccurred())
			cluster.APIServer.Args = append(cluster.APIServer.Args, args...)
			DeferCleanup(func() { cluster.Stop(context.Background()) })
			Expect(cluster.Start(ctx)).To(Succeed())
			c, err := client.New(cluster.Config, client.Options{Scheme: landscape.Scheme})
			Expect(err).NotTo(HaveOccurred())

			objects, err := rendering.Objects(chart)
			Expect(err).NotTo(HaveOccurred())
			Expect(objects).To(HaveLen(4))
			Expect(landscape.CreateRoles(ctx, c, objects)).To(Succeed())
			Expect(c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "not-created"}, &corev1.ConfigMap{})).To(MatchError(apierrors.IsNotFound,
				"not found"))

			kubeconfig := filepath.Join(dir, "reader.kubeconfig")
			Expect(rendering.WriteKubeconfig(ctx, cluster.Config, "default", "reader", kubeconfig)).To(Succeed())
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			Expect(err).NotTo(HaveOccurred())
			reader, err := client.New(config, client.Options{Scheme: landscape.Scheme})
			Expect(err).NotTo(HaveOccurred())
			list := rbacaudit.Request{Verb: "list", Resource: "secrets", Forbidden: true}
			Eventually(rbacaudit.Refused).WithContext(ctx).WithArguments(c, user,
				[]rbacaudit.Request{list}).WithTimeout(30 * time.Second).Should(BeEmpty())
			Expect(reader.List(ctx, &corev1.SecretList{})).To(Succeed())
			Expect(landscape.Refused(ctx, c, log, user)).To(BeEmpty())
			unused, err := landscape.Unused(ctx, c, log, user)
			Expect(err).NotTo(HaveOccurred())
			Expect(unused).To(ConsistOf(HaveField("String()", "get secrets of reader"), HaveField("String()", "delete secrets of reader")))

			Expect(reader.Delete(ctx,
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kube-root-ca.crt", Namespace: "default"}})).NotTo(Succeed())
			_, err = landscape.Unused(ctx, c, log, user)
			Expect(err).To(MatchError(And(ContainSubstring(user), ContainSubstring("delete configmaps kube-root-ca.crt in default"))))
			Expect(landscape.Refused(ctx, c, log, user)).To(ConsistOf(HaveField("String()", "delete configmaps kube-root-ca.crt in default")))
			_, err = landscape.Unused(ctx, c, log, "nobody")
			Expect(err).To(MatchError(ContainSubstring("has no roles")))
			_, err = landscape.Refused(ctx, c, log, "nobody")
			Expect(err).To(MatchError("audit log: nothing is in it of nobody"))
		},
		Entry("of which all are audited", landscape.Audited{Groups: []string{serviceaccount.AllServiceAccountsGroup}}),
		Entry("that is named", landscape.Audited{Users: []string{user}}),
	)
})
