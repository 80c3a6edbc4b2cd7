// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package gardenapi

import (
	"regexp"
)

// denied is how an API server begins what a webhook of the admission component refused.
var denied = regexp.MustCompile(`admission webhook "[a-z.-]*hybrid[a-z.-]*" denied the request`)

// DeniedByWebhook returns whether the admission component refused the request, and not the API itself.
func DeniedByWebhook(err error) bool {
	return err != nil && denied.MatchString(err.Error())
}
