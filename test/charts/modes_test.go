// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package charts_test

import "maps"

const (
	provider    = "gardener-extension-provider-hybrid"
	runtimePart = "gardener-extension-admission-hybrid/charts/runtime"
	application = "gardener-extension-admission-hybrid/charts/application"

	// withoutOperator is the mode of an installation with helm into a cluster that has nothing of Gardener.
	withoutOperator = "the webhooks in a garden without gardener-operator"
)

// mode is a chart with the values that an installation has.
type mode struct {
	chart     string
	namespace string
	// gardener is what Gardener sets.
	gardener map[string]any
	// values are what the operator sets.
	values map[string]any
}

// all are the values together.
func (m mode) all() map[string]any {
	values := maps.Clone(m.values)
	if values == nil {
		values = map[string]any{}
	}
	for key, value := range m.gardener {
		values[key] = value
	}
	return values
}

var (
	everything = map[string]any{
		"image": "registry.example.com/some:v1", "imagePullPolicy": "Always", "replicaCount": 2, "podLabels": map[string]any{"team": "a"},
		"logLevel": "debug", "logFormat": "text", "disableControllers": []any{"worker"}, "disableWebhooks": []any{"network"},
		"imageVectorOverwrite": "images:\n- name: some\n  repository: registry.example.com/some\n  tag: v1\n",
		"metricsPort":          9090, "healthPort": 9091, "webhooks": map[string]any{"serverPort": 9443, "servicePort": 8443},
		"controllers": map[string]any{"ignoreOperationAnnotation": true, "worker": map[string]any{"concurrentSyncs": 7}},
		"resources": map[string]any{"requests": map[string]any{"cpu": 0.5, "memory": "1Gi"},
			"limits": map[string]any{"cpu": 2, "memory": "2Gi"}},
		"vpa": map[string]any{"resourcePolicy": map[string]any{"minAllowed": map[string]any{"cpu": 0.1, "memory": "128Mi"}},
			"updatePolicy": map[string]any{"updateMode": "Recreate"}},
	}
	nothing = map[string]any{"vpa": map[string]any{"enabled": false}, "metrics": map[string]any{"enableScraping": false}, "resources": nil}

	seed = map[string]any{"gardener": map[string]any{
		"version": "v1.149.3", "gardenlet": map[string]any{"featureGates": map[string]any{"SomeGate": true}},
		"garden": map[string]any{"clusterIdentity": "garden", "genericKubeconfigSecretName": "generic-garden-kubeconfig-1"},
		"seed":   map[string]any{"name": "seed", "provider": "hybrid", "region": "west", "spec": map[string]any{"settings": map[string]any{}}},
	}}
	garden = map[string]any{"gardener": map[string]any{"runtimeCluster": map[string]any{"enabled": "true",
		"priorityClassName": "gardener-garden-system-200"}}}
	selfHosted = map[string]any{"usablePorts": []any{30001, 30002, 30003, 30004, 30005}, "gardener": map[string]any{
		"version": "v1.149.3", "selfHostedShootCluster": true, "garden": map[string]any{"clusterIdentity": "garden"},
		"gardenlet": map[string]any{"featureGates": map[string]any{}}, "shoot": map[string]any{"name": "own", "namespace": "garden"},
	}}
	// promoted is a self-hosted shoot that was made a seed.
	promoted = map[string]any{"gardener": map[string]any{
		"version": "v1.149.3", "selfHostedShootCluster": true, "garden": map[string]any{"clusterIdentity": "garden"},
		"gardenlet": map[string]any{"featureGates": map[string]any{}}, "shoot": map[string]any{"name": "own", "namespace": "garden"},
		"seed": map[string]any{"name": "own", "provider": "hybrid", "region": "west", "spec": map[string]any{"settings": map[string]any{}}},
	}}
	admissionRuntime = map[string]any{"gardener": map[string]any{
		"runtimeCluster": map[string]any{"priorityClassName": "gardener-garden-system-400"},
		"virtualCluster": map[string]any{"enabled": true, "namespace": "extension-provider-hybrid"},
	}}
	admissionApplication = map[string]any{"gardener": map[string]any{"virtualCluster": map[string]any{
		"enabled": true, "serviceAccount": map[string]any{"name": "extension-admission-provider-hybrid", "namespace": "kube-system"},
	}}}

	modes = map[string]mode{
		"the extension by default": {chart: provider, namespace: "extension-default"},
		"the extension in a seed":  {chart: provider, namespace: "extension-provider-hybrid-abcde", gardener: seed},
		"the extension in a seed with everything": {chart: provider, namespace: "extension-everything", gardener: seed,
			values: everything},
		"the extension in a seed with as little as possible": {chart: provider, namespace: "extension-nothing", gardener: seed, values: nothing},
		"the extension in a garden": {chart: provider, namespace: "runtime-extension-provider-hybrid",
			gardener: garden},
		"the extension in a garden with everything": {chart: provider, namespace: "runtime-everything", gardener: garden,
			values: everything},
		"the extension in a self-hosted shoot":                {chart: provider, namespace: "extension-self-hosted", gardener: selfHosted},
		"the extension in a self-hosted shoot that is a seed": {chart: provider, namespace: "extension-promoted", gardener: promoted},
		"the webhooks by default":                             {chart: runtimePart, namespace: "garden-default"},
		"the webhooks in a garden": {chart: runtimePart, namespace: "garden", gardener: admissionRuntime,
			values: map[string]any{"image": "some:v1"}},
		withoutOperator: {chart: runtimePart, namespace: "garden-plain", values: map[string]any{
			"gardenKubeconfigSecretName": "garden-kubeconfig", "webhooks": map[string]any{"servicePort": 8443, "mode": "url"}, "replicaCount": 2,
			"service":  map[string]any{"topologyAwareRouting": map[string]any{"enabled": true}},
			"gardener": map[string]any{"runtimeCluster": map[string]any{"priorityClassName": ""}},
			"vpa":      map[string]any{"enabled": false}, "metrics": map[string]any{"enableScraping": false},
		}},
		"the webhooks of a garden that runs elsewhere": {chart: runtimePart, namespace: "garden-elsewhere", values: map[string]any{
			"webhooks": map[string]any{"url": "hybrid.example.com:8443"}, "gardenKubeconfigSecretName": "garden-kubeconfig",
		}},
		"the webhooks in a garden that is one cluster": {chart: runtimePart, namespace: "garden-one",
			values: map[string]any{"webhooks": map[string]any{"mode": "service"}}},
		"the permissions of the webhooks by default": {chart: application, namespace: "virtual-default"},
		"the permissions of the webhooks": {chart: application, namespace: "extension-provider-hybrid",
			gardener: admissionApplication, values: map[string]any{"image": "some:v1"}},
	}
)
