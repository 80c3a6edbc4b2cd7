// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package localvolumes runs the provisioner of local volumes as a process.
package localvolumes

import (
	"context"
	"os"
	"path/filepath"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/containers"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

// Name is the name of the provisioner's Deployment, ConfigMap, and service account in the charts.
const Name = "local-volumes-controller"

// provisioner is the name of the container and of the executable.
const provisioner = "local-path-provisioner"

// Start starts the provisioner with the arguments and the files that it has in the control plane, and the permissions that it has in the
// shoot. dir is a folder for its files.
func Start(ctx context.Context, shoot *rest.Config, deployment *appsv1.Deployment, config *corev1.ConfigMap, dir string) (
	*landscape.Process, error) {
	for file, content := range config.Data {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			return nil, err
		}
	}
	if err := rendering.WriteKubeconfig(ctx, shoot, metav1.NamespaceSystem, Name, filepath.Join(dir, "kubeconfig")); err != nil {
		return nil, err
	}
	process, err := containers.Process(deployment, provisioner, filepath.Join(landscape.Root(), "hack", "bin", provisioner),
		map[string]string{"/etc/local-volumes": dir, containers.Kubeconfig: dir})
	if err != nil {
		return nil, err
	}
	process.LogFile = filepath.Join(dir, "log")
	return process, process.Start()
}
