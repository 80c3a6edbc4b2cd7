// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines_test

import (
	"context"
	"encoding/json"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	staticv1alpha1 "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/hardware"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/statichosts"
)

// ownSite is the site of a host that runs before it is a machine, and afterwards. It is its own.
const (
	ownSite = "own"
	ownHost = "own-1"
	ownMAC  = "02:00:00:00:77:f1"

	// ownProfile is what the CloudProfile says about the site. Its server is that of the inventory.
	ownProfile = `{name: own, region: local, dnsServers: [192.0.2.53],
		metal: {inventory: Static, namespace: ` + metal.Namespace + `, nodeName: Machine},
		zones: [{name: own-1, metal: {hostSelector: {matchLabels: {rack: "7"}}}}]}`
	ownType  = `{name: own, metal: {hostSelector: {matchLabels: {size: s}}}}`
	ownImage = `{name: own, userData: {format: Script}, metal: {osRelease: {id: debian, versionID: "12"}}}`
)

// startOwnHost boots the host, registers it in the inventory, and starts the operator of such hosts.
func (l *machineLab) startOwnHost(ctx context.Context, executables string) error {
	host, err := statichosts.Existing(ownHost, l.nodes(siteNumber(ownSite)).Addr().Next().Next())
	if err != nil {
		return err
	}
	installation, err := host.Installation()
	if err != nil {
		return err
	}
	if l.own, err = l.rack.Install(ownHost, hardware.Options{MAC: ownMAC}); err != nil {
		return err
	}
	if err := l.own.Provision(l.driveOf(ownHost, host.Address.String(), ownMAC, installation)); err != nil {
		return err
	}
	if err := l.own.PowerOn(); err != nil {
		return err
	}
	l.operator = l.inventory.StaticOperator(executables, "static-host-operator", metal.Namespace)
	if err := l.operator.Start(); err != nil {
		return err
	}
	return l.inventory.RegisterHost(ctx, host, metal.Namespace, map[string]string{"rack": "7", "size": "s"}, nil)
}

// driveOf is the config drive of a machine with a static address at the rack's network.
func (l *machineLab) driveOf(name, address, mac string, userData []byte) hardware.Drive {
	return hardware.Drive{
		MetaData: map[string]any{"uuid": "00000000-0000-0000-0000-" + strings.ReplaceAll(mac, ":", ""), "hostname": name, "name": name},
		NetworkData: map[string]any{
			"links": []any{map[string]any{"id": "nic", "type": "phy", "ethernet_mac_address": mac, "mtu": 1500}},
			"networks": []any{map[string]any{"id": "net", "type": "ipv4", "link": "nic", "ip_address": address, "netmask": "255.255.255.0",
				"gateway": l.rack.Network.Gateway.String()}},
			"services": []any{},
		},
		UserData: userData,
	}
}

// waitForOwnHost waits until the host can be a machine.
func (l *machineLab) waitForOwnHost(ctx context.Context) error {
	return l.inventory.WaitForPhase(ctx, joinTime, staticv1alpha1.PhaseAvailable, metal.Namespace, ownHost)
}

// addOwnSite adds the site to the CloudProfile of the Cluster, and its credentials to those of the shoot.
func (l *machineLab) addOwnSite(ctx context.Context) error {
	cluster := &extensionsv1alpha1.Cluster{}
	if err := l.shoot.Seed.Client.Get(ctx, client.ObjectKey{Name: shootName}, cluster); err != nil {
		return err
	}
	profile, config := &gardencorev1beta1.CloudProfile{}, &v1alpha1.CloudProfileConfig{}
	if err := json.Unmarshal(cluster.Spec.CloudProfile.Raw, profile); err != nil {
		return err
	}
	if err := json.Unmarshal(profile.Spec.ProviderConfig.Raw, config); err != nil {
		return err
	}
	site, err := decode[v1alpha1.CloudProfileSite](ownProfile)
	if err != nil {
		return err
	}
	site.Metal.Server, site.TLS, site.Timeouts = l.inventory.Server(), &v1alpha1.TLS{CACert: l.inventory.CA()}, config.Sites[0].Timeouts
	config.Sites = append(config.Sites, site)
	for i := range config.MachineTypes {
		if t := &config.MachineTypes[i]; t.Name == machineTypes[siteNumber(ownSite)] {
			t.Sites, err = with(t.Sites, ownType)
		}
		if err != nil {
			return err
		}
	}
	for i := range config.MachineImages {
		for j := range config.MachineImages[i].Versions {
			if v := &config.MachineImages[i].Versions[j]; v.Version == imageVersion {
				v.CapabilityFlavors[0].Sites, err = with(v.CapabilityFlavors[0].Sites, ownImage)
			}
			if err != nil {
				return err
			}
		}
	}
	zones := &profile.Spec.Regions[0].Zones
	*zones = append(*zones, gardencorev1beta1.AvailabilityZone{Name: site.Zones[0].Name})
	if profile.Spec.ProviderConfig.Raw, err = json.Marshal(config); err != nil {
		return err
	}
	if cluster.Spec.CloudProfile.Raw, err = json.Marshal(profile); err != nil {
		return err
	}
	if err := l.shoot.Seed.Client.Update(ctx, cluster); err != nil {
		return err
	}

	token, err := l.inventory.Token(ctx)
	if err != nil {
		return err
	}
	secret := &corev1.Secret{}
	if err := l.shoot.Seed.Client.Get(ctx, client.ObjectKey{Namespace: shootName, Name: "cloudprovider"}, secret); err != nil {
		return err
	}
	secret.Data[ownSite+".token"] = []byte(token.Token)
	return l.shoot.Seed.Client.Update(ctx, secret)
}

// with returns items and another one, which is written in YAML.
func with[T any](items []T, text string) ([]T, error) {
	item, err := decode[T](text)
	return append(items, item), err
}

func decode[T any](text string) (T, error) {
	var object T
	err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(text, "\t", " ")), &object)
	return object, err
}
