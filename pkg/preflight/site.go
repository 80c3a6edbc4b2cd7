// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	// soon is how long before its end a certificate is reported.
	soon = 30 * 24 * time.Hour
	// drift is the offset of a clock that is reported.
	drift = 10 * time.Second
	// maxDrift is the offset that certificates of Kubernetes tolerate: they are valid from 5 minutes before they are signed.
	maxDrift = 5 * time.Minute
)

// checkClock is the ID of the check of a site's clock, without which clocks of sites cannot be compared.
const checkClock = "site-clock"

// siteChecks are the checks of single sites.
var siteChecks = platform.Checks[*subject]{
	{Check: platform.Check{
		ID:     "site-api-resolve",
		Title:  "The name of the site's API, or of its proxy, has an address.",
		Remedy: "Correct the address in the CloudProfile, or let the DNS servers of the seed resolve it.",
	}, Run: (*subject).checkResolve},
	{Check: platform.Check{
		ID:    "site-api-range",
		Title: "The address of the site's API is outside the ranges of the shoot's nodes, pods, and services.",
		Remedy: "Choose ranges of the Shoot that do not contain the address: Gardener keeps the control plane from them, see " +
			"[admission](admission.md#addresses-of-apis).",
		Needs: []string{"site-api-resolve"},
	}, Run: (*subject).checkAPIRange},
	{Check: platform.Check{
		ID:    "site-api-seed",
		Title: "The address of the site's API is outside the ranges of the seed's nodes, pods, and services, and not blocked there.",
		Remedy: "Choose another seed, or another address for the API: Gardener keeps control planes from the seed's ranges, and from " +
			"`spec.networks.blockCIDRs` of the Seed.",
		Needs: []string{"site-api-resolve"},
	}, Run: (*subject).checkAPISeed},
	{Check: platform.Check{
		ID:     "site-api-answer",
		Title:  "The site's API answers.",
		Remedy: "Check the address in the CloudProfile, and the routes, firewalls, and proxies on the way to it.",
		Needs:  []string{"site-api-resolve"},
	}, Run: (*subject).checkAnswer},
	{Check: platform.Check{
		ID:     "site-certificate-name",
		Title:  "The certificate of the site's API is for its host name.",
		Remedy: "Use the name in the certificate as address in the CloudProfile, or issue a certificate for the address.",
		Needs:  []string{"site-api-answer"},
	}, Run: (*subject).checkName},
	{Check: platform.Check{
		ID:     "site-certificate-trust",
		Title:  "The certificate of the site's API is signed by the configured authority, or has the configured thumbprint.",
		Remedy: "Set `tls.caCert` of the site in the CloudProfile to the authority that signs the API's certificate.",
		Needs:  []string{"site-api-answer"},
	}, Run: (*subject).checkTrust},
	{Check: platform.Check{
		ID:     "site-certificate-end",
		Title:  "The certificates of the site's API are valid for another 30 days.",
		Remedy: "Renew the certificate at the site.",
		Needs:  []string{"site-api-answer"},
	}, Run: (*subject).checkEnd},
	{Check: platform.Check{
		ID:     "site-authority-end",
		Title:  "The certificate authorities of the site in the CloudProfile are valid for another 30 days.",
		Remedy: "Replace the certificate in `tls.caCert` of the site in the CloudProfile. Several can be there during the rotation.",
	}, Run: (*subject).checkAuthority},
	{Check: platform.Check{
		ID:     checkClock,
		Title:  "The clock of the site's API is right.",
		Remedy: "Let the site, and the host that runs this check, use the same time servers.",
		Needs:  []string{"site-certificate-name", "site-certificate-trust", "site-certificate-end"},
	}, Run: (*subject).checkClock},
	{Check: platform.Check{
		ID:     "site-range-shoot",
		Title:  "The ranges of the site's nodes do not overlap with the shoot's pods and services.",
		Remedy: "Choose other ranges.",
	}, Run: (*subject).checkRangeShoot},
	{Check: platform.Check{
		ID:     "site-range-seed",
		Title:  "The ranges of the site's nodes do not overlap with the networks of the seed.",
		Remedy: "Choose other ranges, or another seed.",
	}, Run: (*subject).checkRangeSeed},
	{Check: platform.Check{
		ID:     "site-range-reserved",
		Title:  "The ranges of the site's nodes do not overlap with ranges that Gardener or the IP standards reserve.",
		Remedy: "Choose other ranges.",
	}, Run: (*subject).checkRangeReserved},
	{Check: platform.Check{
		ID:     "site-range-size",
		Title:  "The ranges of the site's nodes have an address for each machine that the pools can have.",
		Remedy: "Choose a larger range, or reduce the maxima of the pools.",
	}, Run: (*subject).checkRangeSize},
	{Check: platform.Check{
		ID:     "site-gateway",
		Title:  "The gateway is an address of the site's network that no Service and no pod has.",
		Remedy: "Correct `gateway` of the site in the InfrastructureConfig.",
	}, Run: (*subject).checkGateway},
	{Check: platform.Check{
		ID:     "site-dns-range",
		Title:  "The DNS servers are addresses that nodes can send requests to.",
		Remedy: "Correct `dnsServers` of the site in the InfrastructureConfig or in the CloudProfile.",
	}, Run: (*subject).checkDNSRange},
	{Check: platform.Check{
		ID:     "site-dns-family",
		Title:  "A DNS server has an IP family of the nodes.",
		Remedy: "Add a DNS server of the IP family of the nodes to `dnsServers` of the site.",
	}, Run: (*subject).checkDNSFamily},
	{Check: platform.Check{
		ID:     "site-mtu",
		Title:  "The configured MTU is not above what the site's network reports.",
		Remedy: "Correct `mtu` of the site in the InfrastructureConfig or in the CloudProfile.",
	}, Run: (*subject).checkMTU},
}

func (s *subject) checkResolve(_ context.Context, result *platform.Result) error {
	addresses, err := s.face.addresses()
	var unknown *net.DNSError
	switch {
	case errors.As(err, &unknown) && unknown.IsNotFound, err == nil && len(addresses) == 0:
		result.Invalid(s.ProfilePath(), s.face.contact.Host, "%s of the site does not resolve", s.face.contact.What)
		return nil
	case err != nil && !platform.IsClassified(err):
		return platform.NewError(platform.ClassTransient, "%s could not be resolved: %w", s.face.contact.Host, platform.Foreign(err))
	}
	return err
}

func (s *subject) checkAPIRange(_ context.Context, result *platform.Result) error {
	addresses, err := s.face.addresses()
	if err != nil {
		return err
	}
	var message string
	networks := validation.ShootNetworks(s.shoot.Config, s.shoot.Networking)
	for _, addr := range addresses {
		network, blocked := validation.BlockedAt(addr, networks)
		if !blocked {
			return nil
		}
		message = validation.BlockedMessage(s.face.contact, addr, network)
	}
	result.Invalid(s.path.Child("name"), s.Name, "%s", message)
	return nil
}

func (s *subject) checkAPISeed(_ context.Context, result *platform.Result) error {
	addresses, err := s.face.addresses()
	if err != nil {
		return err
	}
	var (
		blocked  = rangesOfSeed(s.shoot.Seed, true)
		networks = rangesOfSeed(s.shoot.Seed, false)
		found    *span
	)
	for _, addr := range addresses {
		if found = contains(blocked, addr); found == nil && addr.Unmap().IsPrivate() {
			found = contains(networks, addr)
		}
		if found == nil {
			return nil
		}
	}
	if found != nil {
		result.Invalid(s.path.Child("name"), s.Name, "%s of the site is at %s, which is in the range %s of the seed's %s",
			s.face.contact.What, addresses[len(addresses)-1], found.prefix, found.name)
	}
	return nil
}

func (s *subject) checkAnswer(_ context.Context, _ *platform.Result) error {
	_, err := s.face.look()
	return err
}

func (s *subject) checkName(_ context.Context, result *platform.Result) error {
	look, err := s.face.look()
	var hostname x509.HostnameError
	if errors.As(look.Untrusted, &hostname) {
		result.Invalid(s.ProfilePath().Child("tls"), hostname.Host, "the certificate is not for this name").Want =
			"a certificate for " + hostname.Host
	}
	return err
}

func (s *subject) checkTrust(_ context.Context, result *platform.Result) error {
	look, err := s.face.look()
	var (
		hostname x509.HostnameError
		invalid  x509.CertificateInvalidError
	)
	ended := errors.As(look.Untrusted, &invalid) && invalid.Reason == x509.Expired
	if look.Untrusted != nil && !ended && !errors.As(look.Untrusted, &hostname) {
		result.Invalid(s.ProfilePath().Child("tls"), "(hidden)", "%v", look.Untrusted)
	}
	return err
}

// checkEnd checks the chain that ends last, because one suffices. The end of a pinned certificate prevents nothing.
func (s *subject) checkEnd(_ context.Context, result *platform.Result) error {
	look, err := s.face.look()
	if err != nil || len(look.Chains) == 0 {
		return err
	}
	var best *x509.Certificate
	for _, chain := range look.Chains {
		if first := firstToEnd(chain); best == nil || first != nil && first.NotAfter.After(best.NotAfter) {
			best = first
		}
	}
	if best == nil {
		return nil
	}
	var (
		path    = s.ProfilePath().Child("tls")
		left    = best.NotAfter.Sub(s.clock.Now())
		message = "the certificate " + endOf(best)
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.As(look.Untrusted, &invalid) && invalid.Reason == x509.Expired && left > 0:
		result.Invalid(path, "(hidden)", "the certificate of the API is not valid yet: %v", look.Untrusted)
	case left <= 0 && verified(s):
		result.Invalid(path, "(hidden)", "%s", message)
	case left < soon && verified(s):
		result.Warn(path, "%s", message)
	}
	return nil
}

// endOf tells the end of a certificate.
func endOf(certificate *x509.Certificate) string {
	return fmt.Sprintf("%q ends on %s", platform.Printable(certificate.Subject.CommonName), certificate.NotAfter.UTC().Format(time.RFC3339))
}

// verified reports whether the end of the site's certificates matters.
func verified(s *subject) bool {
	return s.Profile.TLS == nil || s.Profile.TLS.Thumbprint == "" && !s.Profile.TLS.InsecureSkipVerify
}

// firstToEnd returns the certificate that ends first, nil if there is none.
func firstToEnd(chain []*x509.Certificate) *x509.Certificate {
	var first *x509.Certificate
	for _, certificate := range chain {
		if first == nil || certificate.NotAfter.Before(first.NotAfter) {
			first = certificate
		}
	}
	return first
}

// checkAuthority fails if none of the authorities is valid.
func (s *subject) checkAuthority(_ context.Context, result *platform.Result) error {
	if s.Profile == nil || s.Profile.TLS == nil {
		return nil
	}
	var (
		path  = s.ProfilePath().Child("tls", "caCert")
		now   = s.clock.Now()
		ended []*x509.Certificate
		last  *x509.Certificate
	)
	for rest := []byte(s.Profile.TLS.CACert); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		authority, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue
		}
		if now.After(authority.NotAfter) {
			ended = append(ended, authority)
		}
		if last == nil || authority.NotAfter.After(last.NotAfter) {
			last = authority
		}
	}
	if last == nil {
		return nil
	}
	message := "the authority " + endOf(last)
	switch {
	case now.After(last.NotAfter):
		result.Invalid(path, "(hidden)", "%s", message)
	case now.Add(soon).After(last.NotAfter):
		result.Warn(path, "%s", message)
	case len(ended) > 0:
		result.Warn(path, "the authority %q has ended", platform.Printable(ended[0].Subject.CommonName))
	}
	return nil
}

func (s *subject) checkClock(_ context.Context, result *platform.Result) error {
	look, err := s.face.look()
	if err != nil {
		return err
	}
	if look.Date.IsZero() {
		result.Unknown(s.path, "the API does not tell its time")
		return nil
	}
	judgeOffset(result, s, look.Offset, look.Uncertainty, "the clock of the API", "that of this host")
	return nil
}

// judgeOffset reports the offset of a clock that is not right, as far as that is certain.
func judgeOffset(result *platform.Result, s *subject, offset, uncertainty time.Duration, clock, other string) {
	size := offset.Abs() - uncertainty
	if size < drift {
		return
	}
	direction := "ahead of"
	if offset < 0 {
		direction = "behind"
	}
	message := fmt.Sprintf("%s is %s %s %s", clock, offset.Abs().Round(time.Second), direction, other)
	if size < maxDrift {
		result.Warn(s.path, "%s", message).Want = "less than " + drift.String()
		return
	}
	result.Invalid(s.path, s.Name, "%s", message).Want = "less than " + drift.String()
}
