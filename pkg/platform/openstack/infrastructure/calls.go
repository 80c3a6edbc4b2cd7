// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// parallel runs all functions to their end and joins their errors: what one of them made is recorded whatever happens to
// the others.
func parallel(ctx context.Context, functions ...func(context.Context) error) error {
	return errors.Join(platform.Each(len(functions), func(i int) error { return functions[i](ctx) })...)
}

// sequence runs functions one after the other until one fails.
func sequence(functions ...func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, function := range functions {
			if err := function(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}
