// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/vmware/govmomi/vim25/soap"
)

const (
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
)

// NewAuthority returns the PEM certificate of an authority that signed nothing.
func NewAuthority() (string, error) {
	authority, _, err := newAuthority()
	if err != nil {
		return "", err
	}
	return encode("CERTIFICATE", authority.Raw), nil
}

// writeCertificates writes a certificate for loopback into dir and returns the authority that signed it and its thumbprint.
func writeCertificates(dir string) (authorityPEM, thumbprint string, err error) {
	authority, authorityKey, err := newAuthority()
	if err != nil {
		return "", "", err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	server := certificate("vcenter", 2)
	server.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	server.DNSNames = []string{"localhost"}
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	raw, err := x509.CreateCertificate(rand.Reader, server, authority, key.Public(), authorityKey)
	if err != nil {
		return "", "", err
	}
	rawKey, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return "", "", err
	}
	if err := os.WriteFile(filepath.Join(dir, certificateFile), []byte(encode("CERTIFICATE", raw)), 0o600); err != nil {
		return "", "", err
	}
	if err := os.WriteFile(filepath.Join(dir, keyFile), []byte(encode("EC PRIVATE KEY", rawKey)), 0o600); err != nil {
		return "", "", err
	}
	parsed, err := x509.ParseCertificate(raw)
	if err != nil {
		return "", "", err
	}
	return encode("CERTIFICATE", authority.Raw), soap.ThumbprintSHA256(parsed), nil
}

func newAuthority() (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	authority := certificate("authority", 1)
	authority.IsCA, authority.BasicConstraintsValid = true, true
	authority.KeyUsage = x509.KeyUsageCertSign
	raw, err := x509.CreateCertificate(rand.Reader, authority, authority, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	authority, err = x509.ParseCertificate(raw)
	return authority, key, err
}

func certificate(name string, serial int64) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
	}
}

func encode(kind string, raw []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}))
}
