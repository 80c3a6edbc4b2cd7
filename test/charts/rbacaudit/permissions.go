// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package rbacaudit

import (
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Permission is one verb on one kind that a role allows.
type Permission struct {
	// Role is the name of the Role or ClusterRole.
	Role string
	// Namespace is that of the Role, empty for a ClusterRole, which is taken to be bound for all namespaces.
	Namespace string
	// Verb is what is allowed.
	Verb string
	// APIGroup and Resource are what it is allowed on, as in Request.
	APIGroup, Resource string
	// Name is the only object that it is allowed on, empty for all.
	Name string
}

// String is a line for a report.
func (p Permission) String() string {
	text := p.Verb + " " + kind(p.APIGroup, p.Resource)
	if p.Name != "" {
		text += " " + p.Name
	}
	return text + " of " + p.Role
}

// Permissions returns what the Roles and ClusterRoles among the objects allow. Rules that say * are an error.
func Permissions(objects []*unstructured.Unstructured) ([]Permission, error) {
	var permissions []Permission
	for _, o := range objects {
		if o.GetKind() != "Role" && o.GetKind() != "ClusterRole" {
			continue
		}
		role := &rbacv1.ClusterRole{} // has the rules where a Role has them
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, role); err != nil {
			return nil, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
		of, err := OfRole(role)
		if err != nil {
			return nil, fmt.Errorf("%s %w", o.GetKind(), err)
		}
		permissions = append(permissions, of...)
	}
	return permissions, nil
}

// OfRole returns what a ClusterRole allows, or a Role if it has a namespace. Rules that say * are an error.
func OfRole(role *rbacv1.ClusterRole) ([]Permission, error) {
	var permissions []Permission
	for _, rule := range role.Rules {
		if slices.Contains(slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs), rbacv1.VerbAll) {
			return nil, fmt.Errorf("%s: a rule says *", role.Name)
		}
		permissions = append(permissions, ofRule(role, rule)...)
	}
	return permissions, nil
}

func ofRule(role *rbacv1.ClusterRole, rule rbacv1.PolicyRule) []Permission {
	var permissions []Permission
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				for _, name := range names {
					permissions = append(permissions,
						Permission{Role: role.Name, Namespace: role.Namespace, Verb: verb, APIGroup: group, Resource: resource, Name: name})
				}
			}
		}
	}
	return permissions
}

// Unused returns the permissions that no request needed. Who watches needs the permission to list, too, and who creates events the one to
// patch them, which is done when they happen again.
func Unused(permissions []Permission, requests []Request) []Permission {
	return slices.DeleteFunc(slices.Clone(permissions), func(p Permission) bool { return slices.ContainsFunc(requests, p.allows) })
}

// Forbidden returns the requests that were refused for want of a permission.
func Forbidden(requests []Request) []Request {
	return slices.DeleteFunc(slices.Clone(requests), func(r Request) bool { return !r.Forbidden })
}

func (p Permission) allows(r Request) bool {
	return p.APIGroup == r.APIGroup && p.Resource == r.Resource &&
		(p.Verb == r.Verb || p.Verb == "list" && r.Verb == "watch" || p.Verb == "watch" && r.Verb == "list" ||
			p.Resource == "events" && p.Verb == "patch" && r.Verb == "create") &&
		(p.Namespace == "" || p.Namespace == r.Namespace) && (p.Name == "" || p.Name == r.Name)
}
