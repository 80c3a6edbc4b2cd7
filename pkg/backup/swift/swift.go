// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package swift keeps backups in OpenStack Swift.
package swift

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// keys are those of the credentials, which etcd-backup-restore calls alike.
var keys = []string{
	"domainName", "tenantName", "username", "password",
	"applicationCredentialID", "applicationCredentialName", "applicationCredentialSecret",
}

type opener struct {
	sessions *client.Sessions
}

// New returns the opener of Swift stores, which use the sessions of the process.
func New() backup.Opener {
	return &opener{sessions: client.Shared()}
}

// Open implements backup.Opener. It signs in unless there is a session.
func (o *opener) Open(ctx context.Context, access backup.Access) (backup.Store, error) {
	credentials := site.Credentials{}
	for _, key := range keys {
		if value, ok := access.Credentials[key]; ok {
			credentials[key] = string(value)
		}
	}
	session, err := o.sessions.Get(ctx, "", v1alpha1.OpenStackConnection{
		AuthURL:        access.Config.Swift.AuthURL,
		Region:         access.Config.Swift.Region,
		RequestTimeout: &metav1.Duration{Duration: backup.RequestTimeout},
	}, credentials)
	if err != nil {
		return nil, err
	}
	api, err := session.ObjectStore(ctx)
	if err != nil {
		return nil, err
	}
	return &store{api: api}, nil
}

// SecretData implements backup.Opener. The keys are those of etcd-backup-restore's Swift store, which refuses a Secret with both a password
// and an application credential.
func (o *opener) SecretData(access backup.Access) map[string][]byte {
	data := map[string][]byte{
		"authURL": []byte(access.Config.Swift.AuthURL),
		"region":  []byte(access.Config.Swift.Region),
	}
	for _, key := range keys {
		if value, ok := access.Credentials[key]; ok {
			data[key] = value
		}
	}
	return data
}
