// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/pagination"
)

// List returns the objects of all pages. Errors are classified.
func List[T any](ctx context.Context, pager pagination.Pager, extract func(pagination.Page) ([]T, error)) ([]T, error) {
	page, err := pager.AllPages(ctx)
	if err != nil {
		return nil, Classify(err)
	}
	objects, err := extract(page)
	return objects, Classify(err)
}

// IgnoreNotFound classifies err and returns nil if the site said that the object does not exist.
func IgnoreNotFound(err error) error {
	if err = Classify(err); IsNotFound(err) {
		return nil
	}
	return err
}
