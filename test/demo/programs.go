// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"path/filepath"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pods"
)

// executables are what runs as the containers of the control plane's Deployments, in hack/bin. All other containers are only reported
// to run: the simulated vCenter has no volumes, and the CSI driver for vSphere ends without them.
var executables = map[string]map[string]string{
	"cloud-controller-manager": {"cloud-controller-manager-hybrid": "cloud-controller-manager-hybrid"},
	"csi-snapshot-controller":  {"csi-snapshot-controller": "snapshot-controller"},
	"csi-cinder-controller": {
		"cinder-csi-plugin": "cinder-csi-plugin-hybrid",
		"csi-provisioner":   "csi-provisioner", "csi-attacher": "csi-attacher", "csi-resizer": "csi-resizer",
		"csi-snapshotter": "csi-snapshotter",
	},
	"local-volumes-controller": {"local-path-provisioner": "local-path-provisioner"},
}

func programs() []pods.Program {
	var result []pods.Program
	for deployment, containers := range executables {
		for container, name := range containers {
			path := filepath.Join(landscape.Root(), "hack", "bin", name)
			result = append(result, pods.Program{Deployment: deployment, Container: container, Path: path})
		}
	}
	return result
}

// startSeedNode plays the node that the pods of the control plane run on, and begins to watch the shoot's nodes.
func (d *demo) startSeedNode(ctx context.Context) error {
	if err := landscape.InstallCRDs(ctx, d.landscape.Cluster.Config, "10-crd-monitoring.coreos.com_prometheusrules.yaml",
		"10-crd-monitoring.coreos.com_servicemonitors.yaml"); err != nil {
		return err
	}
	if err := d.landscape.Cluster.CreateGenericKubeconfig(ctx, d.landscape.Client, namespace); err != nil {
		return err
	}
	dir, err := landscape.CacheDir("demo")
	if err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(d.landscape.Cluster.Config)
	if err != nil {
		return err
	}
	d.programs = programs()
	d.seed = &pods.Node{Client: d.landscape.Client, Namespace: namespace, Dir: dir, Programs: d.programs, Log: logr.Discard()}
	if err := d.seed.Start(ctx); err != nil {
		return err
	}
	d.joins = watchJoins(clients)
	d.startSampling()
	return nil
}
