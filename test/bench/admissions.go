// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/component"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	vpaautoscalingv1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/gardenlet"
)

const (
	// machineTypeCount is how many machine types the CloudProfile has, as large ones do.
	machineTypeCount = 300
	// scriptSize is the size of the scripts in an OperatingSystemConfig beside what the kubelet needs, in bytes.
	scriptSize = 100 << 10
	// networkType is that of the shoots.
	networkType = "calico"
)

// admission is an object as gardenlet writes it, before a webhook saw it.
type admission struct {
	object client.Object
	// mark is in the object if a webhook changed it, and never before.
	mark string
}

// name names what is written.
func (a admission) name() string {
	return fmt.Sprintf("%T/%s/%s", a.object, a.object.GetNamespace(), a.object.GetName())
}

// write writes the object dry. The answer must be changed.
func (a admission) write(ctx context.Context, c client.Client) error {
	answer := a.object.DeepCopyObject().(client.Object)
	if err := c.Update(ctx, answer, client.DryRunAll); err != nil {
		return fmt.Errorf("%s: %w", a.name(), err)
	}
	marked, err := a.marked(answer)
	if err == nil && !marked {
		err = fmt.Errorf("%s was not changed by a webhook", a.name())
	}
	return err
}

// marked reports whether a webhook changed the object.
func (a admission) marked(answer client.Object) (bool, error) {
	content, err := json.Marshal(answer)
	return strings.Contains(string(content), a.mark), err
}

// prepareAdmissions writes the objects of all shoots while no webhook is called, and returns them and the size of a Cluster.
func prepareAdmissions(ctx context.Context, writer *gardenlet.Gardenlet) ([]admission, int, error) {
	var (
		all  []admission
		size int
	)
	for i := range webhookShoots {
		s := shoot{namespace: webhookShoot(i), authURL: exampleAuthURL}
		clusterSize, err := createAdmissionShoot(ctx, writer, s)
		if err != nil {
			return nil, 0, err
		}
		size = clusterSize
		objects, err := deployAdmissions(ctx, writer, s.namespace)
		if err != nil {
			return nil, 0, err
		}
		all = append(all, objects...)
	}
	return all, size, nil
}

func webhookShoot(i int) string {
	return fmt.Sprintf("shoot--bench--webhooks-%d", i)
}

// createAdmissionShoot creates what the webhooks read, with a large CloudProfile, and returns the size of the Cluster.
func createAdmissionShoot(ctx context.Context, writer *gardenlet.Gardenlet, s shoot) (int, error) {
	clusters, err := example[extensionsv1alpha1.Cluster](s, "30-cluster.yaml")
	if err != nil {
		return 0, err
	}
	infrastructures, err := example[extensionsv1alpha1.Infrastructure](s, "30-infrastructure.yaml")
	if err != nil {
		return 0, err
	}
	cluster := clusters[0]
	if cluster.Spec.CloudProfile.Raw, err = addMachineTypes(cluster.Spec.CloudProfile.Raw); err != nil {
		return 0, err
	}
	for _, object := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}, cluster, infrastructures[0]} {
		if err := writer.Client.Create(ctx, object); err != nil {
			return 0, err
		}
	}
	content, err := json.Marshal(cluster)
	return len(content), err
}

// addMachineTypes makes a CloudProfile as large as those of large landscapes.
func addMachineTypes(raw []byte) ([]byte, error) {
	profile := &gardencorev1beta1.CloudProfile{}
	if err := json.Unmarshal(raw, profile); err != nil {
		return nil, err
	}
	config, err := codec.Decode[v1alpha1.CloudProfileConfig](profile.Spec.ProviderConfig)
	if err != nil {
		return nil, err
	}
	for i := range machineTypeCount {
		core, ours := *profile.Spec.MachineTypes[0].DeepCopy(), *config.MachineTypes[0].DeepCopy()
		core.Name = fmt.Sprintf("type-%d", i)
		ours.Name = core.Name
		profile.Spec.MachineTypes, config.MachineTypes = append(profile.Spec.MachineTypes, core), append(config.MachineTypes, ours)
	}
	if profile.Spec.ProviderConfig, err = codec.Encode(config); err != nil {
		return nil, err
	}
	return json.Marshal(profile)
}

// deployAdmissions lets gardenlet's own code write the objects of a shoot and returns them as they are then.
func deployAdmissions(ctx context.Context, writer *gardenlet.Gardenlet, namespace string) ([]admission, error) {
	if err := writer.PrepareNamespace(ctx, namespace); err != nil {
		return nil, err
	}
	for _, component := range []component.Deployer{
		writer.MachineControllerManager(namespace), writer.KubeControllerManager(namespace), writer.ClusterAutoscaler(namespace),
		writer.Network(namespace, networkType, ""),
	} {
		if err := component.Deploy(ctx); err != nil {
			return nil, err
		}
	}
	scripts := extensionsv1alpha1.File{Path: "/var/lib/scripts",
		Content: extensionsv1alpha1.FileContent{Inline: &extensionsv1alpha1.FileContentInline{
			Data: string(slices.Repeat([]byte("x"), scriptSize)),
		}}}
	if err := writer.DeployOperatingSystemConfig(ctx, namespace, scripts); err != nil {
		return nil, err
	}

	objects := []admission{
		{object: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: gardenlet.MachineControllerManager}},
			mark: "machine-controller-manager-provider-hybrid"},
		{object: &vpaautoscalingv1.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: gardenlet.MachineControllerManager + "-vpa"}},
			mark: "machine-controller-manager-provider-hybrid"},
		{object: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: gardenlet.KubeControllerManager}}, mark: "--cloud-provider=external"},
		{object: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: gardenlet.ClusterAutoscaler}},
			mark: "--max-total-unready-percentage=100"},
		{object: &extensionsv1alpha1.OperatingSystemConfig{ObjectMeta: metav1.ObjectMeta{Name: gardenlet.Pool}},
			mark: "--cloud-provider=external"},
		{object: &extensionsv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Name: gardenlet.Network}}, mark: "vethMTU"},
	}
	for _, a := range objects {
		a.object.SetNamespace(namespace)
		if err := writer.Client.Get(ctx, client.ObjectKeyFromObject(a.object), a.object); err != nil {
			return nil, err
		}
		if marked, err := a.marked(a.object); err != nil || marked {
			return nil, errors.Join(err, fmt.Errorf("%s was changed before the webhooks are called", a.name()))
		}
	}
	return objects, nil
}

// labelShoots says that the shoots are ours, so that the webhooks are called for them.
func labelShoots(ctx context.Context, c client.Client) error {
	for i := range webhookShoots {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: webhookShoot(i)}}
		if err := c.Get(ctx, client.ObjectKeyFromObject(namespace), namespace); err != nil {
			return err
		}
		metav1.SetMetaDataLabel(&namespace.ObjectMeta, v1beta1constants.LabelShootProvider, v1alpha1.ProviderType)
		metav1.SetMetaDataLabel(&namespace.ObjectMeta, v1beta1constants.LabelNetworkingProvider, networkType)
		if err := c.Update(ctx, namespace); err != nil {
			return err
		}
	}
	return nil
}
