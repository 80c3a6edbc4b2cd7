// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/ipam"
)

// forbidden finds required permissions that the credentials lack. It checks all of them concurrently.
func (f *flow) forbidden(ctx context.Context, path *field.Path) (field.ErrorList, error) {
	needed := f.inventory.Permissions()
	if f.ipamPool() != nil {
		needed = append(needed, ipam.Permissions(f.namespace)...)
	}
	allowed := make([]bool, len(needed))
	errs := platform.Each(len(needed), func(i int) (err error) {
		allowed[i], err = f.allowed(ctx, needed[i])
		return err
	})
	if err := firstOf(errs); err != nil {
		return nil, err
	}

	var missing []authorizationv1.ResourceAttributes
	for i := range needed {
		if !allowed[i] {
			missing = append(missing, needed[i])
		}
	}
	if len(missing) == 0 {
		return nil, nil
	}
	return field.ErrorList{field.Forbidden(path, "the credentials may not "+describe(missing))}, nil
}

func (f *flow) allowed(ctx context.Context, attributes authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &attributes}}
	if err := f.api.Create(ctx, review); err != nil {
		return false, client.Classify(err)
	}
	return review.Status.Allowed, nil
}

// firstOf returns the first error, because all requests fail for the same reason.
func firstOf(errs []error) error {
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return errs[i]
	}
	return nil
}

// describe lists the missing permissions, grouped by resource.
func describe(missing []authorizationv1.ResourceAttributes) string {
	type object struct{ namespace, group, resource string }
	var (
		objects []object
		verbs   = map[object][]string{}
	)
	for _, m := range missing {
		o := object{m.Namespace, m.Group, m.Resource}
		if _, ok := verbs[o]; !ok {
			objects = append(objects, o)
		}
		verbs[o] = append(verbs[o], m.Verb)
	}
	parts := make([]string, len(objects))
	for i, o := range objects {
		slices.Sort(verbs[o])
		parts[i] = strings.Join(verbs[o], " or ") + " " + o.resource
		if o.namespace != "" {
			parts[i] += " in namespace " + o.namespace
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ", nor ")
}
