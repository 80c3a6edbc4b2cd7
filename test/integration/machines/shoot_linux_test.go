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

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
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
	sites        = [4]string{shoot.MetalSites[0], shoot.MetalSites[1], shoot.VSphereSite, shoot.Sites[0]}
	zones        = [4]string{"rack-1", "hall-1", "vc-1", "cloud-a"}
	machineTypes = [4]string{"small", "small", "small", "tiny"}
	// selectors are those of shoot.MetalSites.
	selectors = [2]map[string]string{{"rack": "r1"}, {"hall": "h1"}}
	// networkData configures the static address of a machine, as docs/usage/usage.md says, for each inventory.
	networkData = [2]string{`{
		"links": [{"id": "nodes", "type": "phy", "ethernet_mac_address": "${MAC}"}],
		"networks": [{"id": "nodes", "link": "nodes", "type": "ipv4", "ip_address": "${ADDRESS}/${PREFIX}", "gateway": "${GATEWAY}",
			"dns_nameservers": ${DNS_SERVERS_JSON}}],
		"services": []}`,
		"[Match]\nMACAddress=${MAC}\n[Network]\nAddress=${ADDRESS}/${PREFIX}\nGateway=${GATEWAY}\nDNS=${DNS_SERVERS}\n",
	}
)

// imageVersion is the version of the machine image whose template in the vCenter has Debian as its guest.
const imageVersion = "1877.4.0"

// mark is on the disk of a machine that was a node.
const mark = "mark-of-a-node-2c1f7e"

// nodeScript makes a machine a node.
//
//go:embed node.sh.tmpl
var nodeScript string

// createShoot creates what gardenlet creates: a shoot with a pool on each site.
func (l *machineLab) createShoot(ctx context.Context) error {
	if err := l.shoot.CreateCluster(ctx, func(site *v1alpha1.CloudProfileSite) {
		// No machine is replaced while a spec lets it come back.
		site.Timeouts = &v1alpha1.MachineTimeouts{Health: &metav1.Duration{Duration: healthTimeout}}
	}); err != nil {
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
	if err := l.shoot.Create(ctx, infrastructure); err != nil {
		return err
	}
	if err := l.startCloudController(ctx, infrastructure); err != nil {
		return err
	}
	worker, err := l.shoot.Worker(infrastructure)
	if err != nil {
		return err
	}
	return l.createPools(ctx, worker)
}

// createPools creates a pool on each site. The driver makes an Ignition config of the script where hosts want one.
func (l *machineLab) createPools(ctx context.Context, worker *extensionsv1alpha1.Worker) error {
	script, err := l.script()
	if err != nil {
		return err
	}
	first := worker.Spec.Pools[0]
	worker.Spec.Pools = nil
	for n, site := range sites {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "user-data-" + site, Namespace: shootName},
			Data: map[string][]byte{"script": script}}
		if err := l.shoot.Seed.Client.Create(ctx, secret); err != nil {
			return err
		}
		p := *first.DeepCopy()
		p.Name, p.MachineType, p.Zones, p.Minimum, p.Maximum = site, machineTypes[n], []string{zones[n]}, 1, 1
		p.MaxSurge, p.MaxUnavailable = intstr.FromInt32(0), intstr.FromInt32(1) // There is one host.
		p.MachineImage.Version = imageVersion
		p.Labels[shoot.PoolLabel] = site
		p.UserDataSecretRef.Name = secret.Name
		worker.Spec.Pools = append(worker.Spec.Pools, p)
	}
	return l.shoot.Create(ctx, worker)
}

// script is the user data that makes a machine a node.
func (l *machineLab) script() ([]byte, error) {
	parsed, err := template.New("node").Parse(nodeScript)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = parsed.Execute(&out, map[string]string{
		"CA": string(l.shoot.Seed.Cluster.Config.CAData), "Clients": l.signer.PEM, "Server": l.server(),
		"Gateway": l.rack.Network.Gateway.String(), "Mark": mark,
	})
	return out.Bytes(), err
}

// changeCluster lets the Shoot of the Cluster have the sites and pools that it has.
func (l *machineLab) changeCluster(ctx context.Context, config *runtime.RawExtension) error {
	cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: shootName}}
	if err := l.shoot.Seed.Client.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); err != nil {
		return err
	}
	object := &gardencorev1beta1.Shoot{}
	if err := json.Unmarshal(cluster.Spec.Shoot.Raw, object); err != nil {
		return err
	}
	object.Spec.Provider.InfrastructureConfig = config
	first := object.Spec.Provider.Workers[0]
	object.Spec.Provider.Workers = nil
	for n, site := range sites {
		p := *first.DeepCopy()
		p.Name, p.Machine.Type, p.Zones, p.Minimum, p.Maximum = site, machineTypes[n], []string{zones[n]}, 1, 1
		p.Machine.Image.Version = new(imageVersion)
		p.MaxSurge, p.MaxUnavailable = new(intstr.FromInt32(0)), new(intstr.FromInt32(1))
		object.Spec.Provider.Workers = append(object.Spec.Provider.Workers, p)
	}
	var err error
	if object.Spec.Provider.ControlPlaneConfig.Raw, err = json.Marshal(&v1alpha1.ControlPlaneConfig{
		TypeMeta:    metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "ControlPlaneConfig"},
		DefaultSite: shoot.MetalSites[0],
	}); err != nil {
		return err
	}
	if cluster.Spec.Shoot.Raw, err = json.Marshal(object); err != nil {
		return err
	}
	return l.shoot.Seed.Client.Update(ctx, cluster)
}

// siteNumber is the index of a site in sites, negative if it is none of them.
func siteNumber(name string) int {
	return slices.Index(sites[:], name)
}
