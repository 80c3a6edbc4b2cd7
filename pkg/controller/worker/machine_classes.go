// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gardener/gardener/extensions/pkg/controller/worker/genericactuator"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	"github.com/gardener/gardener/pkg/utils/flow"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// fieldOwner owns the fields of machine classes and their secrets, but not their finalizers, which machine-controller-manager manages.
const fieldOwner = client.FieldOwner("gardener-extension-provider-hybrid-worker")

// userDataKey is the key of the user data in the secret of a machine class.
const userDataKey = "userData"

// machineClassSecretLabels are the labels of the secrets of machine classes.
var machineClassSecretLabels = client.MatchingLabels{v1beta1constants.GardenerPurpose: v1beta1constants.GardenPurposeMachineClass}

// cacheTimeout limits the wait for written objects to appear in the cache.
const cacheTimeout = 10 * time.Second

// machineClass is a machine class and its secret of the same name.
type machineClass struct {
	secret *corev1.Secret
	class  *machinev1alpha1.MachineClass
}

// machineClasses returns the machine classes of all resolved zones, and those that only machines to be restored have.
func machineClasses(f *facts, zones []*resolved) []machineClass {
	var classes []machineClass
	for _, z := range zones {
		if z.err != nil {
			continue
		}
		for name := range z.former.Clone().Insert(z.className) {
			classes = append(classes, newMachineClass(f, z, name))
		}
	}
	return classes
}

func newMachineClass(f *facts, z *resolved, name string) machineClass {
	meta := func(labels map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Namespace: f.worker.Namespace, Labels: labels}
	}
	return machineClass{
		secret: &corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Secret"},
			ObjectMeta: meta(maps.Clone(machineClassSecretLabels)),
			Type:       corev1.SecretTypeOpaque,
			Data:       map[string][]byte{userDataKey: z.userData},
		},
		class: &machinev1alpha1.MachineClass{
			TypeMeta:     metav1.TypeMeta{APIVersion: machinev1alpha1.SchemeGroupVersion.String(), Kind: "MachineClass"},
			ObjectMeta:   meta(map[string]string{v1beta1constants.LabelWorkerPool: z.spec.Name, v1alpha1.LabelSite: z.siteName}),
			NodeTemplate: nodeTemplate(f, z),
			CredentialsSecretRef: &corev1.SecretReference{
				Name:      f.worker.Spec.SecretRef.Name,
				Namespace: f.worker.Spec.SecretRef.Namespace,
			},
			SecretRef:    &corev1.SecretReference{Name: name, Namespace: f.worker.Namespace},
			Provider:     v1alpha1.ProviderType,
			ProviderSpec: *z.providerSpec,
		},
	}
}

// nodeTemplate returns what the cluster-autoscaler may expect of a node in the zone. Resources of the pool's providerConfig take precedence
// over those of the site's machine type, the pool's node template and the CloudProfile's machine type.
func nodeTemplate(f *facts, z *resolved) *machinev1alpha1.NodeTemplate {
	template := &machinev1alpha1.NodeTemplate{
		Capacity:     typeCapacity(f, z.pool),
		InstanceType: z.spec.MachineType,
		Region:       f.region,
		Zone:         z.name,
		Architecture: new(z.architecture()),
	}
	if z.spec.NodeTemplate != nil {
		maps.Copy(template.Capacity, z.spec.NodeTemplate.Capacity)
		template.VirtualCapacity = maps.Clone(z.spec.NodeTemplate.VirtualCapacity)
	}
	maps.Copy(template.Capacity, z.machineType.Capacity)
	if z.config.NodeTemplate != nil {
		maps.Copy(template.Capacity, z.config.NodeTemplate.Capacity)
		if len(z.config.NodeTemplate.VirtualCapacity) > 0 && template.VirtualCapacity == nil {
			template.VirtualCapacity = corev1.ResourceList{}
		}
		maps.Copy(template.VirtualCapacity, z.config.NodeTemplate.VirtualCapacity)
	}
	return template
}

// apply writes the machine classes, each after its secret.
func apply(ctx context.Context, c client.Client, classes []machineClass) error {
	var tasks []flow.TaskFn
	for _, class := range classes {
		tasks = append(tasks, func(ctx context.Context) error {
			for _, obj := range []client.Object{class.secret, class.class} {
				//nolint:staticcheck // The objects have no apply configurations.
				if err := c.Patch(ctx, obj, client.Apply, fieldOwner, client.ForceOwnership); err != nil {
					return fmt.Errorf("applying %T %s: %w", obj, obj.GetName(), err)
				}
			}
			return nil
		})
	}
	return flow.ParallelN(genericactuator.MaxConcurrentMachineTasks, tasks...)(ctx)
}

// waitForMachineClasses waits until the cache has the machine classes of all resolved zones.
func waitForMachineClasses(ctx context.Context, c *call, zones []*resolved) error {
	var missing []string
	for _, z := range zones {
		if z.err == nil {
			missing = append(missing, z.className)
		}
	}
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, cacheTimeout, true, func(ctx context.Context) (bool, error) {
		classes := &machinev1alpha1.MachineClassList{}
		if err := c.client.List(ctx, classes, client.InNamespace(c.worker.Namespace)); err != nil {
			return false, err
		}
		missing = slices.DeleteFunc(missing, func(name string) bool {
			return slices.ContainsFunc(classes.Items, func(c machinev1alpha1.MachineClass) bool { return c.Name == name })
		})
		return len(missing) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for machine classes %q: %w", missing, err)
	}
	return nil
}
