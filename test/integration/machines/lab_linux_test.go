// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/hardware"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal/boot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pki"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/registry"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/relay"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	guests "github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/boot"
)

// controllers are those of kube-controller-manager that run, beside those of the lifecycle of nodes.
var controllers = []string{
	"certificatesigningrequest-signing-controller", "certificatesigningrequest-approving-controller",
	"node-ipam-controller", "serviceaccount-controller", "root-ca-certificate-publisher-controller", "namespace-controller",
	"garbage-collector-controller", "pod-garbage-collector-controller", "deployment-controller", "replicaset-controller",
	"daemonset-controller", "statefulset-controller", "replicationcontroller-controller", "job-controller", "disruption-controller",
	"endpoints-controller", "endpointslice-controller", "endpointslice-mirroring-controller", "resourcequota-controller",
	"persistentvolume-attach-detach-controller", "persistentvolume-binder-controller", "persistentvolume-expander-controller",
	"persistentvolume-protection-controller", "persistentvolumeclaim-protection-controller", "ephemeral-volume-controller",
}

const (
	shootName = "shoot--it--machines"

	// grace is the time after which the node of a kubelet that does not report is unknown.
	grace       = 30 * time.Second
	stopTimeout = time.Minute
	// healthTimeout is when the machine of an unhealthy node is replaced, and for how long a quarantine goes on after its nodes are back.
	healthTimeout = 90 * time.Second
)

// portGroup is the network of virtual machines.
const portGroup = "/DC0/network/DC0_DVPG0"

// machineLab is a seed that is the shoot as well, and what boots: hosts of an inventory, virtual machines of a vCenter, and servers of an
// OpenStack.
type machineLab struct {
	rack      *hardware.Rack
	inventory *metal.Inventory
	hosts     *boot.Hosts
	vcenter   *vcenter.VCenter
	guests    *guests.Guests
	stack     *stack
	// own is the machine of the host that is its owner's.
	own *hardware.Machine
	// operator is that of such hosts.
	operator *landscape.Process
	// names are the names of the hosts and, as soon as there are some, of the virtual machine, and the ID of the server, by site.
	names map[string]string
	// administrator is the key of who uses bastions, and key that of who uses nodes.
	administrator, key ssh.Signer
	shoot              *shoot.Shoot
	// signer signs the certificates of kubelets.
	signer *pki.Authority
	// cloudController is the executable of our cloud-controller-manager, which cloud runs.
	cloudController string
	cloud           *landscape.Process
	// scheduler is kube-scheduler.
	scheduler *landscape.Process
	// images is the registry of all images of nodes, whatever registry they name.
	images *registry.Registry
	relay  *relay.Relay
	// outside is where machines of the shoot reach somebody who is not part of it.
	outside net.Listener
	dir     string
}

// startLab starts everything but the shoot's machines. stop ends what was started, also after an error.
func startLab(ctx context.Context, dir string, progress io.Writer) (*machineLab, error) {
	l := &machineLab{dir: dir}
	return l, l.start(ctx, progress)
}

func (l *machineLab) start(ctx context.Context, progress io.Writer) (err error) {
	if l.rack, err = hardware.NewRack(filepath.Join(l.dir, "rack")); err != nil {
		return err
	}
	binaries, err := shoot.Build(ctx, l.dir, progress)
	if err != nil {
		return err
	}
	if l.signer, err = pki.NewAuthority(); err != nil {
		return err
	}
	if l.administrator, err = newKey(); err != nil {
		return err
	}
	if l.key, err = newKey(); err != nil {
		return err
	}
	if err := l.connectSites(); err != nil {
		return err
	}
	executables := filepath.Dir(binaries.Driver)
	if err := l.serveImages(ctx, executables); err != nil {
		return err
	}
	if err := l.startInventory(ctx); err != nil {
		return err
	}
	if err := l.startOwnHost(ctx, executables); err != nil {
		return err
	}
	if err := l.startVCenter(ctx); err != nil {
		return err
	}
	if l.stack, err = startStack(ctx, l.dir, l.rack, progress); err != nil {
		return err
	}
	l.cloudController = filepath.Join(executables, "cloud-controller-manager-hybrid")
	return l.startSeed(ctx, binaries)
}

// startVCenter starts a vCenter whose virtual machines are in the network of the hosts. DHCP is what gives addresses there.
func (l *machineLab) startVCenter(ctx context.Context) (err error) {
	dir := filepath.Join(l.dir, "vcenter")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if l.vcenter, err = vcenter.Start(ctx, dir, vcenter.Options{Machines: true}); err != nil {
		return err
	}
	// Each virtual machine gets another address, as those that are gone do not give theirs back.
	first := l.nodes(siteNumber(shoot.VSphereSite)).Addr().Next()
	last := first.As4()
	last[3] += 40
	if err := l.rack.ServeDHCP(first, netip.AddrFrom4(last)); err != nil {
		return err
	}
	l.guests, err = guests.Start(ctx, l.vcenter, map[string]*hardware.Rack{portGroup: l.rack})
	return err
}

func (l *machineLab) startInventory(ctx context.Context) (err error) {
	l.inventory, err = metal.Start(ctx, metal.Options{Dir: filepath.Join(l.dir, "inventory"), Metal3: true, IronCore: true, IPAM: true})
	if err != nil {
		return err
	}
	if err := l.inventory.InstallStatic(ctx); err != nil {
		return err
	}
	if err := l.inventory.Grant(ctx); err != nil {
		return err
	}
	l.hosts = boot.Start(l.inventory, l.rack)
	// All sites are at one network, and each has addresses of its own in it, whose first one is kept for a gateway.
	for n, site := range shoot.MetalSites {
		first := l.nodes(n).Addr().Next().Next()
		if err := l.inventory.MakePool(ctx, metal.Pool{
			Name: site, Addresses: []string{first.String() + "-" + first.Next().Next().Next().Next().String()},
			Prefix: l.rack.Network.Prefix.Bits(), Gateway: l.rack.Network.Gateway.String(),
		}); err != nil {
			return err
		}
	}
	hosts, err := l.inventory.MakeHosts(ctx, metal.Batch{Prefix: "rack", Count: 1, Labels: map[string]string{"rack": "r1", "size": "s"}})
	if err != nil {
		return err
	}
	servers, err := l.inventory.MakeServers(ctx, metal.Batch{Prefix: "hall", Count: 1, Labels: map[string]string{"hall": "h1", "size": "s"}})
	if err != nil {
		return err
	}
	l.names = map[string]string{shoot.MetalSites[0]: hosts[0], shoot.MetalSites[1]: servers[0]}
	return nil
}

// nodes has the addresses of the nodes of a site.
func (l *machineLab) nodes(site int) netip.Prefix {
	if sites[site] == shoot.Sites[0] {
		return stackNodes
	}
	base := l.rack.Network.Prefix.Addr().As4()
	base[3] = byte(64 * ((site + 1) % len(sites)))
	return netip.PrefixFrom(netip.AddrFrom4(base), 26)
}

// startSeed starts the cluster so that kubelets can join: it trusts their certificates, which kube-controller-manager signs, and its own
// certificate is for the address at which the machines reach it.
func (l *machineLab) startSeed(ctx context.Context, binaries landscape.Binaries) error {
	dir := filepath.Join(l.dir, "seed")
	// That is the default of machine-controller-manager: on a slow computer six machines at once need more than ten minutes.
	seed, err := landscape.New(landscape.Options{Dir: dir, Namespace: shootName, Binaries: binaries, NodeGrace: grace,
		DriverArgs: []string{"--machine-creation-timeout=20m"}})
	if err != nil {
		return err
	}
	l.shoot = &shoot.Shoot{Name: shootName, Seed: seed, Inventory: l.inventory, VCenter: l.vcenter,
		Access: [2]openstack.Credentials{l.stack.access}}
	keys := filepath.Join(dir, "keys")
	trusted, err := os.ReadFile(filepath.Join(keys, "clients.crt"))
	if err != nil {
		return err
	}
	own, err := l.signer.Client("kube-apiserver", user.SystemPrivilegedGroup)
	if err != nil {
		return err
	}
	files := map[string]string{"all-clients.crt": string(trusted) + l.signer.PEM, "kubelets.crt": l.signer.PEM, "kubelets.key": l.signer.Key,
		"apiserver-kubelet.crt": own.Certificate, "apiserver-kubelet.key": own.Key}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(keys, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	// Pods have the tokens of their service accounts.
	server := slices.DeleteFunc(seed.Cluster.APIServer.Args, func(arg string) bool {
		return strings.HasPrefix(arg, "--disable-admission-plugins=")
	})
	seed.Cluster.APIServer.Args = append(server, "--advertise-address="+l.rack.Network.Gateway.String(), "--endpoint-reconciler-type=lease",
		"--enable-bootstrap-token-auth", "--authorization-mode=Node", "--client-ca-file="+filepath.Join(keys, "all-clients.crt"),
		"--kubelet-preferred-address-types=InternalIP", "--kubelet-client-certificate="+filepath.Join(keys, "apiserver-kubelet.crt"),
		"--kubelet-client-key="+filepath.Join(keys, "apiserver-kubelet.key"))
	seed.NodeLifecycle.Args = append(seed.NodeLifecycle.Args, "--controllers="+strings.Join(controllers, ","),
		"--cluster-signing-cert-file="+filepath.Join(keys, "kubelets.crt"), "--cluster-signing-key-file="+filepath.Join(keys, "kubelets.key"),
		"--root-ca-file="+filepath.Join(keys, "apiserver.crt"), "--allocate-node-cidrs", "--cluster-cidr="+podRange,
		"--attach-detach-reconcile-sync-period=2s", "--pvclaimbinder-sync-period=2s")
	if err := seed.StartCluster(ctx); err != nil {
		return err
	}
	if err := l.allowJoining(ctx); err != nil {
		return err
	}
	if err := l.startRelay(); err != nil {
		return err
	}
	if err := l.startScheduler(binaries); err != nil {
		return err
	}
	return seed.StartControllers()
}

// allowJoining lets who has a bootstrap token ask for the certificate of a node, and approves that.
func (l *machineLab) allowJoining(ctx context.Context) error {
	for _, role := range []string{"system:node-bootstrapper", "system:certificates.k8s.io:certificatesigningrequests:nodeclient"} {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "bootstrap-"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:bootstrappers"}},
		}
		if err := l.shoot.Seed.Client.Create(ctx, binding); err != nil {
			return err
		}
	}
	return nil
}

// server is the address of the cluster for machines.
func (l *machineLab) server() string {
	return "https://" + l.relay.Addr().String()
}

// startScheduler starts kube-scheduler.
func (l *machineLab) startScheduler(binaries landscape.Binaries) error {
	access := l.shoot.Seed.Cluster.Kubeconfig
	l.scheduler = &landscape.Process{Name: "kube-scheduler", Path: binaries.KubeScheduler, LogFile: filepath.Join(l.dir, "kube-scheduler.log"),
		Args: []string{"--kubeconfig=" + access, "--authentication-kubeconfig=" + access, "--authorization-kubeconfig=" + access,
			"--secure-port=0", "--leader-elect=false"}}
	return l.scheduler.Start()
}

// startRelay lets the machines reach the cluster, which listens on loopback alone, at the port that the Service of Kubernetes has.
func (l *machineLab) startRelay() error {
	address, err := url.Parse(l.shoot.Seed.Cluster.Config.Host)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(l.rack.Network.Gateway.String(), address.Port()))
	if err != nil {
		return err
	}
	l.relay = relay.Start(listener, relay.To(address.Host))
	return nil
}

// startCloudController starts our cloud-controller-manager for all sites, whose Infrastructure is reconciled.
func (l *machineLab) startCloudController(ctx context.Context, infrastructure *extensionsv1alpha1.Infrastructure) error {
	token, err := l.inventory.Token(ctx)
	if err != nil {
		return err
	}
	dir := filepath.Join(l.dir, "credentials")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	credentials := map[string]string{shoot.VSphereSite + ".username": vcenter.Username, shoot.VSphereSite + ".password": vcenter.Password}
	config := &v1alpha1.CloudControllerManagerConfiguration{Shoot: shootName, Region: "local", DefaultSite: shoot.MetalSites[0]}
	inventories := map[string]v1alpha1.MetalInventory{shoot.MetalSites[0]: v1alpha1.MetalInventoryMetal3,
		shoot.MetalSites[1]: v1alpha1.MetalInventoryIronCore, ownSite: v1alpha1.MetalInventoryStatic}
	for n, site := range sites {
		inventory, ok := inventories[site]
		if !ok {
			continue
		}
		config.Sites = append(config.Sites, v1alpha1.CloudControllerSite{Name: site, Metal: &v1alpha1.MetalCloudController{
			Connection: v1alpha1.MetalConnection{Inventory: inventory, Server: l.inventory.Server(), Namespace: metal.Namespace,
				TLS: &v1alpha1.TLS{CACert: l.inventory.CA()}},
			Zones: []v1alpha1.MetalCloudControllerZone{{Name: zones[n], HostSelector: &metav1.LabelSelector{MatchLabels: selectors[site]}}},
		}})
		credentials[site+".token"] = token.Token
	}
	virtual, err := l.virtualSite(infrastructure)
	if err != nil {
		return err
	}
	config.Sites = append(config.Sites, virtual, l.stack.site())
	for key, value := range l.stack.access.SiteCredentials() {
		credentials[shoot.Sites[0]+"."+key] = value
	}
	for name, content := range credentials {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	raw, err := codec.Encode(config)
	if err != nil {
		return err
	}
	file := filepath.Join(l.dir, "cloud-config.json")
	if err := os.WriteFile(file, raw.Raw, 0o600); err != nil {
		return err
	}
	l.cloud = &landscape.Process{
		Name: "cloud-controller-manager", Path: l.cloudController, LogFile: filepath.Join(l.dir, "cloud-controller-manager.log"),
		Args: []string{
			"--kubeconfig=" + l.shoot.Seed.Cluster.Kubeconfig, "--cloud-config=" + file, "--credentials-directory=" + dir,
			"--bind-address=127.0.0.1", "--secure-port=0", "--node-monitor-period=1s", "--node-status-update-frequency=5s", "--v=1",
		}}
	return l.cloud.Start()
}

// virtualSite is the vSphere site for the cloud-controller-manager.
func (l *machineLab) virtualSite(infrastructure *extensionsv1alpha1.Infrastructure) (v1alpha1.CloudControllerSite, error) {
	site := v1alpha1.CloudControllerSite{Name: shoot.VSphereSite, VSphere: &v1alpha1.VSphereCloudController{
		Connection: v1alpha1.VSphereConnection{Server: "https://" + l.vcenter.Address, TLS: &v1alpha1.TLS{CACert: l.vcenter.CA}}}}
	status := &v1alpha1.InfrastructureStatus{}
	if err := json.Unmarshal(infrastructure.Status.ProviderStatus.Raw, status); err != nil {
		return site, err
	}
	for _, s := range status.Sites {
		if s.VSphere == nil {
			continue
		}
		site.VSphere.Connection.InstanceUUID = s.VSphere.InstanceUUID
		for _, zone := range s.VSphere.Zones {
			site.VSphere.Zones = append(site.VSphere.Zones, v1alpha1.VSphereCloudControllerZone{Name: zone.Name,
				ComputeCluster: zone.ComputeCluster, ResourcePool: zone.ResourcePool, Folder: zone.Folder})
		}
	}
	return site, nil
}

// machine is the machine of a site, or of peerPool, nil if there is none.
func (l *machineLab) machine(site string) *hardware.Machine {
	switch site {
	case ownSite:
		return l.own
	case shoot.VSphereSite:
		return l.guests.Machine(l.names[site])
	case shoot.Sites[0], peerPool:
		return l.stack.servers.Machine(l.names[site])
	}
	return l.hosts.Machine(l.names[site])
}

// node is the only node of a pool, nil if there is none.
func (l *machineLab) node(ctx context.Context, pool string) (*corev1.Node, error) {
	nodes := &corev1.NodeList{}
	if err := l.shoot.Seed.Client.List(ctx, nodes, client.MatchingLabels{shoot.PoolLabel: pool}); err != nil || len(nodes.Items) == 0 {
		return nil, err
	}
	return &nodes.Items[0], nil
}

// cutPower lets a machine lose its power and boot again: the operators of hosts switch them on, and vCenter and Nova reset theirs.
func (l *machineLab) cutPower(ctx context.Context, site string) error {
	switch site {
	case shoot.MetalSites[0], shoot.MetalSites[1]:
		l.machine(site).CutPower()
		return nil
	case ownSite:
		return l.own.Reset()
	case shoot.Sites[0], peerPool:
		return l.stack.inspector.Reset(ctx, l.names[site])
	}
	vsphere, err := l.vcenter.Client(ctx)
	if err != nil {
		return err
	}
	found, err := vcenter.NewWatch(l.vcenter, l.names[site]).Hardware(ctx)
	if err != nil || len(found) != 1 {
		return fmt.Errorf("there are %d virtual machines %s: %w", len(found), l.names[site], err)
	}
	task, err := object.NewVirtualMachine(vsphere, types.ManagedObjectReference{Type: "VirtualMachine", Value: found[0].ID}).Reset(ctx)
	if err != nil {
		return err
	}
	return task.Wait(ctx)
}

// virtualMachines are the virtual machines of the shoot in the vCenter.
func (l *machineLab) virtualMachines(ctx context.Context) (map[string]vcenter.Machine, error) {
	return vcenter.NewWatch(l.vcenter, shootName).Machines(ctx)
}

// contains returns whether an address is one of the nodes of a site.
func (l *machineLab) contains(site int) func(string) bool {
	return func(text string) bool {
		address, err := netip.ParseAddr(text)
		return err == nil && l.nodes(site).Contains(address)
	}
}

// isOnDisk reports whether a machine wrote a text to its disk. Most of the file of a disk are holes, which are not read.
func (l *machineLab) isOnDisk(machine *hardware.Machine, text string) (bool, error) {
	disk, err := os.Open(machine.Disk())
	if err != nil {
		return false, err
	}
	defer func() { _ = disk.Close() }()
	for end := int64(0); ; {
		begin, err := unix.Seek(int(disk.Fd()), end, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return false, nil
		} else if err != nil {
			return false, err
		}
		if end, err = unix.Seek(int(disk.Fd()), begin, unix.SEEK_HOLE); err != nil {
			return false, err
		}
		content, err := io.ReadAll(io.NewSectionReader(disk, begin, end-begin))
		if err != nil || bytes.Contains(content, []byte(text)) {
			return err == nil, err
		}
	}
}

// processes are those that a failed spec shows.
func (l *machineLab) processes() []*landscape.Process {
	if l == nil || l.shoot == nil {
		return nil
	}
	processes := append(l.shoot.Seed.Processes(), l.inventory.Processes()...)
	for _, process := range []*landscape.Process{l.scheduler, l.cloud, l.operator} {
		if process != nil {
			processes = append(processes, process)
		}
	}
	return processes
}

// processesOf are those of the seed whose names contain one of some texts.
func (l *machineLab) processesOf(texts ...string) []*landscape.Process {
	return slices.DeleteFunc(l.shoot.Seed.Processes(), func(p *landscape.Process) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(p.Name, text) })
	})
}

func (l *machineLab) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	for _, process := range []*landscape.Process{l.scheduler, l.cloud, l.operator} {
		if process != nil {
			process.Stop(ctx)
		}
	}
	if l.shoot != nil {
		l.shoot.Stop()
	}
	if l.images != nil {
		_ = l.images.Stop()
	}
	if l.relay != nil {
		_ = l.relay.Close()
	}
	if l.outside != nil {
		_ = l.outside.Close()
	}
	if l.hosts != nil {
		l.hosts.Stop()
	}
	if l.guests != nil {
		l.guests.Stop()
	}
	if l.vcenter != nil {
		l.vcenter.Stop(ctx)
	}
	err := l.stack.stop(ctx)
	if l.rack != nil {
		err = errors.Join(err, l.rack.Close())
	}
	if l.inventory != nil {
		l.inventory.Stop()
	}
	return err
}
