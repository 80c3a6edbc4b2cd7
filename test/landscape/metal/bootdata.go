// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// cleaningDisabled is the cleaning mode in which what a host had on its disks stays there.
const cleaningDisabled = "disabled"

// System is what is on a host, and what the host shall do with it.
type System struct {
	// Host is the name of the host, MAC the address of its network card.
	Host, MAC string
	// ID tells what was provisioned from what was provisioned before. It is empty if nothing is.
	ID string
	// On is whether the host is powered on.
	On bool
	// Keep is whether the disk keeps what was on it while nothing is provisioned.
	Keep bool
	// MetaData, NetworkData and UserData are what the system is told. NetworkData is nil if nobody configures its network.
	MetaData, NetworkData map[string]any
	UserData              []byte
}

// Systems returns what is on all hosts.
func (i *Inventory) Systems(ctx context.Context) ([]System, error) {
	var systems []System
	for _, find := range []func(context.Context) ([]System, error){i.systemsOfHosts, i.systemsOfServers} {
		found, err := find(ctx)
		if err != nil {
			return nil, fmt.Errorf("look at the hosts: %w", err)
		}
		systems = append(systems, found...)
	}
	return systems, nil
}

// systemsOfHosts are the systems of BareMetalHosts. They are told what baremetal-operator lets Ironic write to their config drives.
func (i *Inventory) systemsOfHosts(ctx context.Context) ([]System, error) {
	if i.Metal3 == nil {
		return nil, nil
	}
	hosts, err := i.list(ctx, metal3, kindHost, client.InNamespace(Namespace))
	if err != nil {
		return nil, err
	}
	var systems []System
	for n := range hosts {
		host := &hosts[n]
		s := System{
			Host: host.GetName(), MAC: text(host, "spec", "bootMACAddress"),
			Keep: text(host, "spec", "automatedCleaningMode") == cleaningDisabled,
		}
		if text(host, "status", "provisioning", "state") == provisioned {
			s.ID = consumerOf(host) + "@" + text(host, "status", "operationHistory", "provision", "start")
			s.On = is(host, "spec", "online") && is(host, "status", "poweredOn")
			if err := i.addConfigDrive(ctx, host, &s); err != nil {
				return nil, err
			}
		}
		systems = append(systems, s)
	}
	return systems, nil
}

// addConfigDrive adds what is on the config drive, as getConfigDrive of baremetal-operator's provisioner for Ironic does.
func (i *Inventory) addConfigDrive(ctx context.Context, host *unstructured.Unstructured, s *System) error {
	secret := func(field string) ([]byte, error) {
		return i.secret(ctx, text(host, "spec", field, "name"), field, "value")
	}
	var err error
	if s.UserData, err = secret("userData"); err != nil {
		return err
	}
	network, err := secret("networkData")
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(network, &s.NetworkData); err != nil {
		return fmt.Errorf("network data of %s: %w", host.GetName(), err)
	}
	meta, err := secret("metaData")
	if err != nil {
		return err
	}
	s.MetaData = map[string]any{
		"uuid": string(host.GetUID()), "metal3-namespace": host.GetNamespace(), "metal3-name": host.GetName(),
		"local-hostname": host.GetName(), "local_hostname": host.GetName(), "name": host.GetName(),
	}
	if err := yaml.Unmarshal(meta, &s.MetaData); err != nil {
		return fmt.Errorf("metadata of %s: %w", host.GetName(), err)
	}
	return nil
}

// systemsOfServers are the systems of Servers. They fetch the Ignition config of their claim.
func (i *Inventory) systemsOfServers(ctx context.Context) ([]System, error) {
	if i.IronCore == nil {
		return nil, nil
	}
	servers, err := i.list(ctx, ironCore, kindServer)
	if err != nil {
		return nil, err
	}
	claims, err := i.Claims(ctx)
	if err != nil {
		return nil, err
	}
	var systems []System
	for n := range servers {
		server := &servers[n]
		uuid := text(server, "spec", "systemUUID")
		// Nothing is erased, except that who lets a retained server go erases it before, see Clean.
		cleaned := text(server, "spec", "reclaimPolicy") == "Retain" && text(server, "status", "state") == stateAvailable
		s := System{Host: server.GetName(), MAC: macOf(uuid), Keep: !cleaned}
		claim, claimed := claims[text(server, "spec", "serverClaimRef", "name")]
		// Claims begin without an Ignition config, and powered off.
		if ignition := text(&claim, "spec", "ignitionSecretRef", "name"); claimed && ignition != "" {
			s.ID, s.MetaData = string(claim.GetUID()), map[string]any{"uuid": uuid}
			s.On = text(server, "status", "state") == "Reserved" && text(server, "status", "powerState") == "On"
			if s.UserData, err = i.secret(ctx, ignition, "ignition"); err != nil {
				return nil, err
			}
		}
		systems = append(systems, s)
	}
	return systems, nil
}

// secret reads the first of the keys that a Secret has. A Secret that is not there is empty.
func (i *Inventory) secret(ctx context.Context, name string, keys ...string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	secret := &corev1.Secret{}
	if err := i.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name}, secret); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	for _, key := range keys {
		if value, ok := secret.Data[key]; ok {
			return value, nil
		}
	}
	return nil, nil
}
