// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"path/filepath"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// stateAvailable is the state of servers that can be claimed.
const stateAvailable = "Available"

// MakeServers makes Servers with a process that is their BMCs, waits until they are available and returns their names.
func (i *Inventory) MakeServers(ctx context.Context, batch Batch) ([]string, error) {
	ports, err := landscape.FreePorts(batch.Count)
	if err != nil {
		return nil, err
	}
	process := &landscape.Process{Name: "bmcs-" + batch.Prefix, Path: i.binaries.BMCs,
		LogFile: filepath.Join(i.dir, "logs", "bmcs-"+batch.Prefix+".log")}
	for _, port := range ports {
		process.Args = append(process.Args, address(port)+"="+uuid.NewString())
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	i.mutex.Lock()
	i.bmcs = append(i.bmcs, process)
	i.mutex.Unlock()

	secret := object(ironCore, kindBMCSecret, "", batch.Prefix)
	secret.Object["stringData"] = map[string]any{"username": "admin", "password": "secret"}
	if err := i.Client.Create(ctx, secret); err != nil {
		return nil, err
	}
	bmcs := map[string]bool{}
	for n, port := range ports {
		bmc := object(ironCore, kindBMC, "", fmt.Sprintf("%s-%d", batch.Prefix, n+1))
		bmc.SetLabels(maps.Clone(batch.Labels))
		bmc.Object["spec"] = map[string]any{
			"access":       map[string]any{"ip": "127.0.0.1"},
			"bmcSecretRef": map[string]any{"name": secret.GetName()},
			"protocol":     map[string]any{"name": "Redfish", "port": int64(port)},
		}
		if err := i.Client.Create(ctx, bmc); err != nil {
			return nil, err
		}
		bmcs[bmc.GetName()] = true
	}
	names, err := i.waitForServersOf(ctx, bmcs)
	if err != nil || !batch.Retain {
		return names, err
	}
	for _, name := range names {
		if err := i.patch(ctx, object(ironCore, kindServer, "", name),
			map[string]any{"spec": map[string]any{"reclaimPolicy": "Retain"}}); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// waitForServersOf waits until the servers of BMCs are available and returns their names.
func (i *Inventory) waitForServersOf(ctx context.Context, bmcs map[string]bool) ([]string, error) {
	var names []string
	err := until(ctx, availableTimeout, fmt.Sprintf("%d servers are available", len(bmcs)), func(ctx context.Context) (bool, error) {
		servers, err := i.list(ctx, ironCore, kindServer)
		names = nil
		for n := range servers {
			if bmcs[text(&servers[n], "spec", "bmcRef", "name")] && text(&servers[n], "status", "state") == stateAvailable {
				names = append(names, servers[n].GetName())
			}
		}
		return len(names) == len(bmcs), err
	})
	return names, err
}

// Servers returns the Servers by name.
func (i *Inventory) Servers(ctx context.Context) (map[string]Host, error) {
	objects, err := i.list(ctx, ironCore, kindServer)
	servers := map[string]Host{}
	for n := range objects {
		server := &objects[n]
		servers[server.GetName()] = Host{
			Name: server.GetName(), Labels: server.GetLabels(), State: text(server, "status", "state"),
			On: text(server, "status", "powerState") == "On", Consumer: consumerOf(server),
		}
	}
	return servers, err
}

// WaitForServers waits until Servers have a state.
func (i *Inventory) WaitForServers(ctx context.Context, state string, names ...string) error {
	return until(ctx, availableTimeout, fmt.Sprintf("servers %v are %s", names, state), func(ctx context.Context) (bool, error) {
		servers, err := i.Servers(ctx)
		for _, name := range names {
			if servers[name].State != state {
				return false, err
			}
		}
		return true, err
	})
}

// Clean does what someone does with a retained server after its claim is gone: it wipes the server and lets it go.
func (i *Inventory) Clean(ctx context.Context, name string) error {
	if err := i.WaitForServers(ctx, "Released", name); err != nil {
		return err
	}
	if err := i.patch(ctx, object(ironCore, kindServer, "", name), map[string]any{"spec": map[string]any{"serverClaimRef": nil}}); err != nil {
		return err
	}
	return i.WaitForServers(ctx, stateAvailable, name)
}

// Claims returns the server claims by name.
func (i *Inventory) Claims(ctx context.Context) (map[string]unstructured.Unstructured, error) {
	objects, err := i.list(ctx, ironCore, kindServerClaim, client.InNamespace(Namespace))
	claims := map[string]unstructured.Unstructured{}
	for _, claim := range objects {
		claims[claim.GetName()] = claim
	}
	return claims, err
}

// macOf is the MAC address of the server with a UUID.
func macOf(uuid string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(uuid))
	return mac(hash.Sum32())
}
