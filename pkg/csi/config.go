// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package csi

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	gcfg "gopkg.in/gcfg.v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	library "k8s.io/cloud-provider-openstack/pkg/csi/cinder/openstack"
	"k8s.io/cloud-provider-openstack/pkg/util/metadata"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Config is the parsed configuration of all drivers.
type Config struct {
	// Sites maps names to sites. A site with an invalid section has an error.
	Sites map[string]SiteConfig
	// BlockStorage configures the library's driver.
	BlockStorage library.BlockStorageOpts
	// Metadata configures how the node service identifies its server.
	Metadata metadata.Opts
}

// SiteConfig configures access to a site.
type SiteConfig struct {
	// Connection is the connection to the site.
	Connection v1alpha1.OpenStackConnection
	// ProjectID is the ID of the project with the volumes. Credentials of another one are rejected: with them, all volumes would appear to be
	// gone. Default: any project.
	ProjectID string
	// Region is the region with the volumes. A connection to another one is rejected. Default: that of the connection.
	Region string
	// ShareNetworkID is the ID of the share network of the shoot. Default: the site has no shares.
	ShareNetworkID string
	// ShareClients are the ranges of the nodes, which may mount shares.
	ShareClients []string
	// Credentials are the credentials for the site's project.
	Credentials site.Credentials
	// Err is the error of an invalid section. It is of ClassConfiguration.
	Err error
}

// file is a configuration file of cloud-provider-openstack with additional keys.
type file struct {
	Global       map[string]*section
	BlockStorage library.BlockStorageOpts
	Metadata     metadata.Opts
}

// section is the section [Global "<site>"]. Other keys of cloud-provider-openstack are ignored.
type section struct {
	AuthURL                     string `gcfg:"auth-url"`
	Region                      string
	EndpointType                string `gcfg:"os-endpoint-type"`
	DomainName                  string `gcfg:"domain-name"`
	TenantName                  string `gcfg:"tenant-name"`
	Username                    string
	Password                    string
	ApplicationCredentialID     string `gcfg:"application-credential-id"`
	ApplicationCredentialSecret string `gcfg:"application-credential-secret"`
	CAFile                      string `gcfg:"ca-file"`
	CAFileContents              string
	TLSInsecure                 string `gcfg:"tls-insecure"`

	// The keys below are ignored by cloud-provider-openstack.

	ProjectID      string   `gcfg:"project-id"`
	ShootRegion    string   `gcfg:"shoot-region"`
	TLSThumbprint  string   `gcfg:"tls-thumbprint"`
	ProxyURL       string   `gcfg:"proxy-url"`
	NoProxy        []string `gcfg:"no-proxy"`
	RequestTimeout string   `gcfg:"request-timeout"`
	ShareNetworkID string   `gcfg:"share-network-id"`
	ShareClients   []string `gcfg:"share-client"`
}

// ReadConfig reads the files in order; later ones take precedence.
func ReadConfig(paths []string) (*Config, error) {
	contents, err := readFiles(paths)
	if err != nil {
		return nil, err
	}
	return parse(paths, contents)
}

func readFiles(paths []string) ([][]byte, error) {
	contents := make([][]byte, 0, len(paths))
	for _, path := range paths {
		data, err := os.ReadFile(path) // #nosec G304 -- the files of the command line
		if err != nil {
			return nil, platform.NewError(platform.ClassConfiguration, "read configuration: %w", err)
		}
		contents = append(contents, data)
	}
	return contents, nil
}

func parse(paths []string, contents [][]byte) (config *Config, err error) {
	defer func() {
		// The parser panics on input that its scanner accepts by mistake. The message may quote a line of the file.
		if recover() != nil {
			config, err = nil, platform.NewError(platform.ClassConfiguration, "the configuration cannot be parsed")
		}
	}()
	var f file
	for i, data := range contents {
		if err := gcfg.FatalOnly(gcfg.ReadInto(&f, bytes.NewReader(data))); err != nil {
			return nil, platform.NewError(platform.ClassConfiguration, "%s: %w", paths[i], err)
		}
	}
	config = &Config{Sites: map[string]SiteConfig{}, BlockStorage: f.BlockStorage, Metadata: f.Metadata}
	for name, s := range f.Global {
		config.Sites[name] = s.site(name)
	}
	return config, nil
}

func (s *section) site(name string) SiteConfig {
	config := SiteConfig{
		Connection:     v1alpha1.OpenStackConnection{AuthURL: s.AuthURL, Region: s.Region, EndpointType: s.EndpointType},
		ProjectID:      s.ProjectID,
		Region:         s.ShootRegion,
		ShareNetworkID: s.ShareNetworkID,
		ShareClients:   s.ShareClients,
		Credentials:    site.Credentials{},
	}
	for key, value := range map[string]string{
		"domainName":                  s.DomainName,
		"tenantName":                  s.TenantName,
		"username":                    s.Username,
		"password":                    s.Password,
		"applicationCredentialID":     s.ApplicationCredentialID,
		"applicationCredentialSecret": s.ApplicationCredentialSecret,
	} {
		if value != "" {
			config.Credentials[key] = value
		}
	}
	if s.ProxyURL != "" {
		config.Connection.Proxy = &v1alpha1.Proxy{URL: s.ProxyURL, NoProxy: s.NoProxy}
	}
	err := s.timeout(&config.Connection)
	if err == nil {
		config.Connection.TLS, err = s.tls()
	}
	if err == nil && s.AuthURL == "" {
		err = errors.New("auth-url is required")
	}
	if err != nil {
		config.Err = platform.InSite(name, platform.NewError(platform.ClassConfiguration, "%w", err))
	}
	return config
}

func (s *section) timeout(connection *v1alpha1.OpenStackConnection) error {
	if s.RequestTimeout == "" {
		return nil
	}
	timeout, err := time.ParseDuration(s.RequestTimeout)
	if err != nil {
		return fmt.Errorf("request-timeout: %w", err)
	}
	connection.RequestTimeout = &metav1.Duration{Duration: timeout}
	return nil
}

func (s *section) tls() (*v1alpha1.TLS, error) {
	tls := v1alpha1.TLS{CACert: s.CAFileContents, Thumbprint: s.TLSThumbprint, InsecureSkipVerify: s.TLSInsecure == "true"}
	if s.CAFile != "" {
		data, err := os.ReadFile(s.CAFile)
		if err != nil {
			return nil, fmt.Errorf("ca-file: %w", err)
		}
		tls.CACert = string(data)
	}
	if tls == (v1alpha1.TLS{}) {
		return nil, nil
	}
	return &tls, nil
}
