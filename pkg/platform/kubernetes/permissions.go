// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"cmp"
	"context"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// Permissions returns the permissions for the verbs on the resource.
func Permissions(namespace, group, resource string, verbs ...string) []authorizationv1.ResourceAttributes {
	return lists.Map(verbs, func(verb string) authorizationv1.ResourceAttributes {
		return authorizationv1.ResourceAttributes{Namespace: namespace, Group: group, Resource: resource, Verb: verb}
	})
}

// Denied returns the permissions that the credentials lack. It asks for all of them concurrently. Errors are classified.
func Denied(ctx context.Context, api client.Client, needed []authorizationv1.ResourceAttributes) ([]authorizationv1.ResourceAttributes,
	error) {
	allowed := make([]bool, len(needed))
	errs := platform.Each(len(needed), func(i int) error {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &needed[i]}}
		err := api.Create(ctx, review)
		allowed[i] = review.Status.Allowed
		return Classify(err)
	})
	var denied []authorizationv1.ResourceAttributes
	for i := range needed {
		if !allowed[i] {
			denied = append(denied, needed[i])
		}
	}
	return denied, cmp.Or(errs...) // all requests fail for the same reason
}

// DescribePermissions describes permissions, grouped by resource.
func DescribePermissions(permissions []authorizationv1.ResourceAttributes) []string {
	type object struct{ namespace, group, resource string }
	verbs := map[object][]string{}
	for _, p := range permissions {
		o := object{p.Namespace, p.Group, p.Resource}
		verbs[o] = append(verbs[o], p.Verb)
	}
	var parts []string
	for o, names := range verbs {
		slices.Sort(names)
		part := strings.Join(names, " or ") + " " + o.resource
		if o.namespace != "" {
			part += " in namespace " + o.namespace
		}
		parts = append(parts, part)
	}
	slices.Sort(parts)
	return parts
}
