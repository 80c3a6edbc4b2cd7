// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"path/filepath"
	"time"

	resourcemanagerconfigv1alpha1 "github.com/gardener/gardener/pkg/apis/config/resourcemanager/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	componentbaseconfigv1alpha1 "k8s.io/component-base/config/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pki"
)

const (
	// managedResourcePeriod is the shortest that gardener-resource-manager takes.
	managedResourcePeriod = 15 * time.Second
	resourceHealthPeriod  = 15 * time.Second
	criticalBackoff       = time.Second
)

// ResourceManagerOptions say what a gardener-resource-manager is for.
type ResourceManagerOptions struct {
	// Source and Target are the kubeconfigs of the cluster with ManagedResources, and of the one that these are applied to.
	Source, Target string
	// Class is that of the ManagedResources.
	Class string
	// Ports are those of health probes, metrics and webhooks.
	Ports []int
}

// WriteResourceManagerConfig writes the configuration of gardener-resource-manager into a folder and returns its path. No API server
// knows its webhooks.
func WriteResourceManagerConfig(folder string, o ResourceManagerOptions) (string, error) {
	authority, err := pki.NewAuthority()
	if err != nil {
		return "", err
	}
	pair, err := authority.Server("gardener-resource-manager")
	if err != nil {
		return "", err
	}
	for name, content := range map[string]string{"tls.crt": pair.Certificate, "tls.key": pair.Key} {
		if err := writeFile(filepath.Join(folder, name), content); err != nil {
			return "", err
		}
	}

	connection := func(kubeconfig string) resourcemanagerconfigv1alpha1.ClientConnection {
		return resourcemanagerconfigv1alpha1.ClientConnection{
			ClientConnectionConfiguration: componentbaseconfigv1alpha1.ClientConnectionConfiguration{Kubeconfig: kubeconfig, QPS: 200, Burst: 400},
		}
	}
	server := func(port int) resourcemanagerconfigv1alpha1.Server {
		return resourcemanagerconfigv1alpha1.Server{BindAddress: "127.0.0.1", Port: port}
	}
	config := resourcemanagerconfigv1alpha1.ResourceManagerConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: resourcemanagerconfigv1alpha1.SchemeGroupVersion.String(),
			Kind: "ResourceManagerConfiguration"},
		SourceClientConnection: connection(o.Source),
		TargetClientConnection: new(connection(o.Target)),
		LeaderElection:         componentbaseconfigv1alpha1.LeaderElectionConfiguration{LeaderElect: new(false)},
		Server: resourcemanagerconfigv1alpha1.ServerConfiguration{
			HealthProbes: new(server(o.Ports[0])),
			Metrics:      new(server(o.Ports[1])),
			Webhooks: resourcemanagerconfigv1alpha1.HTTPSServer{Server: server(o.Ports[2]),
				TLS: resourcemanagerconfigv1alpha1.TLSServer{ServerCertDir: folder}},
		},
		LogLevel: "info", LogFormat: "text",
		Controllers: resourcemanagerconfigv1alpha1.ResourceManagerControllerConfiguration{
			ResourceClass:    &o.Class,
			GarbageCollector: resourcemanagerconfigv1alpha1.GarbageCollectorControllerConfig{Enabled: true},
			Health:           resourcemanagerconfigv1alpha1.HealthControllerConfig{SyncPeriod: &metav1.Duration{Duration: resourceHealthPeriod}},
			ManagedResource: resourcemanagerconfigv1alpha1.ManagedResourceControllerConfig{
				SyncPeriod: &metav1.Duration{Duration: managedResourcePeriod}},
			NodeCriticalComponents: resourcemanagerconfigv1alpha1.NodeCriticalComponentsControllerConfig{Enabled: true,
				Backoff: &metav1.Duration{Duration: criticalBackoff}},
			TokenRequestor: resourcemanagerconfigv1alpha1.TokenRequestorControllerConfig{Enabled: true},
		},
	}
	content, err := yaml.Marshal(config)
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "config.yaml")
	return path, writeFile(path, string(content))
}
