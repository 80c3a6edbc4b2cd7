// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pki"
)

const readyTimeout = 3 * time.Minute

// Cluster is etcd and kube-apiserver: what is the seed and the shoot.
type Cluster struct {
	// Etcd is the etcd process.
	Etcd *Process
	// APIServer is the kube-apiserver process.
	APIServer *Process
	// Config is an administrator's access.
	Config *rest.Config
	// Kubeconfig is the path of an administrator's kubeconfig.
	Kubeconfig string

	certificates string
	clients      *pki.Authority
	port         int
	token        string
}

// NewCluster prepares a cluster whose data, keys, kubeconfig and logs are below dir. Data of an earlier cluster is deleted.
func NewCluster(dir string, binaries Binaries) (*Cluster, error) {
	ports, err := FreePorts(3)
	if err != nil {
		return nil, err
	}
	data, keys, logs := filepath.Join(dir, "etcd"), filepath.Join(dir, "keys"), filepath.Join(dir, "logs")
	for _, d := range []string{data, keys} {
		if err := os.RemoveAll(d); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	clients, err := pki.NewAuthority()
	if err != nil {
		return nil, err
	}
	c := &Cluster{Kubeconfig: filepath.Join(dir, "kubeconfig"), certificates: keys, clients: clients, port: ports[2], token: rand.Text()}

	signingKey, tokens, authority := c.signingKey(), filepath.Join(keys, "tokens.csv"), filepath.Join(keys, "clients.crt")
	if err := writeSigningKey(signingKey); err != nil {
		return nil, err
	}
	if err := os.WriteFile(tokens, []byte(c.token+",admin,admin,system:masters\n"), 0o600); err != nil {
		return nil, err
	}

	if err := os.WriteFile(authority, []byte(clients.PEM), 0o600); err != nil {
		return nil, err
	}

	client, peer := loopback("http", ports[0]), loopback("http", ports[1])
	c.Etcd = &Process{Name: "etcd", Path: binaries.Etcd, LogFile: filepath.Join(logs, "etcd.log"), Args: []string{
		"--data-dir=" + data,
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
		"--unsafe-no-fsync", "--log-level=warn",
	}}
	c.APIServer = &Process{Name: "kube-apiserver", Path: binaries.KubeAPIServer, LogFile: filepath.Join(logs, "kube-apiserver.log"),
		Args: []string{
			"--etcd-servers=" + client,
			"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port=" + strconv.Itoa(c.port), "--cert-dir=" + keys,
			"--token-auth-file=" + tokens, "--client-ca-file=" + authority, "--authorization-mode=RBAC",
			"--service-account-issuer=" + loopback("https", c.port), "--api-audiences=kubernetes," + v1beta1constants.GardenerAudience,
			"--service-account-key-file=" + signingKey, "--service-account-signing-key-file=" + signingKey,
			"--service-cluster-ip-range=10.0.0.0/24", "--endpoint-reconciler-type=none",
			"--disable-admission-plugins=ServiceAccount", "--allow-privileged", "--enable-priority-and-fairness=false",
		}}
	return c, nil
}

// Start starts etcd and kube-apiserver, waits until they are ready and writes the kubeconfig.
func (c *Cluster) Start(ctx context.Context) error {
	if err := c.Etcd.Start(); err != nil {
		return err
	}
	if err := c.APIServer.Start(); err != nil {
		return err
	}
	return c.WaitReady(ctx)
}

// WaitReady waits until kube-apiserver is ready. It fails at once if one of the processes ends.
func (c *Cluster) WaitReady(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, readyTimeout, true, func(ctx context.Context) (bool, error) {
		for _, p := range []*Process{c.Etcd, c.APIServer} {
			if err := p.Check(); err != nil {
				return false, err
			}
		}
		last = c.ready(ctx)
		return last == nil, nil
	})
	if err != nil && last != nil {
		return fmt.Errorf("kube-apiserver is not ready: %w (%w); last lines of %s:\n%s", err, last, c.APIServer.LogFile, c.APIServer.Tail(20))
	}
	return err
}

func (c *Cluster) ready(ctx context.Context) error {
	if c.Config == nil {
		if err := c.access(); err != nil {
			return err
		}
	}
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		c.Config = nil // the certificate was not complete yet
		return err
	}
	_, err = client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	if unknown := (x509.UnknownAuthorityError{}); errors.As(err, &unknown) {
		c.Config = nil // the authority, which comes behind the certificate, was not written yet
	}
	return err
}

// access makes Config and the kubeconfig from the certificate that kube-apiserver made for itself.
func (c *Cluster) access() error {
	authority, err := os.ReadFile(filepath.Join(c.certificates, "apiserver.crt"))
	if err != nil {
		return err
	}
	kubeconfig := clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"landscape": {Server: loopback("https", c.port), CertificateAuthorityData: authority}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"admin": {Token: c.token}},
		Contexts:       map[string]*clientcmdapi.Context{"landscape": {Cluster: "landscape", AuthInfo: "admin"}},
		CurrentContext: "landscape",
	}
	if err := clientcmd.WriteToFile(kubeconfig, c.Kubeconfig); err != nil {
		return err
	}
	config, err := clientcmd.NewDefaultClientConfig(kubeconfig, nil).ClientConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 200, 400
	c.Config = config
	return nil
}

// ClientCertificate makes a certificate with which a user that is member of groups authenticates.
func (c *Cluster) ClientCertificate(user string, groups ...string) (*pki.Pair, error) {
	return c.clients.Client(user, groups...)
}

// Stop stops kube-apiserver and etcd.
func (c *Cluster) Stop(ctx context.Context) {
	c.APIServer.Stop(ctx)
	c.Etcd.Stop(ctx)
}

// signingKey is the path of the key that signs the tokens of service accounts.
func (c *Cluster) signingKey() string {
	return filepath.Join(c.certificates, "service-account.key")
}

func writeSigningKey(path string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	return os.WriteFile(path, pem.EncodeToMemory(block), 0o600)
}
