// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"os"
	"path/filepath"

	"github.com/vmware/govmomi/vim25/soap"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pki"
)

const (
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
)

// NewAuthority returns the PEM certificate of an authority that signed nothing.
func NewAuthority() (string, error) {
	authority, err := pki.NewAuthority()
	if err != nil {
		return "", err
	}
	return authority.PEM, nil
}

// writeCertificates writes a certificate for loopback into dir and returns the authority that signed it and its thumbprint.
func writeCertificates(dir string) (authorityPEM, thumbprint string, err error) {
	authority, err := pki.NewAuthority()
	if err != nil {
		return "", "", err
	}
	pair, err := authority.Server("vcenter")
	if err != nil {
		return "", "", err
	}
	if err := os.WriteFile(filepath.Join(dir, certificateFile), []byte(pair.Certificate), 0o600); err != nil {
		return "", "", err
	}
	if err := os.WriteFile(filepath.Join(dir, keyFile), []byte(pair.Key), 0o600); err != nil {
		return "", "", err
	}
	return authority.PEM, soap.ThumbprintSHA256(pair.Parsed), nil
}
