// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package rbacaudit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Refused returns those of a service account's forbidden requests that its cluster would forbid again. The others were made before the
// roles were there: pods do not wait for what Gardener deploys to shoots beside them, they ask again.
// See https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access.
func Refused(ctx context.Context, c client.Writer, account string, requests []Request) ([]Request, error) {
	namespace, _, err := serviceaccount.SplitUsername(account)
	if err != nil {
		return nil, err
	}
	groups := append(serviceaccount.MakeGroupNames(namespace), user.AllAuthenticated)
	var result []Request
	for _, r := range Forbidden(requests) {
		if slices.Contains(result, r) {
			continue
		}
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: account, Groups: groups, ResourceAttributes: r.attributes(),
		}}
		if err := c.Create(ctx, review); err != nil {
			return nil, fmt.Errorf("ask whether %s may %s: %w", account, r, err)
		}
		if !review.Status.Allowed {
			result = append(result, r)
		}
	}
	return result, nil
}

func (r Request) attributes() *authorizationv1.ResourceAttributes {
	resource, subresource, _ := strings.Cut(r.Resource, "/")
	return &authorizationv1.ResourceAttributes{
		Namespace: r.Namespace, Verb: r.Verb, Group: r.APIGroup, Resource: resource, Subresource: subresource, Name: r.Name,
	}
}
