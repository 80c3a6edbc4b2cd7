// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package garden

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/netns"
)

const (
	readyTimeout = 2 * time.Minute
	readyPeriod  = 200 * time.Millisecond
)

// Cluster is a kube-apiserver and a kube-controller-manager.
type Cluster struct {
	// Kubeconfig is the path of an administrator's kubeconfig, for processes in the network namespace of the garden.
	Kubeconfig string
	// Config is an administrator's access from this process.
	Config *rest.Config

	apiServer, controllerManager *landscape.Process
}

// virtualControllers are the controllers of kube-controller-manager in the virtual garden, which has no pods.
var virtualControllers = []string{
	"namespace-controller", "serviceaccount-controller", "serviceaccount-token-controller", "root-ca-certificate-publisher-controller",
	"clusterrole-aggregation-controller", "garbage-collector-controller", "resourcequota-controller",
	"certificatesigningrequest-approving-controller", "certificatesigningrequest-signing-controller", "token-cleaner-controller",
}

// seedControllers are the controllers of kube-controller-manager in the seed: all but those of nodes, clouds and volumes.
var seedControllers = []string{
	"*", "-node-lifecycle-controller", "-taint-eviction-controller", "-node-ipam-controller", "-cloud-node-lifecycle-controller",
	"-service-lb-controller",
	"-node-route-controller", "-persistentvolume-attach-detach-controller",
}

// newCluster prepares a cluster whose objects have a prefix of its own in etcd.
func (g *Garden) newCluster(name, address, services string, port int, controllers []string) (*Cluster, error) {
	signingKey, err := g.keys.signingKey(name)
	if err != nil {
		return nil, err
	}
	auditing, err := g.audit(name)
	if err != nil {
		return nil, err
	}
	c := &Cluster{}
	if c.Kubeconfig, c.Config, err = g.access(name, "https://"+address+":6443"); err != nil {
		return nil, err
	}
	ca, server := g.keys.certificate("ca"), "server"
	c.apiServer = g.process("kube-apiserver-"+name, g.binaries.KubeAPIServer, append(auditing,
		"--etcd-servers="+etcdURL, "--etcd-prefix=/"+name,
		"--bind-address="+address, "--advertise-address="+address, "--secure-port=6443",
		"--tls-cert-file="+g.keys.certificate(server), "--tls-private-key-file="+g.keys.key(server), "--client-ca-file="+ca,
		"--service-account-key-file="+signingKey, "--service-account-signing-key-file="+signingKey,
		"--service-account-issuer=https://"+name+".test", "--api-audiences=https://"+name+".test,kubernetes,gardener",
		"--service-cluster-ip-range="+services, "--allow-privileged=true", "--authorization-mode=Node,RBAC",
		"--enable-bootstrap-token-auth",
		"--requestheader-client-ca-file="+ca, "--requestheader-allowed-names="+proxyName, "--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--requestheader-group-headers=X-Remote-Group", "--requestheader-username-headers=X-Remote-User",
		"--proxy-client-cert-file="+g.keys.certificate(proxyName), "--proxy-client-key-file="+g.keys.key(proxyName),
		"--max-requests-inflight=1000", "--max-mutating-requests-inflight=500",
	)...)
	c.controllerManager = g.process("kube-controller-manager-"+name, g.binaries.KubeControllerManager,
		"--kubeconfig="+c.Kubeconfig, "--authentication-kubeconfig="+c.Kubeconfig, "--authorization-kubeconfig="+c.Kubeconfig,
		"--service-account-private-key-file="+signingKey, "--root-ca-file="+ca, "--cluster-signing-cert-file="+ca,
		"--cluster-signing-key-file="+g.keys.key("ca"),
		"--use-service-account-credentials=false", "--leader-elect=false", "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--concurrent-deployment-syncs=20", "--kube-api-qps=100", "--kube-api-burst=200", "--controllers="+strings.Join(controllers, ","),
	)
	return c, nil
}

// access writes an administrator's kubeconfig and returns the same access for this process.
func (g *Garden) access(name, server string) (string, *rest.Config, error) {
	path := g.path(name + ".kubeconfig")
	kubeconfig := clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {Server: server, CertificateAuthorityData: g.keys.ca.CertificatePEM}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {ClientCertificateData: g.keys.admin.CertificatePEM,
			ClientKeyData: g.keys.admin.PrivateKeyPEM}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}
	if err := clientcmd.WriteToFile(kubeconfig, path); err != nil {
		return "", nil, err
	}
	config, err := clientcmd.NewDefaultClientConfig(kubeconfig, nil).ClientConfig()
	if err != nil {
		return "", nil, err
	}
	config.QPS, config.Burst = 200, 400
	config.Dial = g.Network.DialContext
	return path, config, nil
}

// start starts the cluster and waits until it is ready.
func (c *Cluster) start(ctx context.Context) error {
	if err := c.apiServer.Start(); err != nil {
		return err
	}
	if err := waitReady(ctx, c.apiServer, c.Config); err != nil {
		return err
	}
	return c.controllerManager.Start()
}

// waitReady waits until an API server is ready. It fails at once if the process ends.
func waitReady(ctx context.Context, process *landscape.Process, config *rest.Config) error {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	err = wait.PollUntilContextTimeout(ctx, readyPeriod, readyTimeout, true, func(ctx context.Context) (bool, error) {
		_, failed := clients.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return failed == nil, process.Check()
	})
	if err != nil {
		return fmt.Errorf("%s is not ready: %w; last lines of %s:\n%s", process.Name, err, process.LogFile, process.Tail(20))
	}
	return nil
}

// newNetwork makes the network namespace of the garden.
func newNetwork() (*netns.Namespace, error) {
	network, err := netns.New()
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, cidr := range []string{nodeNetwork, firstPlace.services, firstPlace.played, secondPlace.services, secondPlace.played} {
		lines = append(lines, "route add local "+cidr+" dev lo")
	}
	return network, network.IP(lines...)
}
