// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package rbacaudit

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// bootstrapping is the label of the roles that Kubernetes itself makes.
const bootstrapping = "kubernetes.io/bootstrapping"

// Binding is a role that a service account is bound to.
type Binding struct {
	// Namespace and Account are those of the service account.
	Namespace, Account string
	// Role is what it may do: everywhere, or in the namespace of the role if it has one.
	Role *rbacv1.ClusterRole
}

// User is who the service account is for kube-apiserver.
func (b Binding) User() string {
	return serviceaccount.MakeUsername(b.Namespace, b.Account)
}

// Bindings reads from a cluster what service accounts are bound to: ClusterRoles for all namespaces and Roles, but for those that
// Kubernetes itself makes.
func Bindings(ctx context.Context, c client.Reader) ([]Binding, error) {
	clusterRoles, roles := &rbacv1.ClusterRoleList{}, &rbacv1.RoleList{}
	clusterBindings, bindings := &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleBindingList{}
	for _, list := range []client.ObjectList{clusterRoles, roles, clusterBindings, bindings} {
		if err := c.List(ctx, list); err != nil {
			return nil, err
		}
	}
	byKey := map[client.ObjectKey]*rbacv1.ClusterRole{}
	for i := range clusterRoles.Items {
		byKey[client.ObjectKeyFromObject(&clusterRoles.Items[i])] = &clusterRoles.Items[i]
	}
	for _, role := range roles.Items {
		byKey[client.ObjectKeyFromObject(&role)] = &rbacv1.ClusterRole{ObjectMeta: role.ObjectMeta, Rules: role.Rules}
	}
	var result []Binding
	add := func(role client.ObjectKey, subjects []rbacv1.Subject) {
		found := byKey[role]
		if found == nil || found.Labels[bootstrapping] != "" {
			return
		}
		for _, subject := range subjects {
			if subject.Kind == rbacv1.ServiceAccountKind {
				result = append(result, Binding{Namespace: subject.Namespace, Account: subject.Name, Role: found})
			}
		}
	}
	for _, binding := range clusterBindings.Items {
		add(client.ObjectKey{Name: binding.RoleRef.Name}, binding.Subjects)
	}
	for _, binding := range bindings.Items {
		if binding.RoleRef.Kind == "Role" {
			add(client.ObjectKey{Namespace: binding.Namespace, Name: binding.RoleRef.Name}, binding.Subjects)
		}
	}
	return result, nil
}

// Granted returns what a user may do by its bindings.
func Granted(bindings []Binding, user string) ([]Permission, error) {
	var result []Permission
	for _, binding := range bindings {
		if binding.User() != user {
			continue
		}
		permissions, err := OfRole(binding.Role)
		if err != nil {
			return nil, err
		}
		result = append(result, permissions...)
	}
	return result, nil
}
