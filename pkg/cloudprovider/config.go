// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Files are the paths of the configuration.
type Files struct {
	// Config is the path of a CloudControllerManagerConfiguration.
	Config string
	// Credentials is the path of a directory with a file <site>.<key> for each entry of the shoot's Secret.
	Credentials string
}

// siteConfig is everything that a set of controllers depends on. The set is replaced when it changes.
type siteConfig struct {
	Shoot       string
	Region      string
	Site        *v1alpha1.CloudControllerSite
	Credentials site.Credentials
}

// read returns the configuration and the credentials. The file is written by the ControlPlane controller: it is decoded strictly, and what
// it says about a site is up to the platform that opens the site.
func (f Files) read() (*v1alpha1.CloudControllerManagerConfiguration, map[string][]byte, error) {
	data, err := os.ReadFile(f.Config)
	if err != nil {
		return nil, nil, fmt.Errorf("read the configuration: %w", err)
	}
	config, err := codec.DecodeBytes[v1alpha1.CloudControllerManagerConfiguration](data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.Config, err)
	}
	names := map[string]bool{}
	for i := range config.Sites {
		name := config.Sites[i].Name
		if names[name] {
			return nil, nil, fmt.Errorf("%s: sites[%d].name: duplicate site %q", f.Config, i, name)
		}
		names[name] = true
	}
	credentials, err := f.readCredentials()
	return config, credentials, err
}

// readCredentials returns the entries of the Secret. File names that begin with two dots are internal to the kubelet.
func (f Files) readCredentials() (map[string][]byte, error) {
	entries, err := os.ReadDir(f.Credentials)
	if err != nil {
		return nil, fmt.Errorf("read the credentials: %w", err)
	}
	data := map[string][]byte{}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "..") || entry.IsDir() {
			continue
		}
		value, err := os.ReadFile(filepath.Join(f.Credentials, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read the credentials: %w", err)
		}
		data[entry.Name()] = value
	}
	return data, nil
}

// siteConfigs returns the configurations of the sites, and the errors of those that no controllers can run for, by the names of the sites.
func siteConfigs(config *v1alpha1.CloudControllerManagerConfiguration, credentials map[string][]byte) (map[string]*siteConfig,
	map[string]error) {
	configs, errs := map[string]*siteConfig{}, map[string]error{}
	for i := range config.Sites {
		s := &config.Sites[i]
		if _, ok := s.Platform(); !ok {
			errs[s.Name] = fmt.Errorf("sites[%d]: must have the block of exactly one platform", i)
			continue
		}
		if !s.HasZones() {
			errs[s.Name] = fmt.Errorf("sites[%d]: must have at least one zone", i)
			continue
		}
		configs[s.Name] = &siteConfig{
			Shoot:       config.Shoot,
			Region:      config.Region,
			Site:        s,
			Credentials: site.CredentialsOf(s.Name, credentials),
		}
	}
	return configs, errs
}
