// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package workerplan

import (
	"context"
	"fmt"

	"github.com/Masterminds/semver/v3"
	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/component/extensions/operatingsystemconfig"
	"github.com/gardener/gardener/pkg/component/extensions/worker"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
)

// userData is the name of the Secret with the user data of all pools in a copy of the seed. Neither its name nor the user data determine
// the name of a machine class.
const userData = "user-data"

// deployWorker writes the Worker of the Shoot, and the user data of its pools, with gardenlet's code. The agents are the names of the
// Secrets of gardener-node-agent by pool, from which the names of machine classes are derived.
func deployWorker(ctx context.Context, seed client.Client, cluster *extensionscontroller.Cluster, agents map[string]string,
	existing *extensionsv1alpha1.Worker, infrastructure *runtime.RawExtension) (*extensionsv1alpha1.Worker, error) {
	shoot := cluster.Shoot.DeepCopy()
	version, err := semver.NewVersion(shoot.Spec.Kubernetes.Version)
	if err != nil {
		return nil, fmt.Errorf("spec.kubernetes.version of the Shoot: %w", err)
	}
	configs := map[string]*operatingsystemconfig.OperatingSystemConfigs{}
	for name, agent := range agents {
		configs[name] = &operatingsystemconfig.OperatingSystemConfigs{
			Init: operatingsystemconfig.Data{GardenerNodeAgentSecretName: agent, SecretName: new(userData)},
		}
	}
	namespace := cluster.ObjectMeta.Name
	deployer := worker.New(logr.Discard(), seed, &worker.Values{
		Namespace:           namespace,
		Name:                shoot.Name,
		Type:                shoot.Spec.Provider.Type,
		Region:              shoot.Spec.Region,
		Workers:             shoot.Spec.Provider.Workers,
		KubernetesVersion:   version,
		KubeletConfig:       shoot.Spec.Kubernetes.Kubelet,
		MachineTypes:        cluster.CloudProfile.Spec.MachineTypes,
		NodeLocalDNSEnabled: v1beta1helper.IsNodeLocalDNSEnabled(shoot.Spec.SystemComponents),
	}, 0, 0, 0)
	if existing != nil {
		deployer.SetSSHPublicKey(existing.Spec.SSHPublicKey)
	}
	deployer.SetInfrastructureProviderStatus(infrastructure)
	deployer.SetWorkerPoolNameToOperatingSystemConfigsMap(configs)
	if err := deployer.Deploy(ctx); err != nil {
		return nil, fmt.Errorf("writing the Worker: %w", err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: userData, Namespace: namespace},
		Data:       map[string][]byte{extensionsv1alpha1.OperatingSystemConfigSecretDataKey: []byte("not known")},
	}
	if err := seed.Create(ctx, secret); err != nil {
		return nil, fmt.Errorf("writing the user data: %w", err)
	}
	return deployer.Get(ctx)
}

// agentsOf returns the names of the Secrets of gardener-node-agent by pool, as gardenlet computes them.
func agentsOf(shoot *gardencorev1beta1.Shoot) (map[string]string, error) {
	version, err := semver.NewVersion(shoot.Spec.Kubernetes.Version)
	if err != nil {
		return nil, fmt.Errorf("spec.kubernetes.version of the Shoot: %w", err)
	}
	var rotation *gardencorev1beta1.ShootCredentialsRotation
	if shoot.Status.Credentials != nil {
		rotation = shoot.Status.Credentials.Rotation
	}
	kubeProxy := shoot.Spec.Kubernetes.KubeProxy
	if kubeProxy == nil {
		kubeProxy = &gardencorev1beta1.KubeProxyConfig{}
	}
	agents := map[string]string{}
	for i := range shoot.Spec.Provider.Workers {
		pool := &shoot.Spec.Provider.Workers[i]
		if pool.Machine.Image == nil || pool.Machine.Image.Version == nil {
			return nil, fmt.Errorf("pool %q has no version of the machine image, which is only known after the Shoot was created", pool.Name)
		}
		if v1beta1helper.IsUpdateStrategyInPlace(pool.UpdateStrategy) {
			agents[pool.Name] = "gardener-node-agent-" + pool.Name
			continue
		}
		ofPool, err := v1beta1helper.CalculateEffectiveKubernetesVersion(version, pool.Kubernetes)
		if err != nil {
			return nil, fmt.Errorf("kubernetes.version of pool %q: %w", pool.Name, err)
		}
		agents[pool.Name] = operatingsystemconfig.Key(ofPool, rotation, pool,
			v1beta1helper.IsNodeLocalDNSEnabled(shoot.Spec.SystemComponents),
			v1beta1helper.CalculateEffectiveKubeletConfiguration(shoot.Spec.Kubernetes.Kubelet, pool.Kubernetes), kubeProxy)
	}
	return agents, nil
}

// agentOf returns the name of the Secret of gardener-node-agent that the pool of an existing Worker has, empty if there is none.
func agentOf(w *extensionsv1alpha1.Worker, pool string) string {
	if w == nil {
		return ""
	}
	found := lists.Find(w.Spec.Pools, func(p *extensionsv1alpha1.WorkerPool) bool { return p.Name == pool })
	if found == nil || found.NodeAgentSecretName == nil {
		return ""
	}
	return *found.NodeAgentSecretName
}
