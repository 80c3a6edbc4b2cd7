// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
)

// Key is an application credential: credentials of a project that can be revoked while its user stays.
type Key struct {
	// ID is its ID.
	ID string

	secret, user string
	identity     *gophercloud.ServiceClient
}

// NewKey makes one with a name that the user has no other one with. It stays until it is revoked.
func NewKey(ctx context.Context, of Credentials, name string) (*Key, error) {
	provider, err := openstack.AuthenticatedClient(ctx, of.authOptions())
	if err != nil {
		return nil, fmt.Errorf("sign in to project %s: %w", of.Project, err)
	}
	identity, err := openstack.NewIdentityV3(provider, gophercloud.EndpointOpts{Region: of.Region})
	if err != nil {
		return nil, err
	}
	token, ok := provider.GetAuthResult().(tokens.CreateResult)
	if !ok {
		return nil, fmt.Errorf("signed in with %T", provider.GetAuthResult())
	}
	user, err := token.ExtractUser()
	if err != nil {
		return nil, err
	}
	created, err := applicationcredentials.Create(ctx, identity, user.ID, applicationcredentials.CreateOpts{Name: name}).Extract()
	if err != nil {
		return nil, fmt.Errorf("make application credential %s: %w", name, err)
	}
	return &Key{ID: created.ID, secret: created.Secret, user: user.ID, identity: identity}, nil
}

// SiteCredentials are the keys of a site in the Secret of a shoot, without the site's prefix.
func (k *Key) SiteCredentials() map[string]string {
	return map[string]string{"applicationCredentialID": k.ID, "applicationCredentialSecret": k.secret}
}

// Revoke ends the credential and all tokens that were made with it.
func (k *Key) Revoke(ctx context.Context) error {
	err := applicationcredentials.Delete(ctx, k.identity, k.user, k.ID).ExtractErr()
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return nil
	}
	return err
}
