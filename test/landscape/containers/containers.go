// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package containers runs containers of a shoot's control plane as processes, with the arguments and the variables that they have in the
// charts.
package containers

import (
	"fmt"
	"os"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// Kubeconfig is the folder of the shoot's kubeconfig in containers. The file is named kubeconfig.
const Kubeconfig = "/var/run/secrets/gardener.cloud/shoot/generic-kubeconfig"

// Process returns the process of a container of a Deployment, which is not started and has no LogFile. path is the executable. folders are
// those of this machine by the paths of the container's mounts, whose places they take. Ports of the container become free ones of
// the loopback interface. Variables without a value of their own are left out.
func Process(deployment *appsv1.Deployment, name, path string, folders map[string]string) (*landscape.Process, error) {
	all := deployment.Spec.Template.Spec.Containers
	i := slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("deployment %s has no container %s", deployment.Name, name)
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("%w: hack/landscape/build.sh builds it", err)
	}
	var pairs []string
	for mount, folder := range folders {
		pairs = append(pairs, mount+"/", folder+"/")
	}
	mounts := strings.NewReplacer(pairs...)
	ports, err := landscape.FreePorts(len(all[i].Ports))
	if err != nil {
		return nil, err
	}
	local := func(text string) string {
		text = mounts.Replace(text)
		for j, port := range all[i].Ports {
			flag, found := strings.CutSuffix(text, fmt.Sprint(port.ContainerPort))
			switch {
			case found && strings.HasSuffix(flag, "=:"):
				return fmt.Sprintf("%s127.0.0.1:%d", strings.TrimSuffix(flag, ":"), ports[j])
			case found && strings.HasSuffix(flag, "port="):
				return fmt.Sprint(flag, ports[j])
			}
		}
		return text
	}
	process := &landscape.Process{Name: name, Path: path}
	for _, arg := range slices.Concat(all[i].Command[min(1, len(all[i].Command)):], all[i].Args) {
		process.Args = append(process.Args, local(arg))
	}
	for _, variable := range all[i].Env {
		if variable.Value != "" {
			process.Env = append(process.Env, variable.Name+"="+local(variable.Value))
		}
	}
	return process, nil
}
