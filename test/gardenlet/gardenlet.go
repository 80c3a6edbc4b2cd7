// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package gardenlet writes what gardenlet writes for a shoot and webhooks change, with gardenlet's own code.
package gardenlet

import (
	"context"
	"net"
	"time"

	"github.com/Masterminds/semver/v3"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	kubernetesclient "github.com/gardener/gardener/pkg/client/kubernetes"
	fakekubernetes "github.com/gardener/gardener/pkg/client/kubernetes/fake"
	"github.com/gardener/gardener/pkg/component"
	"github.com/gardener/gardener/pkg/component/autoscaling/clusterautoscaler"
	"github.com/gardener/gardener/pkg/component/extensions/network"
	"github.com/gardener/gardener/pkg/component/extensions/operatingsystemconfig/original/components"
	"github.com/gardener/gardener/pkg/component/extensions/operatingsystemconfig/original/components/kubelet"
	"github.com/gardener/gardener/pkg/component/kubernetes/controllermanager"
	"github.com/gardener/gardener/pkg/component/nodemanagement/machinecontrollermanager"
	"github.com/gardener/gardener/pkg/controllerutils"
	gardenerimagevector "github.com/gardener/gardener/pkg/utils/imagevector"
	fakesecretsmanager "github.com/gardener/gardener/pkg/utils/secrets/manager/fake"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

const (
	// MachineControllerManager is the name of the Deployment of machine-controller-manager; its VPA has the suffix -vpa.
	MachineControllerManager = v1beta1constants.DeploymentNameMachineControllerManager
	// KubeControllerManager is the name of the Deployment of kube-controller-manager.
	KubeControllerManager = v1beta1constants.DeploymentNameKubeControllerManager
	// ClusterAutoscaler is the name of the Deployment of the cluster-autoscaler.
	ClusterAutoscaler = v1beta1constants.DeploymentNameClusterAutoscaler
	// Pool is the name of the OperatingSystemConfig, which is that of the pool.
	Pool = "mixed"
	// Network is the name of the Network, which is that of the shoot.
	Network = "hybrid"

	kubernetesVersion = "1.36.3"
	networkWait       = time.Second
	// namespaceUID is the UID of the owner of objects without a namespace. Nothing collects garbage.
	namespaceUID = "00000000-0000-0000-0000-000000000000"
)

// secrets are those that other parts of gardenlet made before.
var secrets = []string{"ca", "ca-client-current", "ca-kubelet-current", v1beta1constants.SecretNameGenericTokenKubeconfig,
	"service-account-key-current"}

// Gardenlet writes to a seed.
type Gardenlet struct {
	// Client knows all kinds that gardenlet writes.
	Client client.Client
}

// New returns a gardenlet, and installs the custom resource definitions of what it writes beside that of the landscape.
func New(ctx context.Context, config *rest.Config) (*Gardenlet, error) {
	if err := landscape.InstallCRDs(ctx, config, "10-crd-monitoring.coreos.com_prometheusrules.yaml",
		"10-crd-monitoring.coreos.com_servicemonitors.yaml"); err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: kubernetesclient.SeedScheme})
	return &Gardenlet{Client: c}, err
}

// PrepareNamespace creates the Secrets that everything else needs.
func (g *Gardenlet) PrepareNamespace(ctx context.Context, namespace string) error {
	for _, name := range secrets {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
		if err := g.Client.Create(ctx, secret); err != nil {
			return err
		}
	}
	return nil
}

// MachineControllerManager deploys machine-controller-manager.
func (g *Gardenlet) MachineControllerManager(namespace string) component.Deployer {
	return machinecontrollermanager.New(g.Client, namespace, fakesecretsmanager.New(g.Client, namespace),
		machinecontrollermanager.Values{Image: "machine-controller-manager:v1", Replicas: 1})
}

// KubeControllerManager deploys kube-controller-manager.
func (g *Gardenlet) KubeControllerManager(namespace string) component.Deployer {
	version := semver.MustParse(kubernetesVersion)
	return controllermanager.New(logr.Discard(), fakekubernetes.NewClientSetBuilder().WithClient(g.Client).Build(), namespace,
		fakesecretsmanager.New(g.Client, namespace), controllermanager.Values{
			RuntimeVersion: version, TargetVersion: version, Image: "kube-controller-manager:v1", Replicas: 1,
			PodNetworks: pods(), ServiceNetworks: services(),
			Config: &gardencorev1beta1.KubeControllerManagerConfig{NodeCIDRMaskSize: new(int32(24))},
		})
}

// ClusterAutoscaler deploys the cluster-autoscaler for the pools.
func (g *Gardenlet) ClusterAutoscaler(namespace string, pools ...gardencorev1beta1.Worker) component.Deployer {
	version := semver.MustParse(kubernetesVersion)
	autoscaler := clusterautoscaler.New(g.Client, namespace, fakesecretsmanager.New(g.Client, namespace), "cluster-autoscaler:v1", 1, nil,
		pools, version, version)
	autoscaler.SetNamespaceUID(namespaceUID)
	return autoscaler
}

// Network deploys a Network with the providerConfig of the Shoot, which may be empty.
func (g *Gardenlet) Network(namespace, networkType, providerConfig string) component.DeployMigrateWaiter {
	values := &network.Values{
		Namespace: namespace, Name: Network, Type: networkType, IPFamilies: []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPFamilyIPv4},
		PodCIDRs: pods(), ServiceCIDRs: services(),
	}
	if providerConfig != "" {
		values.ProviderConfig = &runtime.RawExtension{Raw: []byte(providerConfig)}
	}
	return network.New(logr.Discard(), g.Client, values, networkWait, networkWait, networkWait)
}

// DeployOperatingSystemConfig deploys the OperatingSystemConfig of a pool with the unit and the files of the kubelet, and further
// files.
func (g *Gardenlet) DeployOperatingSystemConfig(ctx context.Context, namespace string, further ...extensionsv1alpha1.File) error {
	units, files, err := kubelet.New().Config(components.Context{
		KubernetesVersion: semver.MustParse(kubernetesVersion), CRIName: extensionsv1alpha1.CRINameContainerD, ClusterDomain: "cluster.local",
		Images: map[string]*gardenerimagevector.Image{"hyperkube": {}}, NodeLabels: map[string]string{v1beta1constants.LabelWorkerPool: Pool},
	})
	if err != nil {
		return err
	}
	config := &extensionsv1alpha1.OperatingSystemConfig{ObjectMeta: metav1.ObjectMeta{Name: Pool, Namespace: namespace}}
	_, err = controllerutils.GetAndCreateOrMergePatch(ctx, g.Client, config, func() error {
		metav1.SetMetaDataLabel(&config.ObjectMeta, v1beta1constants.LabelExtensionProviderMutatedByControlplaneWebhook, "true")
		metav1.SetMetaDataLabel(&config.ObjectMeta, v1beta1constants.LabelWorkerPool, Pool)
		config.Spec.Type, config.Spec.Purpose = "gardenlinux", extensionsv1alpha1.OperatingSystemConfigPurposeReconcile
		config.Spec.Units, config.Spec.Files = units, append(files, further...)
		return nil
	})
	return err
}

func pods() []net.IPNet {
	return []net.IPNet{{IP: net.IPv4(100, 96, 0, 0).To4(), Mask: net.CIDRMask(11, 32)}}
}

func services() []net.IPNet {
	return []net.IPNet{{IP: net.IPv4(100, 64, 0, 0).To4(), Mask: net.CIDRMask(13, 32)}}
}
