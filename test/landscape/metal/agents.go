// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

const agentInterval = 300 * time.Millisecond

// playAgents plays what metal-operator works with, but is no part of it: the operator that prepares what a server boots, and the
// agent that a server boots once so that it is known what it consists of. What fails is tried again.
func (i *Inventory) playAgents(ctx context.Context, registry string) {
	ticker := time.NewTicker(agentInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			_ = i.prepareBoots(ctx)
			_ = i.registerServers(ctx, registry)
		}
	}
}

// prepareBoots says that what servers boot is prepared.
func (i *Inventory) prepareBoots(ctx context.Context) error {
	boots, err := i.list(ctx, ironCore, kindBoot)
	if err != nil {
		return err
	}
	for n := range boots {
		if text(&boots[n], "status", "state") == "Ready" {
			continue
		}
		if err := i.patchStatus(ctx, &boots[n], map[string]any{"state": "Ready"}); err != nil {
			return err
		}
	}
	return nil
}

// registerServers tells the operator's registry what the servers consist of that run the agent.
func (i *Inventory) registerServers(ctx context.Context, registry string) error {
	servers, err := i.list(ctx, ironCore, kindServer)
	if err != nil {
		return err
	}
	for n := range servers {
		if text(&servers[n], "status", "state") != "Discovery" || text(&servers[n], "status", "powerState") != "On" {
			continue
		}
		if err := register(ctx, registry, text(&servers[n], "spec", "systemUUID")); err != nil {
			return err
		}
	}
	return nil
}

func register(ctx context.Context, registry, uuid string) error {
	body, err := json.Marshal(map[string]any{"systemUUID": uuid, "data": map[string]any{
		"timestamp": time.Now().UTC().Format(time.RFC3339),
		"networkInterfaces": []map[string]any{{
			"name": "eth0", "ipAddresses": []string{"10.0.0.5"}, "macAddress": macOf(uuid), "carrierStatus": "up",
		}},
	}})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, registry+"/register", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("register %s: %s", uuid, response.Status)
	}
	return nil
}

// patchStatus merges fields into the status of an object.
func (i *Inventory) patchStatus(ctx context.Context, o client.Object, status map[string]any) error {
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	return i.Client.Status().Patch(ctx, o, client.RawPatch(mergePatch, patch))
}

// patch merges fields into an object.
func (i *Inventory) patch(ctx context.Context, o client.Object, fields map[string]any) error {
	patch, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	return i.Client.Patch(ctx, o, client.RawPatch(mergePatch, patch))
}
