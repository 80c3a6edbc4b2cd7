// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package garden

import (
	"context"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/charts/rbacaudit"
)

// rolePrefix is what the names of our roles in shoots begin with.
const rolePrefix = "extensions.gardener.cloud:provider-hybrid:"

// notRun are the service accounts of a shoot that have roles of ours but no process in a garden, and why.
var notRun = map[string]string{
	"csi-vsphere-controller": "the simulated vCenter has no volumes; hack/vsphere-csi.sh runs it with these roles",
	"csi-vsphere-node":       "a DaemonSet of the shoot, whose containers are only reported to run",
}

// Permissions are what users are allowed in clusters, by the names of clusters and users.
type Permissions map[string]map[string][]rbacaudit.Permission

// roles are the bindings of a cluster and what they bind to.
type roles struct {
	clusterRoles    map[string]*rbacv1.ClusterRole
	roles           map[client.ObjectKey]*rbacv1.ClusterRole
	clusterBindings []rbacv1.ClusterRoleBinding
	bindings        []rbacv1.RoleBinding
}

func readRoles(ctx context.Context, c client.Client) (*roles, error) {
	clusterRoles, namespaced := &rbacv1.ClusterRoleList{}, &rbacv1.RoleList{}
	clusterBindings, bindings := &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleBindingList{}
	for _, list := range []client.ObjectList{clusterRoles, namespaced, clusterBindings, bindings} {
		if err := c.List(ctx, list); err != nil {
			return nil, err
		}
	}
	r := &roles{
		clusterRoles: map[string]*rbacv1.ClusterRole{}, roles: map[client.ObjectKey]*rbacv1.ClusterRole{},
		clusterBindings: clusterBindings.Items, bindings: bindings.Items,
	}
	for i := range clusterRoles.Items {
		r.clusterRoles[clusterRoles.Items[i].Name] = &clusterRoles.Items[i]
	}
	for _, role := range namespaced.Items {
		r.roles[client.ObjectKeyFromObject(&role)] = &rbacv1.ClusterRole{ObjectMeta: role.ObjectMeta, Rules: role.Rules}
	}
	return r, nil
}

// granted is what service accounts are allowed: those that ours returns true for, or, without it, those that run and have roles of ours.
// Roles that Kubernetes itself makes are left out.
func (r *roles) granted(ours func(account string) bool) (map[string][]rbacaudit.Permission, error) {
	result := map[string][]rbacaudit.Permission{}
	add := func(role *rbacv1.ClusterRole, subjects []rbacv1.Subject) error {
		if role == nil || role.Labels["kubernetes.io/bootstrapping"] != "" || ours == nil && !strings.HasPrefix(role.Name, rolePrefix) {
			return nil
		}
		for _, subject := range subjects {
			if subject.Kind != rbacv1.ServiceAccountKind || ours != nil && !ours(subject.Name) || ours == nil && notRun[subject.Name] != "" {
				continue
			}
			permissions, err := rbacaudit.OfRole(role)
			if err != nil {
				return err
			}
			user := serviceaccount.MakeUsername(subject.Namespace, subject.Name)
			result[user] = append(result[user], permissions...)
		}
		return nil
	}
	for _, binding := range r.clusterBindings {
		if err := add(r.clusterRoles[binding.RoleRef.Name], binding.Subjects); err != nil {
			return nil, err
		}
	}
	for _, binding := range r.bindings {
		if binding.RoleRef.Kind != "Role" {
			continue
		}
		if err := add(r.roles[client.ObjectKey{Namespace: binding.Namespace, Name: binding.RoleRef.Name}], binding.Subjects); err != nil {
			return nil, err
		}
	}
	return result, nil
}
