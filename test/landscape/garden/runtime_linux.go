// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package garden

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	resourcemanagerconfigv1alpha1 "github.com/gardener/gardener/pkg/apis/config/resourcemanager/v1alpha1"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	operatorv1alpha1 "github.com/gardener/gardener/pkg/apis/operator/v1alpha1"
	gardenerutils "github.com/gardener/gardener/pkg/utils/gardener"
	kubernetesutils "github.com/gardener/gardener/pkg/utils/kubernetes"
	"github.com/gardener/gardener/pkg/utils/kubernetes/health"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

const (
	// gardenerOperator is the name of gardener-operator's executable, Deployment and ServiceAccount.
	gardenerOperator = v1beta1constants.DeploymentNameGardenerOperator
	operatorRole     = "gardener.cloud:system:gardener-operator"
	statusOfGardens  = "gardens/status"

	gardenerModule = "github.com/gardener/gardener"
	// preparation is how long gardener-operator may need for the runtime cluster, on a machine that runs other tests, too.
	preparation = 6 * time.Minute
	// genericKubeconfig is the Secret with the kubeconfig that gardener-operator gives to pods, without their tokens.
	genericKubeconfig = "generic-token-kubeconfig"
)

// newResourceManager prepares what applies the ManagedResources of the runtime cluster in the virtual garden.
func (g *Garden) newResourceManager() (*landscape.Process, error) {
	config, err := landscape.WriteResourceManagerConfig(g.path("gardener-resource-manager"), landscape.ResourceManagerOptions{
		Source: g.Seed.Kubeconfig, Target: g.Virtual.Kubeconfig, Class: resourcemanagerconfigv1alpha1.DefaultResourceClass,
		Ports: []int{2761, 2762, 2763},
	})
	return g.process("gardener-resource-manager", g.binaries.ResourceManager, "--config="+config), err
}

// StartOperator starts the cluster of the first seed as the runtime cluster of the garden, without a gardenlet, and runs gardener-operator
// in it, as its chart says. gardener-operator prepares the runtime cluster for a Garden: with custom resource definitions, priority
// classes, and a gardener-resource-manager. As the virtual garden is there already, it then loses the permission to go on, and the rest of
// what it does for a Garden before it looks at Extensions is played. StartVirtual must have returned.
func (g *Garden) StartOperator(ctx context.Context) error {
	if err := g.Seed.startNode(ctx); err != nil {
		return err
	}
	if err := g.installOperator(ctx); err != nil {
		return err
	}
	if err := g.createGarden(ctx); err != nil {
		return err
	}
	if err := g.waitRuntime(ctx); err != nil {
		return fmt.Errorf("wait until gardener-operator has prepared the runtime cluster: %w", err)
	}
	if err := g.withdrawGardens(ctx); err != nil {
		return err
	}
	if err := g.scaleOperator(ctx, 0); err != nil {
		return err
	}
	if err := g.playAccess(ctx); err != nil {
		return err
	}
	if err := g.scaleOperator(ctx, 1); err != nil {
		return err
	}
	return g.playGarden(ctx)
}

// installOperator installs the chart of gardener-operator.
func (g *Garden) installOperator(ctx context.Context) error {
	sources, err := landscape.ModuleDir(ctx, "", gardenerModule)
	if err != nil {
		return err
	}
	rendered, err := rendering.Packed(filepath.Join(sources, "charts", "gardener", "operator"), gardenerOperator, gardenNamespace, nil)
	if err != nil {
		return err
	}
	objects, err := rendering.Objects(rendered)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := g.Seed.Client.Create(ctx, object); err != nil {
			return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// createGarden creates the Garden once the webhooks of gardener-operator are called.
func (g *Garden) createGarden(ctx context.Context) error {
	clients, err := discovery.NewDiscoveryClientForConfig(g.Virtual.Config)
	if err != nil {
		return err
	}
	version, err := clients.ServerVersion()
	if err != nil {
		return err
	}
	path := g.path("garden.yaml")
	if err := g.render("garden.yaml", path, map[string]string{
		"Domain": Domain, "Nodes": nodeNetwork, "Pods": firstPlace.pods, "Services": firstPlace.services, "Region": Region,
		"Kubernetes": strings.TrimPrefix(version.GitVersion, "v"),
	}); err != nil {
		return err
	}
	content, err := os.ReadFile(path) // #nosec G304 -- written above
	if err != nil {
		return err
	}
	garden := &operatorv1alpha1.Garden{}
	if err := yaml.UnmarshalStrict(content, garden); err != nil {
		return err
	}
	if err := g.waitOperator(ctx, 1); err != nil {
		return err
	}
	return whenServed(ctx, func() error { return g.Seed.Client.Create(ctx, garden) })
}

// whenServed waits until the webhooks of gardener-operator are served that a request needs: its pod is ready before its Service knows it.
func whenServed(ctx context.Context, request func() error) error {
	return wait.PollUntilContextTimeout(ctx, readyPeriod, readyTimeout, true, func(context.Context) (bool, error) {
		err := request()
		if apierrors.IsInternalError(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// waitOperator waits until gardener-operator has a number of pods, which are ready.
func (g *Garden) waitOperator(ctx context.Context, replicas int) error {
	err := wait.PollUntilContextTimeout(ctx, readyPeriod, readyTimeout, true, func(ctx context.Context) (bool, error) {
		pods := &corev1.PodList{}
		err := g.Seed.Client.List(ctx, pods, client.InNamespace(gardenNamespace), client.MatchingLabels{"role": "operator"})
		unready := slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return !health.IsPodReady(&p) })
		return len(pods.Items) == replicas && !unready, err
	})
	if err != nil {
		return fmt.Errorf("wait for gardener-operator: %w", err)
	}
	return nil
}

// waitRuntime waits for the last of what gardener-operator prepares for components.
func (g *Garden) waitRuntime(ctx context.Context) error {
	return wait.PollUntilContextTimeout(ctx, readyPeriod, preparation, true, func(ctx context.Context) (bool, error) {
		class := &schedulingv1.PriorityClass{}
		err := g.Seed.Client.Get(ctx, client.ObjectKey{Name: v1beta1constants.PriorityClassNameGardenSystem400}, class)
		return err == nil, client.IgnoreNotFound(err)
	})
}

// withdrawGardens takes the permission from gardener-operator without which it does nothing with a Garden.
func (g *Garden) withdrawGardens(ctx context.Context) error {
	role := &rbacv1.ClusterRole{}
	if err := g.Seed.Client.Get(ctx, client.ObjectKey{Name: operatorRole}, role); err != nil {
		return err
	}
	for i := range role.Rules {
		role.Rules[i].Resources = slices.DeleteFunc(role.Rules[i].Resources, func(r string) bool { return r == statusOfGardens })
	}
	return g.Seed.Client.Update(ctx, role)
}

func (g *Garden) scaleOperator(ctx context.Context, replicas int) error {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: gardenNamespace, Name: gardenerOperator}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	if err := g.Seed.Client.Patch(ctx, deployment, patch); err != nil {
		return err
	}
	return g.waitOperator(ctx, replicas)
}

// playAccess gives access to the virtual garden to gardener-operator, and to the pods that it deploys.
func (g *Garden) playAccess(ctx context.Context) error {
	if err := g.resourceManager.Start(); err != nil {
		return err
	}
	// There is no Istio in front of the virtual garden that pods could go through.
	balancing := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: gardenNamespace,
		Name: resourcemanagerconfigv1alpha1.IstioInternalLoadBalancingConfigMapName}}
	if err := g.Seed.Client.Delete(ctx, balancing); client.IgnoreNotFound(err) != nil {
		return err
	}
	const account = v1beta1constants.SecretNameGardenerInternal
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "gardener.cloud:system:gardener"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceSystem, Name: account}},
	}
	if err := g.Client.Create(ctx, binding); err != nil {
		return err
	}
	cluster := clientcmdv1.Cluster{Server: g.Virtual.Config.Host, CertificateAuthorityData: g.keys.ca.CertificatePEM}
	access := gardenerutils.NewShootAccessSecret(account, gardenNamespace).WithNameOverride(account).
		WithKubeconfig(kubernetesutils.NewKubeconfig(gardenNamespace, cluster, clientcmdv1.AuthInfo{}))
	if err := access.Reconcile(ctx, g.Seed.Client); err != nil {
		return err
	}
	generic, err := yaml.Marshal(kubernetesutils.NewKubeconfig(gardenNamespace, cluster,
		clientcmdv1.AuthInfo{TokenFile: gardenerutils.PathShootToken}))
	if err != nil {
		return err
	}
	return g.Seed.Client.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: gardenNamespace, Name: genericKubeconfig},
		Data: map[string][]byte{"kubeconfig": generic}})
}

// playGarden says in the Garden that the virtual garden runs.
func (g *Garden) playGarden(ctx context.Context) error {
	garden := &operatorv1alpha1.Garden{}
	if err := g.Seed.Client.Get(ctx, client.ObjectKey{Name: virtualName}, garden); err != nil {
		return err
	}
	before := garden.DeepCopy()
	metav1.SetMetaDataAnnotation(&garden.ObjectMeta, v1beta1constants.AnnotationKeyGenericTokenKubeconfigSecretName, genericKubeconfig)
	if err := whenServed(ctx, func() error { return g.Seed.Client.Patch(ctx, garden, client.MergeFrom(before)) }); err != nil {
		return err
	}
	before = garden.DeepCopy()
	garden.Status.LastOperation = &gardencorev1beta1.LastOperation{
		Type: gardencorev1beta1.LastOperationTypeReconcile, State: gardencorev1beta1.LastOperationStateSucceeded, Progress: 100,
		Description: "The virtual garden runs.", LastUpdateTime: metav1.Now(),
	}
	return g.Seed.Client.Status().Patch(ctx, garden, client.MergeFrom(before))
}
