// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines_test

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"slices"
	"text/template"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"golang.org/x/crypto/ssh"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
)

var (
	// sites are the sites of the shoot, and zones and machine types are theirs.
	sites        = [5]string{shoot.MetalSites[0], shoot.MetalSites[1], shoot.VSphereSite, shoot.Sites[0], ownSite}
	zones        = [5]string{"rack-1", "hall-1", "vc-1", "cloud-a", "own-1"}
	machineTypes = [5]string{"small", "small", "small", "tiny", "small"}
	// selectors are those of the zones of bare metal.
	selectors = map[string]map[string]string{shoot.MetalSites[0]: {"rack": "r1"}, shoot.MetalSites[1]: {"hall": "h1"}, ownSite: {"rack": "7"}}
	// networkData configures the static address of a machine, as docs/usage/usage.md says, for each inventory.
	networkData = [2]string{`{
		"links": [{"id": "nodes", "type": "phy", "ethernet_mac_address": "${MAC}"}],
		"networks": [{"id": "nodes", "link": "nodes", "type": "ipv4", "ip_address": "${ADDRESS}/${PREFIX}", "gateway": "${GATEWAY}",
			"dns_nameservers": ${DNS_SERVERS_JSON}}],
		"services": []}`,
		"[Match]\nMACAddress=${MAC}\n[Network]\nAddress=${ADDRESS}/${PREFIX}\nGateway=${GATEWAY}\nDNS=${DNS_SERVERS}\n",
	}
)

// peerPool has another machine at the OpenStack site.
const peerPool = "peer"

// pool is a pool of the shoot with one machine.
type pool struct{ name, zone, machineType string }

// pools are a pool on each site, and peerPool.
func pools() []pool {
	var all []pool
	for n, site := range sites {
		all = append(all, pool{name: site, zone: zones[n], machineType: machineTypes[n]})
	}
	return append(all, pool{name: peerPool, zone: zones[siteNumber(shoot.Sites[0])], machineType: machineTypes[siteNumber(shoot.Sites[0])]})
}

// imageVersion is the version of the machine image whose template in the vCenter has Debian as its guest.
const imageVersion = "1877.4.0"

// mark is on the disk of a machine that was a node.
const mark = "mark-of-a-node-2c1f7e"

// nodeScript makes a machine a node.
//
//go:embed node.sh.tmpl
var nodeScript string

// createShoot creates what gardenlet creates: a shoot with pools on all sites.
func (l *machineLab) createShoot(ctx context.Context) error {
	if err := l.shoot.CreateCluster(ctx, func(site *v1alpha1.CloudProfileSite) {
		// No machine is replaced while a spec lets it come back.
		site.Timeouts = &v1alpha1.MachineTimeouts{Health: &metav1.Duration{Duration: healthTimeout}}
	}); err != nil {
		return err
	}
	if err := l.addOwnSite(ctx); err != nil {
		return err
	}
	infrastructure, err := l.shoot.Infrastructure()
	if err != nil {
		return err
	}
	config := &v1alpha1.InfrastructureConfig{}
	if err := json.Unmarshal(infrastructure.Spec.ProviderConfig.Raw, config); err != nil {
		return err
	}
	config.Sites = slices.DeleteFunc(config.Sites, func(s v1alpha1.InfrastructureSite) bool { return siteNumber(s.Name) < 0 })
	config.Sites = append(config.Sites, v1alpha1.InfrastructureSite{Name: ownSite})
	racks := slices.IndexFunc(config.Sites, func(s v1alpha1.InfrastructureSite) bool { return s.Name == shoot.MetalSites[0] })
	for i := range config.Sites {
		n, site := siteNumber(config.Sites[i].Name), &config.Sites[i]
		site.Nodes = []string{l.nodes(n).String()}
		if n >= len(shoot.MetalSites) {
			continue
		}
		if i != racks {
			site.Metal = config.Sites[racks].Metal.DeepCopy()
		}
		site.Metal.NetworkDataTemplate, site.Metal.IPAM.PoolRef.Name = networkData[n], site.Name
	}
	if infrastructure.Spec.ProviderConfig.Raw, err = json.Marshal(config); err != nil {
		return err
	}
	if err := l.changeCluster(ctx, infrastructure.Spec.ProviderConfig); err != nil {
		return err
	}
	infrastructure.Spec.SSHPublicKey = ssh.MarshalAuthorizedKey(l.key.PublicKey())
	if err := l.shoot.Create(ctx, infrastructure); err != nil {
		return err
	}
	if err := l.routeToServers(ctx, infrastructure); err != nil {
		return err
	}
	if err := l.startCloudController(ctx, infrastructure); err != nil {
		return err
	}
	if err := l.createSystem(ctx); err != nil {
		return err
	}
	worker, err := l.shoot.Worker(infrastructure)
	if err != nil {
		return err
	}
	if err := l.waitForOwnHost(ctx); err != nil {
		return err
	}
	return l.createPools(ctx, worker)
}

// createPools creates the pools. The driver makes an Ignition config of the script where hosts want one.
func (l *machineLab) createPools(ctx context.Context, worker *extensionsv1alpha1.Worker) error {
	script, err := l.script(mark)
	if err != nil {
		return err
	}
	first := worker.Spec.Pools[0]
	worker.Spec.Pools = nil
	for _, wanted := range pools() {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "user-data-" + wanted.name, Namespace: shootName},
			Data: map[string][]byte{"script": script}}
		if err := l.shoot.Seed.Client.Create(ctx, secret); err != nil {
			return err
		}
		p := *first.DeepCopy()
		p.Name, p.MachineType, p.Zones, p.Minimum, p.Maximum = wanted.name, wanted.machineType, []string{wanted.zone}, 1, 1
		p.MaxSurge, p.MaxUnavailable = intstr.FromInt32(0), intstr.FromInt32(1) // There is one host.
		p.MachineImage.Version = imageVersion
		p.Labels[shoot.PoolLabel] = wanted.name
		p.UserDataSecretRef.Name = secret.Name
		worker.Spec.Pools = append(worker.Spec.Pools, p)
	}
	return l.shoot.Create(ctx, worker)
}

// script is the user data that makes a machine a node with a mark on its disk.
func (l *machineLab) script(mark string) ([]byte, error) {
	parsed, err := template.New("node").Parse(nodeScript)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = parsed.Execute(&out, map[string]string{
		"CA": string(l.shoot.Seed.Cluster.Config.CAData), "Clients": l.signer.PEM, "Server": l.server(),
		"Gateway": l.rack.Network.Gateway.String(), "Mark": mark, "User": nodeUser, "Key": string(ssh.MarshalAuthorizedKey(l.key.PublicKey())),
		"Registry": l.images.Host, "RegistryCA": l.images.Authority, "DNS": dnsAddress,
	})
	return out.Bytes(), err
}

// changeCluster lets the Shoot of the Cluster have the sites and pools that it has.
func (l *machineLab) changeCluster(ctx context.Context, config *runtime.RawExtension) error {
	return l.changeShoot(ctx, func(object *gardencorev1beta1.Shoot) (err error) {
		object.Spec.Provider.InfrastructureConfig = config
		first := object.Spec.Provider.Workers[0]
		object.Spec.Provider.Workers = nil
		for _, wanted := range pools() {
			p := *first.DeepCopy()
			p.Name, p.Machine.Type, p.Zones, p.Minimum, p.Maximum = wanted.name, wanted.machineType, []string{wanted.zone}, 1, 1
			p.Machine.Image.Version = new(imageVersion)
			p.MaxSurge, p.MaxUnavailable = new(intstr.FromInt32(0)), new(intstr.FromInt32(1))
			object.Spec.Provider.Workers = append(object.Spec.Provider.Workers, p)
		}
		object.Spec.Provider.ControlPlaneConfig.Raw, err = json.Marshal(&v1alpha1.ControlPlaneConfig{
			TypeMeta:    metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "ControlPlaneConfig"},
			DefaultSite: shoot.MetalSites[0],
		})
		return err
	})
}

// changeShoot changes the Shoot of the Cluster.
func (l *machineLab) changeShoot(ctx context.Context, change func(*gardencorev1beta1.Shoot) error) error {
	cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: shootName}}
	if err := l.shoot.Seed.Client.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); err != nil {
		return err
	}
	object := &gardencorev1beta1.Shoot{}
	if err := json.Unmarshal(cluster.Spec.Shoot.Raw, object); err != nil {
		return err
	}
	if err := change(object); err != nil {
		return err
	}
	var err error
	if cluster.Spec.Shoot.Raw, err = json.Marshal(object); err != nil {
		return err
	}
	return l.shoot.Seed.Client.Update(ctx, cluster)
}

// reconcileInfrastructure does what gardenlet does, and waits.
func (l *machineLab) reconcileInfrastructure(ctx context.Context) error {
	all := &extensionsv1alpha1.InfrastructureList{}
	if err := l.shoot.Seed.Client.List(ctx, all, client.InNamespace(shootName)); err != nil {
		return err
	}
	infrastructure := &all.Items[0]
	before, since := infrastructure.DeepCopy(), time.Now()
	metav1.SetMetaDataAnnotation(&infrastructure.ObjectMeta, v1beta1constants.GardenerOperation, v1beta1constants.GardenerOperationReconcile)
	metav1.SetMetaDataAnnotation(&infrastructure.ObjectMeta, v1beta1constants.GardenerTimestamp, since.UTC().Format(time.RFC3339Nano))
	if err := l.shoot.Seed.Client.Patch(ctx, infrastructure, client.MergeFrom(before)); err != nil {
		return err
	}
	return l.shoot.Reconciled(ctx, infrastructure, since)
}

// siteNumber is the index of a site in sites, negative if it is none of them.
func siteNumber(name string) int {
	return slices.Index(sites[:], name)
}
