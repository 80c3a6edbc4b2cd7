// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"net/http"
	"reflect"

	"github.com/gophercloud/gophercloud/v2/pagination"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	sharedtransport "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

// List returns the objects of all pages. Errors are classified.
func List[T any](ctx context.Context, pager pagination.Pager, extract func(pagination.Page) ([]T, error)) ([]T, error) {
	var objects []T
	look := func(page pagination.Page) error {
		found, err := extract(page)
		objects = append(objects, found...)
		return err
	}
	err := EachPage(ctx, pager, look)
	if errors.Is(err, errMarker) {
		objects = nil
		err = EachPage(ctx, pager, look)
	}
	if err != nil {
		return nil, err
	}
	return objects, nil
}

var errMarker = errors.New("an object went while its list was read")

// EachPage calls look with each page of a list. When the object goes that marks where the next page begins, that page cannot be had: the
// error is of ClassTransient. Errors are classified.
func EachPage(ctx context.Context, pager pagination.Pager, look func(pagination.Page) error) error {
	first := true
	err := Classify(pager.EachPage(sharedtransport.OneList(ctx), func(_ context.Context, page pagination.Page) (bool, error) {
		first = false
		return true, look(page)
	}))
	var api *apiError
	if !first && errors.As(err, &api) && api.response.Actual == http.StatusBadRequest {
		return platform.NewError(platform.ClassTransient, "%w: %w", errMarker, api)
	}
	return err
}

// Extracted returns the object of an answer. One that the answer lacks is an error. Errors are classified.
func Extracted[T any](object *T, err error) (*T, error) {
	if err != nil {
		return nil, Classify(err)
	}
	if object == nil {
		return nil, errNoObject
	}
	if id := reflect.ValueOf(object).Elem().FieldByName("ID"); id.IsValid() && id.IsZero() {
		return nil, errNoObject
	}
	return object, nil
}

var errNoObject = platform.NewError(platform.ClassTransient, "the answer does not have the object that was asked for")

// IgnoreNotFound classifies err and returns nil if the site said that the object does not exist.
func IgnoreNotFound(err error) error {
	if err = Classify(err); IsNotFound(err) {
		return nil
	}
	return err
}
