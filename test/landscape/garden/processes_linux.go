// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package garden

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"text/template"

	"golang.org/x/sys/unix"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/kubelet"
)

const (
	// nodeFolder is the folder of the node of the seed.
	nodeFolder = "node"

	etcdURL           = "http://127.0.0.1:2379"
	gardenerAPIServer = "https://127.0.0.1:8443"
)

//go:embed config/*.yaml
var configs embed.FS

// process makes a process in the network namespace of the garden, which resolves the names of Services as pods in the seed do.
func (g *Garden) process(name, path string, args ...string) *landscape.Process {
	return &landscape.Process{
		Name: name, Path: path, Args: args, LogFile: g.path("logs", name+".log"), Env: []string{"KUBECONFIG="},
		Prepare: func(*exec.Cmd) error { return g.enter() },
	}
}

// enter moves the current thread to the network of the garden and to the host names of its Services.
func (g *Garden) enter() error {
	if err := g.Network.Enter(); err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	return errors.Join(
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount(g.hostsFile(), "/etc/hosts", "", unix.MS_BIND, ""),
		unix.Mount(g.resolverFile(), "/etc/resolv.conf", "", unix.MS_BIND, ""),
	)
}

// hostsFile is the file that the node of the seed keeps, resolverFile one that names no DNS server.
func (g *Garden) hostsFile() string    { return kubelet.HostsFile(g.path(nodeFolder)) }
func (g *Garden) resolverFile() string { return g.path("resolv.conf") }

func (g *Garden) newEtcd() *landscape.Process {
	return g.process("etcd", g.binaries.Etcd, "--data-dir="+g.path("etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--quota-backend-bytes=8589934592",
		"--listen-client-urls="+etcdURL, "--advertise-client-urls="+etcdURL, "--listen-peer-urls=http://127.0.0.1:2380")
}

func (g *Garden) newAPIServer() *landscape.Process {
	kubeconfig := g.Virtual.Kubeconfig
	return g.process("gardener-apiserver", g.gardener("gardener-apiserver"),
		"--etcd-servers="+etcdURL, "--etcd-prefix=/gardener", "--bind-address=127.0.0.1", "--secure-port=8443", "--cluster-identity=garden",
		"--tls-cert-file="+g.keys.certificate("server"), "--tls-private-key-file="+g.keys.key("server"),
		"--kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--authorization-always-allow-paths=/healthz,/readyz,/livez")
}

// configured makes a process of Gardener with its configuration file.
func (g *Garden) configured(name string) (*landscape.Process, error) {
	path := g.path(name + ".yaml")
	if err := g.render(name+".yaml", path); err != nil {
		return nil, err
	}
	return g.process(name, g.gardener(name), "--config="+path), nil
}

// newGardenlet makes the process of gardenlet.
func (g *Garden) newGardenlet() (*landscape.Process, error) {
	p, err := g.configured("gardenlet")
	if err != nil {
		return nil, err
	}
	p.Env = append(p.Env, "NAMESPACE="+gardenNamespace)
	return p, nil
}

// gardener is the path of one of Gardener's executables.
func (g *Garden) gardener(name string) string {
	return filepath.Join(landscape.Root(), "hack", "bin", name)
}

// render writes a configuration file.
func (g *Garden) render(name, path string) error {
	parsed, err := template.ParseFS(configs, "config/"+name)
	if err != nil {
		return err
	}
	backup, err := codec.Encode(g.options.Backup.Config)
	if err != nil {
		return err
	}
	var content bytes.Buffer
	if err := parsed.Execute(&content, map[string]string{
		"GardenKubeconfig": g.Virtual.Kubeconfig, "SeedKubeconfig": g.Seed.Kubeconfig, "Seed": SeedName, "Provider": ProviderType, "DNS": dnsType,
		"Domain": Domain, "Region": Region, "Nodes": nodeNetwork, "Pods": podNetwork, "Services": serviceNetwork,
		"Backup": string(backup.Raw),
	}); err != nil {
		return err
	}
	return writeFile(path, content.String())
}

// writeFile writes a file that only its owner may read, and the folders above it.
func writeFile(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o600)
}
