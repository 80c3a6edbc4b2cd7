// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const certificateTimeout = 30 * time.Second

// syncCertificate requests a certificate when the cloud controllers have written the addresses of the node, and again when they change.
func (m *Machines) syncCertificate(ctx context.Context, n *node, addresses []corev1.NodeAddress) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	hasInternal := slices.ContainsFunc(addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP })
	if !hasInternal || n.requesting || n.certificate != nil && slices.Equal(n.addresses, addresses) {
		return
	}
	n.requesting = true
	m.group.Go(func() {
		certificate, err := m.requestCertificate(ctx, n.name, addresses)
		if err != nil && ctx.Err() == nil {
			m.Log.Info("A kubelet has no certificate", "node", n.name, "reason", err.Error())
		}
		m.mutex.Lock()
		defer m.mutex.Unlock()
		n.requesting = false
		if err == nil {
			n.certificate, n.addresses = certificate, addresses
		}
	})
}

// requestCertificate asks the shoot for a certificate as the kubelet of a node does.
func (m *Machines) requestCertificate(ctx context.Context, name string, addresses []corev1.NodeAddress) (*tls.Certificate, error) {
	user := "system:node:" + name
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: user, Organization: []string{"system:nodes"}}}
	for _, a := range addresses {
		if ip := net.ParseIP(a.Address); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else if !slices.Contains(template.DNSNames, a.Address) {
			template.DNSNames = append(template.DNSNames, a.Address)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	raw, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		return nil, err
	}
	config := rest.CopyConfig(m.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:nodes", "system:authenticated"}}
	kubelet, err := client.New(config, client.Options{Scheme: m.Shoot.Scheme()})
	if err != nil {
		return nil, err
	}
	request := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "csr-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeletServingSignerName,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: raw}),
		},
	}
	if err := kubelet.Create(ctx, request); err != nil {
		return nil, err
	}
	if err := m.waitSigned(ctx, request); err != nil {
		return nil, err
	}
	rawKey, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(request.Status.Certificate, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: rawKey}))
	return &certificate, err
}

// waitSigned waits until a request is approved and signed.
func (m *Machines) waitSigned(ctx context.Context, request *certificatesv1.CertificateSigningRequest) error {
	err := wait.PollUntilContextTimeout(ctx, period/2, certificateTimeout, false, func(ctx context.Context) (bool, error) {
		if err := m.Shoot.Get(ctx, client.ObjectKeyFromObject(request), request); err != nil {
			return false, err
		}
		for _, c := range request.Status.Conditions {
			if c.Type == certificatesv1.CertificateDenied || c.Type == certificatesv1.CertificateFailed {
				return false, errors.New(c.Message)
			}
		}
		return len(request.Status.Certificate) > 0, nil
	})
	if err != nil {
		return fmt.Errorf("request %s: %w", request.Name, err)
	}
	return nil
}
