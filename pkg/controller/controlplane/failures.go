// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"maps"
	"slices"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// failuresBySite returns the parts of err by the names of their sites. The name is empty for those that are not about a site.
func failuresBySite(err error) map[string][]error {
	failures := map[string][]error{}
	if err != nil {
		collectFailures(err, failures)
	}
	return failures
}

func collectFailures(err error, failures map[string][]error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok { // only err itself can be split
		for _, part := range joined.Unwrap() {
			collectFailures(part, failures)
		}
		return
	}
	var (
		classified *platform.Error
		site       string
	)
	if errors.As(err, &classified) {
		site = classified.Site
	}
	failures[site] = append(failures[site], err)
}

// splitCredentialsErrors splits err into errors about the credentials of a site and others.
func splitCredentialsErrors(err error) (ofCredentials, others []error) {
	failures := failuresBySite(err)
	for _, site := range slices.Sorted(maps.Keys(failures)) {
		for _, failure := range failures[site] {
			var mistake *platform.CredentialsError
			if site != "" && errors.As(failure, &mistake) {
				ofCredentials = append(ofCredentials, failure)
			} else {
				others = append(others, failure)
			}
		}
	}
	return ofCredentials, others
}
