// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	authorizationv1 "k8s.io/api/authorization/v1"
)

// Permissions are what the credentials must be allowed to do in the namespace of the claims. That pools can be read is not needed.
func Permissions(namespace string) []authorizationv1.ResourceAttributes {
	var permissions []authorizationv1.ResourceAttributes
	for resource, verbs := range map[string][]string{
		"ipaddressclaims": {"create", "delete", "get", "list"},
		"ipaddresses":     {"get"},
	} {
		for _, verb := range verbs {
			permissions = append(permissions, authorizationv1.ResourceAttributes{Namespace: namespace, Group: Group, Resource: resource, Verb: verb})
		}
	}
	return permissions
}
