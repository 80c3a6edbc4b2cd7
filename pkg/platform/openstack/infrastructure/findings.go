// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"fmt"

	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// validation looks for mistakes in what a shoot wants of a site.
type validation struct {
	*flow
	path    *fieldpath.Path
	demands []platform.Demand
}

// check is one look-up. Its error says that the site could not be asked.
type check func(context.Context, *findings) error

// run makes all checks at the same time and returns what they found in their order.
func (v *validation) run(ctx context.Context, checks ...check) (platform.Findings, error) {
	found := make([]findings, len(checks))
	errs := platform.Each(len(checks), func(i int) error {
		found[i].site = v.site.Name
		return checks[i](ctx, &found[i])
	})

	var all platform.Findings
	for i := range found {
		all.Errors = append(all.Errors, found[i].Errors...)
		all.Shortages = append(all.Shortages, found[i].Shortages...)
		all.Warnings = append(all.Warnings, found[i].Warnings...)
	}
	return all, errors.Join(errs...)
}

// object is the path of a field in the site's OpenStack block.
func (v *validation) object(name string, more ...string) *fieldpath.Path {
	return v.path.Child("openstack").Child(name, more...)
}

// findings are what one check found.
type findings struct {
	platform.Findings
	site string
}

func (f *findings) invalid(path *fieldpath.Path, value, format string, args ...any) {
	f.Errors = append(f.Errors, fieldpath.Invalid(path, value, fmt.Sprintf(format, args...)))
}

// missing says that an object is not there for the credentials: OpenStack does not tell the two apart.
func (f *findings) missing(path *fieldpath.Path, value string) {
	f.invalid(path, value, "it does not exist or is not visible to the credentials")
}

func (f *findings) warn(path *fieldpath.Path, format string, args ...any) {
	f.Warnings = append(f.Warnings, fmt.Sprintf("site %q: %s: %s", f.site, path, fmt.Sprintf(format, args...)))
}
