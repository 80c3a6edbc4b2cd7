// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"strconv"

	"github.com/Masterminds/semver/v3"
	"github.com/coreos/go-systemd/v22/unit"
	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	extensionscontextwebhook "github.com/gardener/gardener/extensions/pkg/webhook/context"
	"github.com/gardener/gardener/extensions/pkg/webhook/controlplane/genericmutator"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	"github.com/gardener/gardener/pkg/component/nodemanagement/machinecontrollermanager"
	gardenerimagevector "github.com/gardener/gardener/pkg/utils/imagevector"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	vpaautoscalingv1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/imagevector"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
)

const (
	flagCloudProvider     = "--cloud-provider="
	cloudProviderExternal = "external"

	// flagMaxTotalUnreadyPercentage limits the unready nodes with which the cluster-autoscaler works. With 100 the limit cannot be exceeded,
	// whatever --ok-total-unready-count is.
	flagMaxTotalUnreadyPercentage = "--max-total-unready-percentage="
	noUnreadyLimit                = "100"

	unitSectionService = "Service"
	unitOptionStart    = "ExecStart"
	// kubeletArgumentSeparator separates arguments of the kubelet in its unit, as written by gardenlet.
	kubeletArgumentSeparator = " \\\n    "
)

var (
	// DriverMemory is the memory request of the driver's container, sufficient for few machines. The VPA raises it.
	DriverMemory = resource.MustParse("64Mi")
	// driverMemoryLimit is several times the memory that the driver uses with hundreds of machines. It limits the VPA, too.
	driverMemoryLimit = resource.MustParse("512Mi")
)

// ensurer changes what gardenlet deploys for a shoot. A pool has one OperatingSystemConfig for all platforms, so differences between
// platforms are in the user data of machines.
type ensurer struct {
	genericmutator.NoopEnsurer

	images gardenerimagevector.ImageVector
	reader client.Reader
}

// NewEnsurer returns an ensurer that takes the image of the driver from images, and reads CloudProfiles of Clusters with reader.
func NewEnsurer(images gardenerimagevector.ImageVector, reader client.Reader) genericmutator.Ensurer {
	return &ensurer{images: images, reader: reader}
}

// EnsureKubeControllerManagerDeployment disables the cloud controllers in favor of the cloud-controller-manager.
func (e *ensurer) EnsureKubeControllerManagerDeployment(_ context.Context, _ extensionscontextwebhook.GardenContext, deployment,
	_ *appsv1.Deployment) error {
	container := extensionswebhook.ContainerWithName(deployment.Spec.Template.Spec.Containers,
		v1beta1constants.DeploymentNameKubeControllerManager)
	if container == nil {
		return nil
	}
	container.Command = extensionswebhook.EnsureStringWithPrefix(container.Command, flagCloudProvider, cloudProviderExternal)
	return nil
}

// EnsureClusterAutoscalerDeployment lets the cluster-autoscaler work with any number of unready nodes if the pools are on several sites:
// by default it stops for the whole shoot when a site with 45 % of the nodes is cut off, also for pods that other sites have room for.
func (e *ensurer) EnsureClusterAutoscalerDeployment(ctx context.Context, _ extensionscontextwebhook.GardenContext, deployment,
	_ *appsv1.Deployment) error {
	container := extensionswebhook.ContainerWithName(deployment.Spec.Template.Spec.Containers,
		v1beta1constants.DeploymentNameClusterAutoscaler)
	if container == nil {
		return nil
	}
	sites, err := e.sitesOfPools(ctx, deployment.Namespace)
	if err != nil || len(sites) < 2 {
		return err
	}
	container.Command = extensionswebhook.EnsureStringWithPrefix(container.Command, flagMaxTotalUnreadyPercentage, noUnreadyLimit)
	return nil
}

// sitesOfPools returns the names of the sites that the shoot's pools may have machines on.
func (e *ensurer) sitesOfPools(ctx context.Context, namespace string) ([]string, error) {
	cluster, err := extensionscontroller.GetCluster(ctx, e.reader, namespace)
	if err != nil {
		return nil, fmt.Errorf("could not read the Cluster: %w", err)
	}
	if cluster.Shoot == nil {
		return nil, errNoShoot(namespace)
	}
	input, err := shootsites.Configured(shootsites.OfShoot(namespace, corev1.SecretReference{}, cluster), cluster)
	if err != nil {
		return nil, err
	}
	var zones []string
	for _, pool := range cluster.Shoot.Spec.Provider.Workers {
		if pool.Maximum > 0 {
			zones = append(zones, pool.Zones...)
		}
	}
	return validation.NewWorkerValidator(nil, input.Profile, input.Config).SitesOf(zones), nil
}

// EnsureKubeletServiceUnitOptions makes nodes join with the taint that the cloud-controller-manager removes when it has initialized them.
func (e *ensurer) EnsureKubeletServiceUnitOptions(_ context.Context, _ extensionscontextwebhook.GardenContext, _ *semver.Version, options,
	_ []*unit.UnitOption) ([]*unit.UnitOption, error) {
	if start := extensionswebhook.UnitOptionWithSectionAndName(options, unitSectionService, unitOptionStart); start != nil {
		command := extensionswebhook.DeserializeCommandLine(start.Value)
		command = extensionswebhook.EnsureStringWithPrefix(command, flagCloudProvider, cloudProviderExternal)
		start.Value = extensionswebhook.SerializeCommandLine(command, 1, kubeletArgumentSeparator)
	}
	return options, nil
}

// EnsureMachineControllerManagerDeployment adds the driver as a sidecar container. MachineDeployments have timeouts of machines that differ
// from the driver's flags.
func (e *ensurer) EnsureMachineControllerManagerDeployment(ctx context.Context, gctx extensionscontextwebhook.GardenContext, deployment,
	_ *appsv1.Deployment) error {
	image, err := e.images.FindImage(imagevector.ImageNameMachineControllerManagerDriver)
	if err != nil {
		return err
	}
	cluster, err := gctx.GetCluster(ctx)
	if err != nil {
		return err
	}
	if cluster.Shoot == nil {
		return errNoShoot(deployment.Namespace)
	}
	driver := machinecontrollermanager.ProviderSidecarContainer(cluster.Shoot, deployment.Namespace, v1alpha1.ExtensionName, image.String())
	driver.Resources.Requests[corev1.ResourceMemory] = DriverMemory
	driver.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: driverMemoryLimit}
	driver.Env = append(driver.Env, corev1.EnvVar{Name: "GOMEMLIMIT", Value: strconv.FormatInt(driverMemoryLimit.Value(), 10)})
	deployment.Spec.Template.Spec.Containers = extensionswebhook.EnsureContainerWithName(deployment.Spec.Template.Spec.Containers, driver)
	return nil
}

// EnsureMachineControllerManagerVPA enables autoscaling of the driver's requests. It is off for all other containers.
func (e *ensurer) EnsureMachineControllerManagerVPA(_ context.Context, _ extensionscontextwebhook.GardenContext, vpa,
	_ *vpaautoscalingv1.VerticalPodAutoscaler) error {
	if vpa.Spec.ResourcePolicy == nil {
		vpa.Spec.ResourcePolicy = &vpaautoscalingv1.PodResourcePolicy{}
	}
	vpa.Spec.ResourcePolicy.ContainerPolicies = extensionswebhook.EnsureVPAContainerResourcePolicyWithName(
		vpa.Spec.ResourcePolicy.ContainerPolicies, machinecontrollermanager.ProviderSidecarVPAContainerPolicy(v1alpha1.ExtensionName))
	return nil
}

func errNoShoot(namespace string) error {
	return fmt.Errorf("the Cluster of namespace %q has no Shoot", namespace)
}
