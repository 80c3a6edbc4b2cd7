// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package registry is a registry of images and charts with TLS, and what a node does with images from it.
package registry

import (
	"archive/tar"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	containerregistry "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pki"
)

// Registry is a registry.
type Registry struct {
	// Host is its name, which has the default port.
	Host string
	// Authority is the certificate of the authority that its clients trust, in PEM.
	Authority string

	dir       string
	server    *http.Server
	transport *http.Transport

	mutex  sync.Mutex
	pulled []string
}

// New prepares an empty registry, which keeps what is pushed in a folder.
func New(dir, host string) (*Registry, error) {
	authority, err := pki.NewAuthority()
	if err != nil {
		return nil, err
	}
	pair, err := authority.Server(host, func(c *x509.Certificate) { c.DNSNames = []string{host} })
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair([]byte(pair.Certificate), []byte(pair.Key))
	if err != nil {
		return nil, err
	}
	blobs := filepath.Join(dir, "blobs")
	if err := os.MkdirAll(blobs, 0o700); err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(authority.PEM))
	handler := containerregistry.New(containerregistry.WithReferrersSupport(true),
		containerregistry.WithBlobHandler(containerregistry.NewDiskBlobHandler(blobs)),
		containerregistry.Logger(log.New(io.Discard, "", 0)))
	return &Registry{
		Host: host, Authority: authority.PEM, dir: dir,
		server: &http.Server{ReadHeaderTimeout: time.Minute, Handler: handler, ErrorLog: log.New(io.Discard, "", 0),
			TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}},
		transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}},
	}, nil
}

// Serve serves the registry until Stop. Its own clients connect with dial.
func (r *Registry) Serve(listener net.Listener, dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	r.transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dial(ctx, network, listener.Addr().String())
	}
	go func() { _ = r.server.ServeTLS(listener, "", "") }()
}

// Stop ends the registry.
func (r *Registry) Stop() error {
	return r.server.Close()
}

// Push pushes all images and artifacts that are in the layout of OCI in folders below one, to repositories with a prefix that are named as
// their folder.
func (r *Registry) Push(ctx context.Context, dir, prefix string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "oci-layout" {
			return err
		}
		folder := filepath.Dir(path)
		relative, err := filepath.Rel(dir, folder)
		if err != nil {
			return err
		}
		repository, err := name.NewRepository(r.Host + "/" + prefix + "/" + filepath.ToSlash(relative))
		if err != nil {
			return err
		}
		return r.pushLayout(ctx, folder, repository)
	})
}

func (r *Registry) pushLayout(ctx context.Context, folder string, repository name.Repository) error {
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, descriptor := range manifest.Manifests {
		var content remote.Taggable
		if descriptor.MediaType.IsIndex() {
			content, err = index.ImageIndex(descriptor.Digest)
		} else {
			content, err = index.Image(descriptor.Digest)
		}
		if err != nil {
			return err
		}
		if err := remote.Push(repository.Digest(descriptor.Digest.String()), content, r.access(ctx)...); err != nil {
			return fmt.Errorf("push to %s: %w", repository, err)
		}
	}
	return nil
}

// Put pushes an image, which gets the repository and the tag of a reference, whose registry may be another one.
func (r *Registry) Put(ctx context.Context, reference string, image v1.Image) error {
	tag, err := name.NewTag(reference)
	if err != nil {
		return err
	}
	if tag.Registry, err = name.NewRegistry(r.Host); err != nil {
		return err
	}
	return remote.Write(tag, image, r.access(ctx)...)
}

func (r *Registry) access(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithTransport(r.transport),
		remote.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH})}
}

// Pull pulls an image as a node does, and returns the path of its entry point, which is unpacked. The image must be named by its digest.
func (r *Registry) Pull(ctx context.Context, image string) (string, error) {
	reference, err := name.NewDigest(image)
	if err != nil {
		return "", fmt.Errorf("an image without a digest: %w", err)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	dir := filepath.Join(r.dir, "node", reference.DigestStr())
	pulled, err := remote.Image(reference, r.access(ctx)...)
	if err != nil {
		return "", err
	}
	config, err := pulled.ConfigFile()
	if err != nil {
		return "", err
	}
	if len(config.Config.Entrypoint) == 0 {
		return "", fmt.Errorf("%s has no entry point", image)
	}
	entry := strings.TrimPrefix(config.Config.Entrypoint[0], "/")
	path := filepath.Join(dir, filepath.Base(entry))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := unpack(pulled, entry, path); err != nil {
		return "", fmt.Errorf("unpack %s: %w", image, err)
	}
	r.pulled = append(r.pulled, image)
	return path, nil
}

// Pulled are the images that were pulled.
func (r *Registry) Pulled() []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return append([]string(nil), r.pulled...)
}

// unpack writes one file of an image.
func unpack(image v1.Image, file, path string) error {
	content := mutate.Extract(image)
	defer func() { _ = content.Close() }()
	reader := tar.NewReader(content)
	for {
		header, err := reader.Next()
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if header.Name != file {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { // #nosec G301 -- containers have other users
			return err
		}
		target, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755) // #nosec G302 G304 -- containers have other users
		if err != nil {
			return err
		}
		_, err = io.Copy(target, reader) // #nosec G110 -- an image of ours
		return errors.Join(err, target.Close())
	}
}
