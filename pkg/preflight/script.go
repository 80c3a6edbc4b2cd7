// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	_ "embed"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// probeScript is the script of probes, whose line with settings is replaced.
//
//go:embed probe.sh
var probeScript string

const settingsLine = "#settings\n"

// DefaultRegistries are the registries of the images of Gardener and Kubernetes.
var DefaultRegistries = []string{"europe-docker.pkg.dev:443", "registry.k8s.io:443"}

// Roles of targets.
const (
	roleAPIServer = "apiserver"
	roleRegistry  = "registry"
)

// Targets are what nodes connect to.
type Targets struct {
	// APIServer is the URL of the shoot's API server, empty if it has none yet.
	APIServer string
	// Registries are hosts with ports.
	Registries []string
}

// plain are words that are one word for a shell, and no option of a program. They may be given a role.
var plain = regexp.MustCompile(`^([a-z]+=)?[A-Za-z0-9\[][A-Za-z0-9.:/_\[\]-]*$`)

// Script returns the POSIX shell script that reports what a host in the network of the site sees. The error is of ClassConfiguration.
func (p *Preflight) Script(name string, targets Targets) (string, error) {
	i := slices.IndexFunc(p.subjects, func(s *subject) bool { return s.Name == name })
	if i < 0 {
		return "", platform.NewError(platform.ClassConfiguration, "the shoot does not use a site %q", name)
	}
	var (
		s      = p.subjects[i]
		places []string
		times  []string
		names  []string
	)
	add := func(role, place string) error {
		host, _, err := net.SplitHostPort(place)
		if err != nil {
			return platform.NewError(platform.ClassConfiguration, "%s %q must be a host with a port", role, place)
		}
		if _, err := netip.ParseAddr(host); err != nil && !slices.Contains(names, host) {
			names = append(names, host)
		}
		places, times = append(places, role+"="+place), append(times, "https://"+place+"/")
		return nil
	}
	if s.Profile != nil {
		times = append(times, s.Profile.Endpoint())
	}
	if targets.APIServer != "" {
		server, err := url.Parse(targets.APIServer)
		if err != nil || server.Hostname() == "" {
			return "", platform.NewError(platform.ClassConfiguration, "the address of the API server must be a URL")
		}
		port := server.Port()
		if port == "" {
			port = "443"
		}
		if err := add(roleAPIServer, net.JoinHostPort(server.Hostname(), port)); err != nil {
			return "", err
		}
	}
	for _, registry := range targets.Registries {
		if err := add(roleRegistry, registry); err != nil {
			return "", err
		}
	}
	settings := ""
	for _, setting := range []struct {
		name   string
		values []string
	}{
		{"SITE", []string{s.Name}}, {"MTU", []string{fmt.Sprint(s.shared)}}, {"TARGETS", places}, {"TIMES", times},
		{"DNS_SERVERS", s.Network.DNSServers}, {"NAMES", names},
	} {
		for _, value := range setting.values {
			if !plain.MatchString(value) {
				return "", platform.NewError(platform.ClassConfiguration, "%q cannot be part of the script", platform.Printable(value))
			}
		}
		settings += setting.name + "='" + strings.Join(setting.values, " ") + "'\n"
	}
	return strings.Replace(probeScript, settingsLine, settings, 1), nil
}
