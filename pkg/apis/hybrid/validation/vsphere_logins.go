// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const (
	keyUsername = "username"
	keyPassword = "password"
)

// vCenterUserRegexp are the user names that the CSI driver takes. It ends if one is otherwise.
var vCenterUserRegexp = regexp.MustCompile(`^([a-zA-Z0-9.-]+\\[a-zA-Z0-9._-]+|[a-zA-Z0-9._-]+@[a-zA-Z0-9.-]+)$`)

// VCenterLogin is the login of a vSphere site.
type VCenterLogin struct {
	// Site is the site, which has vsphere.topology.
	Site *v1alpha1.CloudProfileSite
	// Username and Password are the credentials.
	Username, Password string
}

// VCenterLoginConflict is why the CSI driver cannot log in for a site.
type VCenterLoginConflict struct {
	VCenterConflict

	// Key is the key of the credentials, without the name of the site. The Message follows it.
	Key string
}

// VCenterLoginConflicts returns why the CSI driver, which has one login at a vCenter, cannot log in for the sites.
func VCenterLoginConflicts(logins []VCenterLogin) []VCenterLoginConflict {
	var (
		conflicts []VCenterLoginConflict
		byHost    = map[string]VCenterLogin{}
	)
	for _, login := range logins {
		site := login.Site.Name
		add := func(key, format string, args ...any) {
			conflicts = append(conflicts,
				VCenterLoginConflict{VCenterConflict: VCenterConflict{Site: site, Message: fmt.Sprintf(format, args...)}, Key: key})
		}
		if !vCenterUserRegexp.MatchString(login.Username) {
			add(keyUsername,
				`must be <user>@<domain> or <domain>\<user> of letters, digits, ".", "_" and "-", because the CSI driver takes no other`)
		}
		if !quotable(login.Password) {
			add(keyPassword, "must not have characters that the configuration of the CSI driver cannot have, such as a carriage return")
		}
		host, _, err := VCenterAddress(login.Site.VSphere.Server)
		if err != nil {
			continue
		}
		known, ok := byHost[host]
		if !ok {
			byHost[host] = login
			continue
		}
		for _, credential := range []struct{ key, value, known string }{{keyUsername, login.Username, known.Username},
			{keyPassword, login.Password, known.Password}} {
			if credential.value != credential.known {
				add(credential.key, "must be that of site %q: both are at one vCenter, where the CSI driver has one login", known.Site.Name)
			}
		}
	}
	return conflicts
}

// ValidateVCenterLogins checks that the CSI driver can log in at the vCenters of the named sites that have vsphere.topology. Sites whose
// credentials are not complete are left out. Messages name keys, never values. fldPath is the path of the data.
func ValidateVCenterLogins(data map[string][]byte, sites []string, profile *v1alpha1.CloudProfileConfig,
	fldPath *field.Path) field.ErrorList {
	var logins []VCenterLogin
	for _, name := range sites {
		site := helper.FindSite(profile, name)
		if site == nil || site.VSphere == nil || site.VSphere.Topology == nil {
			continue
		}
		username, password := data[site.Name+"."+keyUsername], data[site.Name+"."+keyPassword]
		if len(username) > 0 && len(password) > 0 {
			logins = append(logins, VCenterLogin{Site: site, Username: string(username), Password: string(password)})
		}
	}
	var allErrs field.ErrorList
	for _, conflict := range VCenterLoginConflicts(logins) {
		allErrs = append(allErrs, field.Invalid(fldPath.Key(conflict.Site+"."+conflict.Key), "(hidden)", conflict.Message))
	}
	return allErrs
}
