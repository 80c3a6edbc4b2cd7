// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package workerplan

import (
	"context"
	"fmt"

	"github.com/gardener/gardener/extensions/pkg/controller/worker"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/machineapi"
)

var scheme = runtime.NewScheme()

func init() {
	utilruntime.Must(appsv1.AddToScheme(scheme))
	utilruntime.Must(corev1.AddToScheme(scheme))
	utilruntime.Must(extensionsv1alpha1.AddToScheme(scheme))
	utilruntime.Must(machinev1alpha1.AddToScheme(scheme))
	metav1.AddToGroupVersion(scheme, machinev1alpha1.SchemeGroupVersion)
}

// machines are the objects of machine-controller-manager of a shoot.
type machines struct {
	deployments machinev1alpha1.MachineDeploymentList
	sets        machinev1alpha1.MachineSetList
	machines    machinev1alpha1.MachineList
	classes     machinev1alpha1.MachineClassList
}

// readMachines reads the objects in the namespace.
func readMachines(ctx context.Context, reader client.Reader, namespace string) (*machines, error) {
	m := &machines{}
	for _, list := range []client.ObjectList{&m.deployments, &m.sets, &m.machines, &m.classes} {
		if err := machineapi.IgnoreMissing(reader.List(ctx, list, client.InNamespace(namespace))); err != nil {
			return nil, fmt.Errorf("reading %T from the seed: %w", list, err)
		}
	}
	return m, nil
}

// objects returns the objects as a seed can have them whose machine-controller-manager is always done.
func (m *machines) objects() []client.Object {
	var all []client.Object
	for i := range m.deployments.Items {
		all = append(all, m.deployments.Items[i].DeepCopy())
	}
	for i := range m.sets.Items {
		all = append(all, m.sets.Items[i].DeepCopy())
	}
	for i := range m.machines.Items {
		machine := m.machines.Items[i].DeepCopy()
		machine.Status = machinev1alpha1.MachineStatus{}
		all = append(all, machine)
	}
	for i := range m.classes.Items {
		all = append(all, m.classes.Items[i].DeepCopy())
	}
	for _, object := range all {
		if object.GetDeletionTimestamp() == nil {
			object.SetFinalizers(nil)
		}
	}
	return all
}

// rehearsal is the manager of a copy of a seed, in memory. It serves the client, and drops events.
type rehearsal struct {
	manager.Manager

	client client.Client
}

// newRehearsal returns a manager of a seed with the objects. Machine deployments are ready as soon as they are written.
func newRehearsal(objects ...client.Object) *rehearsal {
	return &rehearsal{client: settling(fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithReturnManagedFields().
		WithStatusSubresource(&extensionsv1alpha1.Worker{}, &machinev1alpha1.MachineDeployment{}).Build())}
}

// settling returns the client of a seed whose machine-controller-manager is done at once.
func settling(c client.WithWatch) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.CreateOption) error {
			if err := c.Create(ctx, object, opts...); err != nil {
				return err
			}
			return settle(ctx, c, object)
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if err := c.Patch(ctx, object, patch, opts...); err != nil {
				return err
			}
			return settle(ctx, c, object)
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.DeleteOption) error {
			if _, ok := object.(*machinev1alpha1.MachineDeployment); ok {
				if err := c.DeleteAllOf(ctx, &machinev1alpha1.Machine{}, client.InNamespace(object.GetNamespace()),
					client.MatchingLabels{worker.LabelKeyMachineDeploymentName: object.GetName()}); err != nil {
					return err
				}
			}
			return c.Delete(ctx, object, opts...)
		},
	})
}

// settle does what machine-controller-manager does until all machines of a machine deployment are ready. Other objects are left alone.
func settle(ctx context.Context, c client.Client, object client.Object) error {
	deployment, ok := object.(*machinev1alpha1.MachineDeployment)
	if !ok {
		return nil
	}
	sets := &machinev1alpha1.MachineSetList{}
	if err := c.List(ctx, sets, client.InNamespace(deployment.Namespace)); err != nil {
		return err
	}
	for i := range sets.Items {
		if isOf(&sets.Items[i], deployment) {
			if err := c.Delete(ctx, &sets.Items[i]); err != nil {
				return err
			}
		}
	}
	owner := metav1.OwnerReference{APIVersion: machinev1alpha1.SchemeGroupVersion.String(), Kind: "MachineDeployment", Name: deployment.Name,
		UID: deployment.UID}
	set := &machinev1alpha1.MachineSet{
		ObjectMeta: metav1.ObjectMeta{Name: deployment.Name, Namespace: deployment.Namespace, OwnerReferences: []metav1.OwnerReference{owner}},
		Spec:       machinev1alpha1.MachineSetSpec{Replicas: deployment.Spec.Replicas, Template: deployment.Spec.Template},
	}
	if err := c.Create(ctx, set); err != nil {
		return err
	}
	ready := deployment.DeepCopy()
	ready.Status = machinev1alpha1.MachineDeploymentStatus{
		ObservedGeneration: ready.Generation,
		Replicas:           ready.Spec.Replicas,
		UpdatedReplicas:    ready.Spec.Replicas,
		ReadyReplicas:      ready.Spec.Replicas,
		AvailableReplicas:  ready.Spec.Replicas,
		Conditions: []machinev1alpha1.MachineDeploymentCondition{
			{Type: machinev1alpha1.MachineDeploymentAvailable, Status: machinev1alpha1.ConditionTrue},
		},
	}
	return c.Status().Update(ctx, ready)
}

func isOf(set *machinev1alpha1.MachineSet, deployment *machinev1alpha1.MachineDeployment) bool {
	for _, owner := range set.OwnerReferences {
		if owner.Kind == "MachineDeployment" && owner.Name == deployment.Name {
			return true
		}
	}
	return false
}

// GetClient implements manager.Manager.
func (r *rehearsal) GetClient() client.Client { return r.client }

// GetAPIReader implements manager.Manager.
func (r *rehearsal) GetAPIReader() client.Reader { return r.client }

// GetScheme implements manager.Manager.
func (r *rehearsal) GetScheme() *runtime.Scheme { return scheme }

// GetEventRecorder implements manager.Manager.
func (r *rehearsal) GetEventRecorder(string) events.EventRecorder { return &events.FakeRecorder{} }
