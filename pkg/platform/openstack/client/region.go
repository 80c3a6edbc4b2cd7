// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// CheckRegion refuses a session of another region than the one that the shoot is in. Each region will do if that is not known. Projects
// are the same in all regions of a Keystone, so that CheckProject does not tell them apart. Errors are classified.
func (s *Session) CheckRegion(region string) error {
	if region == "" || region == s.endpoints.Region {
		return nil
	}
	return platform.NewError(platform.ClassConfiguration,
		"openstack.region: it is %q, but the shoot is in region %q; nothing is touched until it is that region again", s.endpoints.Region, region)
}
