// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package objectstore runs versitygw, an S3 server with TLS, versions and object lock, as a process of its own.
package objectstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pki"
)

const (
	// Region is the region of the server.
	Region = "racks-1"
	// AccessKeyID and SecretAccessKey are the credentials of its root user.
	AccessKeyID     = "landscape"
	SecretAccessKey = "secret-of-the-landscape" // #nosec G101 -- of a server that ends with the tests

	startTimeout = 30 * time.Second
)

// Server is an S3 server.
type Server struct {
	// Process is the server's process.
	Process *landscape.Process
	// Endpoint is its URL.
	Endpoint string
	// CA is the PEM certificate of the authority that signed the server's.
	CA string
	// Pair is the server's certificate.
	Pair *pki.Pair
}

// Start starts a server whose data is below dir, and waits until it answers.
func Start(ctx context.Context, dir string) (*Server, error) {
	ports, err := landscape.FreePorts(1)
	if err != nil {
		return nil, err
	}
	authority, err := pki.NewAuthority()
	if err != nil {
		return nil, err
	}
	pair, err := authority.Server("objectstore")
	if err != nil {
		return nil, err
	}
	data, versions, sidecar := filepath.Join(dir, "data"), filepath.Join(dir, "versions"), filepath.Join(dir, "sidecar")
	certificate, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for _, folder := range []string{data, versions, sidecar} {
		err = errors.Join(err, os.MkdirAll(folder, 0o750))
	}
	err = errors.Join(err, os.WriteFile(certificate, []byte(pair.Certificate), 0o600), os.WriteFile(key, []byte(pair.Key), 0o600))
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
	s := &Server{
		Process: &landscape.Process{
			Name: "versitygw",
			Path: filepath.Join(landscape.Root(), "hack", "bin", "versitygw"),
			Args: []string{
				"--port", address, "--region", Region, "--cert", certificate, "--key", key, "--quiet",
				"posix", "--versioning-dir", versions, "--sidecar", sidecar, data,
			},
			Env:     []string{"ROOT_ACCESS_KEY_ID=" + AccessKeyID, "ROOT_SECRET_ACCESS_KEY=" + SecretAccessKey},
			LogFile: filepath.Join(dir, "versitygw.log"),
		},
		Endpoint: "https://" + address,
		CA:       authority.PEM,
		Pair:     pair,
	}
	if err := s.Process.Start(); err != nil {
		return nil, fmt.Errorf("%w; hack/landscape/build.sh builds it", err)
	}
	return s, s.waitReady(ctx, address)
}

func (s *Server) waitReady(ctx context.Context, address string) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, startTimeout, true, func(context.Context) (bool, error) {
		if err := s.Process.Check(); err != nil {
			return false, err
		}
		var conn net.Conn
		if conn, last = net.DialTimeout("tcp", address, time.Second); last != nil {
			return false, nil
		}
		return true, conn.Close()
	})
	if err != nil {
		return fmt.Errorf("versitygw is not ready: %w (%w)", err, last)
	}
	return nil
}

// Client returns a client of the root user, who is not who is tested.
func (s *Server) Client() (*minio.Client, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(s.CA)) {
		return nil, errors.New("the CA is no PEM certificate")
	}
	transport, err := minio.DefaultTransport(true)
	if err != nil {
		return nil, err
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}
	return minio.New(s.Endpoint[len("https://"):], &minio.Options{
		Creds:        credentials.NewStaticV4(AccessKeyID, SecretAccessKey, ""),
		Secure:       true,
		Transport:    transport,
		Region:       Region,
		BucketLookup: minio.BucketLookupPath,
	})
}
