// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/flannel"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/netns"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/hardware"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/images"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	metalboot "github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal/boot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/nameserver"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	servers "github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack/boot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/registry"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/relay"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	guests "github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/boot"
)

const (
	// registryName is the name of the registry of all images of nodes.
	registryName = "registry." + garden.Domain
	// ScriptImage is an image with a shell and the usual programs.
	ScriptImage = "docker.io/rancher/mirrored-library-busybox:1.37.0"
	// bootVersion is the version of the machine image whose template in the vCenter has Debian as its guest.
	bootVersion = "1877.4.0"
	portGroup   = "/DC0/network/DC0_DVPG0"

	// networkUnit configures the static address of a machine of IronCore, as docs/usage/usage.md says.
	networkUnit = "[Match]\nMACAddress=${MAC}\n[Network]\nAddress=${ADDRESS}/${PREFIX}\nGateway=${GATEWAY}\nDNS=${DNS_SERVERS}\n"
)

// balancers are the addresses of the load balancers of the seed that DNS records may have.
var balancers = []string{"10.240.100.1", "10.240.100.2", "10.240.100.3"}

// rackSites are the sites whose machines are at the network of the rack.
var rackSites = []string{Racks, Hall, VC}

// Machinery lets machines of all sites boot, as nodes of the shoot Hybrid.
type Machinery struct {
	// Rack has the machines.
	Rack *hardware.Rack
	// Images is the registry of all images of nodes, whatever registry they name.
	Images *registry.Registry

	servers *servers.Servers
	guests  *guests.Guests
	hosts   *metalboot.Hosts
	relays  []*relay.Relay
}

func (l *Lab) startMachinery() (err error) {
	l.Machinery = &Machinery{}
	if l.Machinery.Images, err = registry.New(filepath.Join(l.options.Dir, "registry"), registryName); err != nil {
		return err
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o600); err != nil {
		return err
	}
	l.Machinery.Rack, err = hardware.NewRack(filepath.Join(l.options.Dir, "rack"))
	return err
}

// openStack is an OpenStack whose servers boot.
func (m *Machinery) openStack(dir string) (bed *openstack.Bed, err error) {
	socket := filepath.Join(dir, "servers.sock")
	m.servers, err = servers.Start(m.Rack, socket)
	return openstack.NewMachinesBed(filepath.Join(dir, "openstack"), socket), err
}

// boot lets the virtual machines of a vCenter boot. Each gets another address, as those that are gone do not give theirs back.
func (m *Machinery) boot(ctx context.Context, v *vcenter.VCenter) (err error) {
	first := m.nodes(VC).Addr().Next()
	last := first.As4()
	last[3] += 40
	if err := m.Rack.ServeDHCP(first, netip.AddrFrom4(last), fmt.Sprintf("option:dns-server,%s", m.Rack.Network.Gateway)); err != nil {
		return err
	}
	m.guests, err = guests.Start(ctx, v, map[string]*hardware.Rack{portGroup: m.Rack})
	return err
}

// makeHosts makes a host of each kind, which boots.
func (m *Machinery) makeHosts(ctx context.Context, inventory *metal.Inventory) error {
	m.hosts = metalboot.Start(inventory, m.Rack)
	for _, site := range []string{Racks, Hall} {
		first := m.nodes(site).Addr().Next().Next()
		if err := inventory.MakePool(ctx, metal.Pool{Name: site, Addresses: []string{first.String() + "-" + first.Next().Next().String()},
			Prefix: m.Rack.Network.Prefix.Bits(), Gateway: m.Rack.Network.Gateway.String()}); err != nil {
			return err
		}
	}
	_, hostsErr := inventory.MakeHosts(ctx, metal.Batch{Prefix: "rack", Count: 1, Labels: map[string]string{"rack": "r1", "size": "s"}})
	_, serversErr := inventory.MakeServers(ctx, metal.Batch{Prefix: "hall", Count: 1, Labels: map[string]string{"hall": "h1", "size": "s"}})
	return errors.Join(hostsErr, serversErr)
}

// nodes are the addresses of the nodes of a site at the network of the rack.
func (m *Machinery) nodes(site string) netip.Prefix {
	base := m.Rack.Network.Prefix.Addr().As4()
	base[3] = byte(64 * (slices.Index(rackSites, site) + 1))
	return netip.PrefixFrom(netip.AddrFrom4(base), 26)
}

// serveNames starts the DNS server, which machines reach.
func (m *Machinery) serveNames(ctx context.Context, dir string) (*nameserver.Server, error) {
	server, err := nameserver.StartAt(ctx, dir, []netip.Addr{m.Rack.Network.Gateway}, garden.Domain)
	if err != nil {
		return server, err
	}
	return server, nameserver.Update(ctx, server.Address, nameserver.Writer, garden.Domain,
		fmt.Sprintf("%s. 300 IN A %s", registryName, m.Rack.Network.Gateway))
}

// set lets the machines of a site use the DNS server and the registry.
func (m *Machinery) set(site *v1alpha1.CloudProfileSite) {
	site.DNSServers = []string{m.Rack.Network.Gateway.String()}
	site.NodeSettings = &v1alpha1.NodeSettings{CABundle: m.Images.Authority,
		RegistryMirrors: []v1alpha1.RegistryMirror{{Upstream: "_default", Endpoints: []string{"https://" + registryName}}}}
}

// connect lets machines reach the registry and, in place of Istio, the API server of the shoot.
func (m *Machinery) connect(ctx context.Context, l *Lab) error {
	listener, err := net.Listen("tcp", net.JoinHostPort(m.Rack.Network.Gateway.String(), "443"))
	if err != nil {
		return err
	}
	m.Images.Serve(listener, (&net.Dialer{}).DialContext)
	if err := images.Put(ctx, m.Images, nodeImages(l.options.Own)); err != nil {
		return err
	}
	own, err := netns.Own()
	if err != nil {
		return err
	}
	defer func() { _ = own.Close() }()
	for _, address := range balancers {
		if err := own.IP(fmt.Sprintf("addr add %s/32 dev lo", address)); err != nil {
			return err
		}
		listener, err := net.Listen("tcp", net.JoinHostPort(address, "443"))
		if err != nil {
			return err
		}
		m.relays = append(m.relays, relay.Start(listener, l.dialShoot))
	}
	return nil
}

// dialShoot connects to the API server of the shoot.
func (l *Lab) dialShoot(ctx context.Context) (net.Conn, error) {
	config, err := l.Seed.ShootConfig(ctx, technicalID(Hybrid))
	if err != nil {
		return nil, err
	}
	return config.Dial(ctx, "tcp", strings.TrimPrefix(config.Host, "https://"))
}

// nodeImages are the images that nodes pull, as Gardener names them, with our executables in a folder. What folder nodes has is played.
func nodeImages(own string) map[string]images.Contents {
	const releases, storage = "europe-docker.pkg.dev/gardener-project/releases/", "registry.k8s.io/sig-storage/"
	bin := filepath.Join(landscape.Root(), "hack", "bin")
	programs := filepath.Join(bin, "machine-programs")
	played := func(names ...string) images.Contents {
		files := map[string]string{}
		for _, name := range names {
			files["/usr/bin/"+name] = filepath.Join(landscape.Root(), "test", "landscape", "garden", "lab", "nodes", name)
		}
		return images.Contents{Programs: images.Base, Files: files, Entrypoint: []string{names[0]}}
	}
	proxy := images.Of(filepath.Join(programs, "kube-proxy"), images.Base...)
	registrar := images.Of(filepath.Join(bin, "csi-registrar"))
	return map[string]images.Contents{
		releases + "gardener/node-agent:" + garden.Version: {
			Files: map[string]string{"/gardener-node-agent": filepath.Join(bin, "gardener-node-agent")}},
		releases + "hyperkube:" + garden.KubernetesVersion:       {Files: map[string]string{"/kubelet": filepath.Join(programs, "kubelet")}},
		releases + "gardener/alpine-conntrack:3.24.1":            {Programs: images.Base},
		releases + "gardener/apiserver-proxy:v0.21.0":            played("apiserver-proxy"),
		releases + "3rd/envoyproxy/envoy:distroless-v1.39.0":     played("envoy", "ready"),
		releases + "gardener/vpn-client:0.51.0":                  played("vpn-client"),
		"registry.k8s.io/pause:3.10":                             {Programs: images.Base, Entrypoint: []string{"sleep", "infinity"}},
		"registry.k8s.io/kube-proxy:" + garden.KubernetesVersion: proxy,
		"registry.k8s.io/coredns/coredns:v1.14.6":                images.Of(filepath.Join(bin, "coredns")),
		storage + "csi-node-driver-registrar:v2.17.0":            registrar,
		storage + "livenessprobe:v2.19.0":                        registrar,
		"registry.k8s.io/csi-vsphere/driver:v3.7.0":              images.Of(filepath.Join(bin, "vsphere-node")),
		"registry.example.com/cinder-csi-plugin-hybrid:v0.1.0-dev": images.Of(filepath.Join(own, "cinder-csi-plugin-hybrid"),
			images.Disks...),
		flannel.Image: flannel.Contents(),
		ScriptImage:   {Programs: append([]string{"/usr/bin/mkdir", "/usr/bin/rm"}, images.Base...), Entrypoint: []string{"sh"}},
	}
}

// Consoles are the last lines of the consoles of all machines, by their names.
func (m *Machinery) Consoles(lines int) map[string]string {
	all := map[string]string{}
	for name, machine := range m.Rack.Machines() {
		all[name] = machine.Console(lines)
	}
	return all
}

func (m *Machinery) stop() {
	for _, r := range m.relays {
		_ = r.Close()
	}
	if m.hosts != nil {
		m.hosts.Stop()
	}
	if m.guests != nil {
		m.guests.Stop()
	}
	_ = m.Images.Stop()
	if m.servers != nil {
		_ = m.servers.Stop()
	}
	if m.Rack != nil {
		_ = m.Rack.Close()
	}
}

// Booting is the shoot of the example with a machine on each site, which boots.
func (s *Shoot) Booting() (*gardencorev1beta1.Shoot, error) {
	shoot, err := s.Object(Cloud, VC, Racks, Hall)
	if err != nil {
		return nil, err
	}
	config, err := codec.Decode[v1alpha1.InfrastructureConfig](shoot.Spec.Provider.InfrastructureConfig)
	if err != nil {
		return nil, err
	}
	racks := slices.IndexFunc(config.Sites, func(site v1alpha1.InfrastructureSite) bool { return site.Name == Racks })
	for i := range config.Sites {
		site := &config.Sites[i]
		if site.Name == Cloud {
			continue
		}
		site.Nodes = []string{s.lab.Machinery.nodes(site.Name).String()}
		if site.Name == Hall {
			site.Metal = config.Sites[racks].Metal.DeepCopy()
			site.Metal.NetworkDataTemplate, site.Metal.IPAM.PoolRef.Name = networkUnit, Hall
		}
	}
	if shoot.Spec.Provider.InfrastructureConfig, err = codec.Encode(config); err != nil {
		return nil, err
	}
	rack := PoolOf(shoot, Pool)
	rack.Machine.Image.Name, rack.Machine.Image.Version = garden.NodeSystem, new(bootVersion)
	rack.Zones, rack.Minimum, rack.Maximum = []string{zones[VC], zones[Racks], zones[Hall]}, 3, 3
	rack.MaxSurge, rack.MaxUnavailable = new(intstr.FromInt32(0)), new(intstr.FromInt32(1)) // There is one host of each kind.
	cloud := rack.DeepCopy()
	cloud.Name, cloud.Machine.Type, cloud.Zones, cloud.Minimum, cloud.Maximum = AlonePool, "tiny", []string{zones[Cloud]}, 1, 1
	shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{*rack, *cloud}
	// Machines are smaller than what Gardener keeps for the system.
	shoot.Spec.Kubernetes.Kubelet = &gardencorev1beta1.KubeletConfig{
		KubeReserved: &gardencorev1beta1.KubeletConfigReserved{CPU: new(resource.MustParse("20m")), Memory: new(resource.MustParse("50Mi")),
			PID: new(resource.MustParse("1k"))},
		EvictionHard: &gardencorev1beta1.KubeletConfigEviction{MemoryAvailable: new("20Mi")},
		EvictionSoft: &gardencorev1beta1.KubeletConfigEviction{MemoryAvailable: new("30Mi")},
	}
	return shoot, nil
}

// errNoAPI means that the API of the shoot cannot be reached yet.
var errNoAPI = errors.New("the shoot has no API server yet")

// ConnectPods creates what is missing of the network of pods in the shoot.
func (s *Shoot) ConnectPods(ctx context.Context) error {
	c := s.lab.ShootClient(s.TechnicalID())
	if c == nil {
		return errNoAPI
	}
	objects, err := flannel.Objects("100.96.0.0/11", "api."+s.name+"."+garden.Project+".internal."+garden.Domain, "443")
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := c.Create(ctx, object); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}
