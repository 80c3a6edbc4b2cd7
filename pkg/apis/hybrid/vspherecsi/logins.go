// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package vspherecsi

import (
	"fmt"
	"regexp"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// Keys of the credentials of a site.
const (
	KeyUsername = "username"
	KeyPassword = "password"
)

// userRegexp matches the user names that the driver supports. It exits on any other.
var userRegexp = regexp.MustCompile(`^([a-zA-Z0-9.-]+\\[a-zA-Z0-9._-]+|[a-zA-Z0-9._-]+@[a-zA-Z0-9.-]+)$`)

// Login is the login of a vSphere site at its vCenter.
type Login struct {
	// Site is the site, which has vsphere.topology.
	Site *v1alpha1.CloudProfileSite
	// Username and Password are the credentials.
	Username, Password string
}

// LoginConflict is why the driver cannot log in for a site.
type LoginConflict struct {
	Conflict

	// Key is the key of the credentials, without the name of the site. The Message follows it.
	Key string
}

// LoginConflicts returns why the driver, which has one login per vCenter, cannot log in for the sites.
func LoginConflicts(logins []Login) []LoginConflict {
	var (
		conflicts []LoginConflict
		byHost    = map[string]Login{}
	)
	for _, login := range logins {
		site := login.Site.Name
		add := func(key, format string, args ...any) {
			conflicts = append(conflicts,
				LoginConflict{Conflict: Conflict{Site: site, Message: fmt.Sprintf(format, args...)}, Key: key})
		}
		if !userRegexp.MatchString(login.Username) {
			add(KeyUsername,
				`must be <user>@<domain> or <domain>\<user> of letters, digits, ".", "_" and "-", because the CSI driver supports no other`)
		}
		if !quotable(login.Password) {
			add(KeyPassword, "must not contain characters that the configuration of the CSI driver cannot contain, such as a carriage return")
		}
		host, _, err := Address(login.Site.VSphere.Server)
		if err != nil {
			continue
		}
		known, ok := byHost[host]
		if !ok {
			byHost[host] = login
			continue
		}
		for _, credential := range []struct{ key, value, known string }{{KeyUsername, login.Username, known.Username},
			{KeyPassword, login.Password, known.Password}} {
			if credential.value != credential.known {
				add(credential.key, "must be that of site %q: both use one vCenter, where the CSI driver has one login", known.Site.Name)
			}
		}
	}
	return conflicts
}
