// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package garden

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"net"
	"path/filepath"

	"github.com/gardener/gardener/pkg/utils/secrets"
)

// keys are the files with certificates and keys, and an administrator's certificate.
type keys struct {
	dir   string
	ca    *secrets.Certificate
	admin *secrets.Certificate
}

// newKeys makes an authority and what it signs: for servers, for the administrator and for kube-apiservers as clients of API services.
func newKeys(dir string) (*keys, error) {
	k := &keys{dir: dir}
	var err error
	if k.ca, err = (&secrets.CertificateSecretConfig{Name: "ca", CommonName: "garden",
		CertType: secrets.CACert}).GenerateCertificate(); err != nil {
		return nil, err
	}
	if err := k.write("ca", k.ca); err != nil {
		return nil, err
	}
	for _, config := range []*secrets.CertificateSecretConfig{
		{
			Name: "server", CommonName: "server", CertType: secrets.ServerCert,
			DNSNames: []string{
				"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
				"gardener-apiserver.garden.svc",
			},
			IPAddresses: []net.IP{
				net.ParseIP("127.0.0.1"), net.ParseIP(virtualAddress), net.ParseIP(firstPlace.address), net.ParseIP(firstPlace.kubernetes),
				net.ParseIP(secondPlace.address), net.ParseIP(secondPlace.kubernetes),
			},
		},
		{Name: "admin", CommonName: "admin", Organization: []string{"system:masters"}, CertType: secrets.ClientCert},
		{Name: proxyName, CommonName: proxyName, CertType: secrets.ClientCert},
	} {
		config.SigningCA = k.ca
		certificate, err := config.GenerateCertificate()
		if err != nil {
			return nil, err
		}
		if config.Name == "admin" {
			k.admin = certificate
		}
		if err := k.write(config.Name, certificate); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// proxyName is the name by which kube-apiserver is known to API services.
const proxyName = "front-proxy"

func (k *keys) certificate(name string) string { return filepath.Join(k.dir, name+".crt") }

func (k *keys) key(name string) string { return filepath.Join(k.dir, name+".key") }

func (k *keys) write(name string, c *secrets.Certificate) error {
	if err := writeFile(k.certificate(name), string(c.CertificatePEM)); err != nil {
		return err
	}
	return writeFile(k.key(name), string(c.PrivateKeyPEM))
}

// signingKey makes the key that signs the tokens of a cluster's service accounts and returns its path.
func (k *keys) signingKey(cluster string) (string, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return "", err
	}
	path := k.key(cluster + "-service-accounts")
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	return path, writeFile(path, string(pem.EncodeToMemory(block)))
}
