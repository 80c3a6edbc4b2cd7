// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package examples_test

import (
	"bytes"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

var _ = Describe("The permissions in an inventory", func() {
	It("are bound to the account, role by role", func() {
		content, err := os.ReadFile(filepath.Join("..", "..", "example", "metal", "inventory-rbac.yaml"))
		Expect(err).NotTo(HaveOccurred())
		roles, bound := []rbacv1.RoleRef{}, []rbacv1.RoleRef{}
		bind := func(ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
			bound = append(bound, ref)
			Expect(subjects).To(ConsistOf(
				rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: "provider-hybrid", Namespace: "hosts"},
				rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "provider-hybrid"}))
		}
		for document := range bytes.SplitSeq(content, []byte("\n---\n")) {
			var kind metav1.TypeMeta
			Expect(yaml.Unmarshal(document, &kind)).To(Succeed())
			decode := func(object any) { Expect(yaml.UnmarshalStrict(document, object)).To(Succeed(), kind.Kind) }
			switch kind.Kind {
			case "Role", "ClusterRole":
				var role rbacv1.Role
				decode(&role)
				Expect(role.Rules).NotTo(BeEmpty())
				roles = append(roles, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind.Kind, Name: role.Name})
			case "RoleBinding":
				var binding rbacv1.RoleBinding
				decode(&binding)
				bind(binding.RoleRef, binding.Subjects)
			case "ClusterRoleBinding":
				var binding rbacv1.ClusterRoleBinding
				decode(&binding)
				bind(binding.RoleRef, binding.Subjects)
			default:
				var account corev1.ServiceAccount
				decode(&account)
				Expect(account.Name).To(Equal("provider-hybrid"))
			}
		}
		Expect(roles).NotTo(BeEmpty())
		Expect(bound).To(ConsistOf(roles))
	})
})
