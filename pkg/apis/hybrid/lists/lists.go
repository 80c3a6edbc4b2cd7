// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package lists has functions for lists that package slices lacks.
package lists

// Find returns the first item that matches, nil if none does.
func Find[T any](items []T, matches func(*T) bool) *T {
	for i := range items {
		if matches(&items[i]) {
			return &items[i]
		}
	}
	return nil
}

// Map returns the result of each item, nil if there are no items.
func Map[T, R any](items []T, result func(T) R) []R {
	var results []R
	for _, item := range items {
		results = append(results, result(item))
	}
	return results
}
