// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package controlplane is the webhook for what gardenlet deploys for a shoot of type hybrid: it configures kube-controller-manager and
// kubelets for an external cloud provider, adds the driver to machine-controller-manager, and keeps the cluster-autoscaler working while a
// site is cut off.
package controlplane

import (
	"context"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	"github.com/gardener/gardener/extensions/pkg/webhook/controlplane"
	"github.com/gardener/gardener/extensions/pkg/webhook/controlplane/genericmutator"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/component/extensions/operatingsystemconfig/original/components/kubelet"
	oscutils "github.com/gardener/gardener/pkg/component/extensions/operatingsystemconfig/utils"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	vpaautoscalingv1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/imagevector"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// WebhookName is the name of the webhook.
const WebhookName = controlplane.WebhookName

// New creates the webhook.
func New(mgr manager.Manager) (*extensionswebhook.Webhook, error) {
	codec := oscutils.NewFileContentInlineCodec()
	ensurer := NewEnsurer(imagevector.ImageVector(), mgr.GetClient())
	return controlplane.New(mgr, controlplane.Args{
		Kind:     controlplane.KindShoot,
		Provider: v1alpha1.ProviderType,
		Types: []extensionswebhook.Type{
			{Obj: &appsv1.Deployment{}},
			{Obj: &vpaautoscalingv1.VerticalPodAutoscaler{}},
			{Obj: &extensionsv1alpha1.OperatingSystemConfig{}},
		},
		ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
			v1beta1constants.LabelExtensionProviderMutatedByControlplaneWebhook: "true",
		}},
		Mutator: genericmutator.NewMutator(shootManager{mgr}, ensurer, oscutils.NewUnitSerializer(), kubelet.NewConfigCodec(codec), codec,
			mgr.GetLogger().WithName("controlplane-webhook")),
	})
}

// shootManager is a manager whose client only reads the Shoot of a Cluster. The library decodes the whole Cluster for each request, which
// takes milliseconds for a large CloudProfile that only the cluster-autoscaler's Deployment needs.
type shootManager struct {
	manager.Manager
}

// GetClient returns a client that reads Clusters without CloudProfile and Seed.
func (m shootManager) GetClient() client.Client {
	return shootClient{m.Manager.GetClient()}
}

type shootClient struct {
	client.Client
}

// Get reads an object.
func (c shootClient) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	err := c.Client.Get(ctx, key, object, options...)
	if cluster, ok := object.(*extensionsv1alpha1.Cluster); ok {
		cluster.Spec.CloudProfile, cluster.Spec.Seed = runtime.RawExtension{}, nil
	}
	return err
}
