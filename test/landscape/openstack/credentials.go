// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
)

// Credentials are a member's access to one project.
type Credentials struct {
	// AuthURL is the address of Keystone's version 3 API.
	AuthURL string
	// Region is the Keystone region.
	Region string
	// Domain is the domain of the user and the project.
	Domain string
	// Project is the name of the project.
	Project string
	// Username is the name of the user.
	Username string
	// Password is the user's password.
	Password string
}

// ReadCredentials reads an openrc file: lines of `export NAME=VALUE ...`.
func ReadCredentials(path string) (Credentials, error) {
	content, err := os.ReadFile(path) // #nosec G304 -- the landscape's own file
	if err != nil {
		return Credentials{}, err
	}
	values := map[string]string{}
	for scanner := bufio.NewScanner(bytes.NewReader(content)); scanner.Scan(); {
		for _, field := range strings.Fields(strings.TrimPrefix(scanner.Text(), "export ")) {
			if name, value, ok := strings.Cut(field, "="); ok {
				values[name] = value
			}
		}
	}
	c := Credentials{
		AuthURL:  values["OS_AUTH_URL"],
		Region:   values["OS_REGION_NAME"],
		Domain:   values["OS_PROJECT_DOMAIN_NAME"],
		Project:  values["OS_PROJECT_NAME"],
		Username: values["OS_USERNAME"],
		Password: values["OS_PASSWORD"],
	}
	if c.AuthURL == "" || c.Project == "" || c.Username == "" {
		return Credentials{}, fmt.Errorf("%s has no OS_AUTH_URL, OS_PROJECT_NAME or OS_USERNAME", path)
	}
	return c, nil
}

// SiteCredentials are the keys of a site in the Secret of a shoot, without the site's prefix.
func (c Credentials) SiteCredentials() map[string]string {
	return map[string]string{"domainName": c.Domain, "tenantName": c.Project, "username": c.Username, "password": c.Password}
}

func (c Credentials) authOptions() gophercloud.AuthOptions {
	return gophercloud.AuthOptions{
		IdentityEndpoint: c.AuthURL,
		Username:         c.Username,
		Password:         c.Password,
		DomainName:       c.Domain,
		TenantName:       c.Project,
		AllowReauth:      true,
	}
}
