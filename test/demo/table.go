// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const poolLabel = "worker.gardener.cloud/pool"

// table is one row for each machine, and one for each server without a machine.
func (d *demo) table(ctx context.Context) []string {
	machines, classes := &machinev1alpha1.MachineList{}, &machinev1alpha1.MachineClassList{}
	if err := d.landscape.Client.List(ctx, machines, client.InNamespace(namespace)); err != nil {
		return d.screen.last()
	}
	if err := d.landscape.Client.List(ctx, classes, client.InNamespace(namespace)); err != nil {
		return d.screen.last()
	}
	servers, err := d.servers(ctx)
	if err != nil {
		return d.screen.last()
	}

	byName := map[string]machinev1alpha1.MachineClass{}
	for _, class := range classes.Items {
		byName[class.Name] = class
	}
	var rows [][]string
	for _, m := range machines.Items {
		rows = append(rows, row(m, byName[m.Spec.Class.Name], servers))
	}
	for _, s := range servers {
		rows = append(rows, []string{"", "", "", s.name, "(no machine)", s.status, strings.Join(s.addresses, ","), ""})
	}
	if len(rows) == 0 {
		return nil
	}
	slices.SortFunc(rows, slices.Compare)
	return columns(slices.Insert(rows, 0, []string{"SITE", "ZONE", "POOL", "MACHINE", "PHASE", "SERVER", "ADDRESS", "PROVIDERID"}))
}

// row describes a machine and removes its server from servers.
func row(m machinev1alpha1.Machine, class machinev1alpha1.MachineClass, servers map[string]server) []string {
	spec := v1alpha1.MachineProviderSpec{}
	_ = json.Unmarshal(class.ProviderSpec.Raw, &spec) // a class that is gone or malformed leaves the site empty
	zone := ""
	if class.NodeTemplate != nil {
		zone = class.NodeTemplate.Zone
	}
	id := path.Base(m.Spec.ProviderID)
	found := servers[id]
	delete(servers, id)
	phase := string(m.Status.CurrentStatus.Phase)
	if phase == "" {
		phase = "New"
	}
	return []string{
		spec.Site, zone, m.Spec.NodeTemplateSpec.Labels[poolLabel], strings.TrimPrefix(m.Name, namespace+"-"), phase,
		orDash(found.status), orDash(strings.Join(found.addresses, ",")), orDash(m.Spec.ProviderID),
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
