// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"crypto/sha1" // #nosec G505 -- a pinned certificate may be given by its SHA-1 fingerprint
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var errThumbprint = errors.New("the server's certificate does not have the configured thumbprint")

// IsUntrusted reports whether err means that the server's identity could not be verified.
func IsUntrusted(err error) bool {
	var (
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	return errors.As(err, &authority) || errors.As(err, &hostname) || errors.As(err, &invalid) || errors.Is(err, errThumbprint)
}

// explain replaces the text of a library's error.
func (t *Transport) explain(err error) error {
	var (
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	switch {
	case t.options.Untrusted:
		// Details about a server that a tenant configured would reveal what is behind an address.
		return platform.Reworded(err, "no usable response")
	case errors.As(err, &hostname):
		return platform.Reworded(err, "the server's certificate is not for "+hostname.Host)
	case errors.As(err, &authority):
		return platform.Reworded(err, "the server's certificate is signed by an unknown authority")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return platform.Reworded(err, "the server's certificate has expired or is not yet valid")
	case errors.As(err, &invalid):
		return platform.Reworded(err, "the server's certificate is not valid")
	case strings.Contains(err.Error(), "connection broken"), strings.Contains(err.Error(), "malformed"):
		return platform.Reworded(err, "the response is not HTTP")
	}
	return err
}

func tlsConfig(config *v1alpha1.TLS) (*tls.Config, error) {
	result := &tls.Config{MinVersion: tls.VersionTLS12}
	switch {
	case config == nil:
	case config.CACert != "":
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(config.CACert)) {
			return nil, platform.NewError(platform.ClassConfiguration, "tls.caCert: must contain a PEM certificate")
		}
		result.RootCAs = pool
	case config.Thumbprint != "":
		// The certificate itself is trusted, regardless of its issuer.
		result.InsecureSkipVerify = true // #nosec G402
		result.VerifyConnection = verifyThumbprint(config.Thumbprint)
	case config.InsecureSkipVerify:
		result.InsecureSkipVerify = true // #nosec G402
	}
	return result, nil
}

func verifyThumbprint(thumbprint string) func(tls.ConnectionState) error {
	want := strings.ToLower(strings.ReplaceAll(thumbprint, ":", ""))
	return func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) > 0 {
			raw := state.PeerCertificates[0].Raw
			sum1, sum256 := sha1.Sum(raw), sha256.Sum256(raw) // #nosec G401
			if want == hex.EncodeToString(sum1[:]) || want == hex.EncodeToString(sum256[:]) {
				return nil
			}
		}
		return errThumbprint
	}
}
