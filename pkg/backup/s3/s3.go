// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package s3 keeps backups in stores with the API of Amazon S3.
package s3

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/sessions"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

const (
	keyAccessKeyID     = "accessKeyID"
	keySecretAccessKey = "secretAccessKey"

	// idleTimeout is how long an unused store is kept, and checkInterval how often that is checked.
	idleTimeout   = time.Hour
	checkInterval = 10 * time.Minute
)

type opener struct {
	stores *sessions.Set[v1alpha1.S3BackupStore, *store]
}

// New returns the opener of S3 stores.
func New() backup.Opener {
	return &opener{stores: sessions.New(sessions.Options[v1alpha1.S3BackupStore, *store]{
		Open:  open,
		Close: func(s *store) { s.transport.next.CloseIdleConnections() },
		Idle:  idleTimeout,
		Check: checkInterval,
	})}
}

// Open implements backup.Opener. It sends no request.
func (o *opener) Open(ctx context.Context, access backup.Access) (backup.Store, error) {
	return o.stores.Get(ctx, "", *access.Config.S3, site.Credentials{
		keyAccessKeyID:     string(access.Credentials[keyAccessKeyID]),
		keySecretAccessKey: string(access.Credentials[keySecretAccessKey]),
	})
}

// SecretData implements backup.Opener. The keys are those of etcd-backup-restore's S3 store, which otherwise would send checksums that only
// Amazon knows.
func (o *opener) SecretData(access backup.Access) map[string][]byte {
	config := access.Config.S3
	data := map[string][]byte{
		keyAccessKeyID:               access.Credentials[keyAccessKeyID],
		keySecretAccessKey:           access.Credentials[keySecretAccessKey],
		"region":                     []byte(config.Region),
		"endpoint":                   []byte(config.Endpoint),
		"s3ForcePathStyle":           []byte(strconv.FormatBool(!config.VirtualHosted)),
		"requestChecksumCalculation": []byte("when_required"),
		"responseChecksumValidation": []byte("when_required"),
	}
	if config.CABundle != "" {
		data["trustedCaCert"] = []byte(config.CABundle)
	}
	return data
}

func open(_ context.Context, _, _ string, config v1alpha1.S3BackupStore, access site.Credentials) (*store, error) {
	endpoint, err := url.Parse(config.Endpoint)
	if err != nil || endpoint.Scheme != "https" || endpoint.Host == "" || strings.Trim(endpoint.Path, "/") != "" {
		return nil, platform.NewError(platform.ClassConfiguration, "s3.endpoint: must be an https URL with a host and without a path")
	}
	sent, err := newTransport(endpoint, config.CABundle)
	if err != nil {
		return nil, err
	}
	lookup := minio.BucketLookupPath
	if config.VirtualHosted {
		lookup = minio.BucketLookupDNS
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds:        credentials.NewStaticV4(access[keyAccessKeyID], access[keySecretAccessKey], ""),
		Secure:       true,
		Transport:    sent,
		Region:       config.Region,
		BucketLookup: lookup,
		MaxRetries:   1,
	})
	if err != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "s3: %w", platform.Foreign(err))
	}
	return &store{client: client, transport: sent, config: config, endpoint: endpoint}, nil
}
