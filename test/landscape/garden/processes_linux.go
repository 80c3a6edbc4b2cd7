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
	"strconv"
	"text/template"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/runtime"

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

// process makes a process in the network namespace of the garden, which resolves the names of Services as pods in the first seed do.
func (g *Garden) process(name, path string, args ...string) *landscape.Process {
	return g.processIn(firstPlace.name, name, path, args...)
}

// processIn makes a process that resolves the names of Services as pods in a seed do.
func (g *Garden) processIn(seed, name, path string, args ...string) *landscape.Process {
	return &landscape.Process{
		Name: name, Path: path, Args: args, LogFile: g.path("logs", name+".log"), Env: []string{"KUBECONFIG="},
		Prepare: func(*exec.Cmd) error { return g.enter(seed) },
	}
}

// enter moves the current thread to the network of the garden and to the host names of the Services of a seed.
func (g *Garden) enter(seed string) error {
	if err := g.Network.Enter(); err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	return errors.Join(
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount(kubelet.HostsFile(g.nodeDir(seed)), "/etc/hosts", "", unix.MS_BIND, ""),
		unix.Mount(g.resolverFile(), "/etc/resolv.conf", "", unix.MS_BIND, ""),
	)
}

// nodeDir is the folder of the node of a seed, resolverFile a file that names no DNS server.
func (g *Garden) nodeDir(seed string) string {
	if seed == firstPlace.name {
		return g.path(nodeFolder)
	}
	return g.path(nodeFolder + "-" + seed)
}

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
	if err := g.render(name+".yaml", path, map[string]string{"GardenKubeconfig": g.Virtual.Kubeconfig}); err != nil {
		return nil, err
	}
	return g.process(name, g.gardener(name), "--config="+path), nil
}

// newGardenlet makes the process of the gardenlet of a seed.
func (g *Garden) newGardenlet(p place, seed *Cluster) (*landscape.Process, error) {
	backup := &runtime.RawExtension{}
	if !g.options.Foreign {
		var err error
		if backup, err = codec.Encode(g.options.Backups[p.name].Config); err != nil {
			return nil, err
		}
	}
	name := "gardenlet-" + p.name
	path := g.path(name + ".yaml")
	if err := g.render("gardenlet.yaml", path, map[string]string{
		"GardenKubeconfig": g.Virtual.Kubeconfig, "SeedKubeconfig": seed.Kubeconfig, "Seed": p.name, "Provider": g.seedType(), "DNS": g.dnsType(),
		"Domain": Domain, "Region": Region, "Nodes": nodeNetwork, "Pods": p.pods, "Services": p.services, "Backup": string(backup.Raw),
		"Health": strconv.Itoa(p.health), "Metrics": strconv.Itoa(p.metrics), "Visible": strconv.FormatBool(p.visible),
		"States": strconv.Itoa(p.states),
	}); err != nil {
		return nil, err
	}
	process := g.processIn(p.name, name, g.gardener("gardenlet"), "--config="+path)
	process.Env = append(process.Env, "NAMESPACE="+gardenNamespace)
	if g.options.Registry != nil {
		process.Env = append(process.Env, "SSL_CERT_FILE="+g.registryAuthority())
	}
	return process, nil
}

// gardener is the path of one of Gardener's executables.
func (g *Garden) gardener(name string) string {
	return filepath.Join(landscape.Root(), "hack", "bin", name)
}

// render writes a configuration file.
func (g *Garden) render(name, path string, values map[string]string) error {
	parsed, err := template.ParseFS(configs, "config/"+name)
	if err != nil {
		return err
	}
	var content bytes.Buffer
	if err := parsed.Execute(&content, values); err != nil {
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
