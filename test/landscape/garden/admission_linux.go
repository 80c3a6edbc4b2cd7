// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package garden

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

const (
	// admissionName is the name of the admission component's executable, image and Deployment.
	admissionName = "gardener-extension-admission-hybrid"
	// admissionAccount is the service account in the virtual garden that gardener-operator would make.
	admissionAccount = "extension-admission-provider-hybrid"
	accessSecret     = "admission-garden-access"
)

// InstallAdmission installs both charts of the admission component as gardener-operator does: one in the virtual garden, and one in the
// seed, which is also the cluster that the virtual garden runs in. The seed must be ready.
func (g *Garden) InstallAdmission(ctx context.Context) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: admissionAccount}}
	if err := g.Client.Create(ctx, account); err != nil {
		return err
	}
	if err := g.install(ctx, g.Client, "application", metav1.NamespaceSystem, nil); err != nil {
		return err
	}

	kubeconfig := g.path("admission.kubeconfig")
	if err := rendering.WriteKubeconfig(ctx, g.Virtual.Config, account.Namespace, account.Name, kubeconfig); err != nil {
		return err
	}
	access, err := os.ReadFile(kubeconfig) // #nosec G304 -- written above
	if err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: gardenNamespace, Name: accessSecret},
		Data: map[string][]byte{"kubeconfig": access}}
	if err := g.Seed.Client.Create(ctx, secret); err != nil {
		return err
	}
	err = g.install(ctx, g.Seed.Client, "runtime", gardenNamespace, map[string]any{
		"gardenKubeconfigSecretName": accessSecret,
		"gardener":                   map[string]any{"runtimeCluster": map[string]any{"priorityClassName": "gardener-system-900"}},
	})
	if err != nil {
		return err
	}
	return g.waitAdmission(ctx)
}

// install creates what a chart of the admission component renders.
func (g *Garden) install(ctx context.Context, c client.Client, chart, namespace string, values map[string]any) error {
	folder := filepath.Join(landscape.Root(), "charts", admissionName, "charts", chart)
	rendered, err := rendering.Packed(folder, "admission-provider-hybrid", namespace, values)
	if err != nil {
		return err
	}
	objects, err := rendering.Objects(rendered)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := c.Create(ctx, object); err != nil {
			return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// waitAdmission waits until a pod of the admission component is ready.
func (g *Garden) waitAdmission(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, readyPeriod, readyTimeout, true, func(ctx context.Context) (bool, error) {
		pods := &corev1.PodList{}
		if err := g.Seed.Client.List(ctx, pods, client.InNamespace(gardenNamespace),
			client.MatchingLabels{"app.kubernetes.io/name": admissionName}); err != nil {
			return false, err
		}
		for _, pod := range pods.Items {
			for _, condition := range pod.Status.Conditions {
				if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
					return true, nil
				}
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the admission component: %w", err)
	}
	return nil
}
