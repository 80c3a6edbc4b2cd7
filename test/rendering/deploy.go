// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"context"
	"errors"
	"os"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	resourcesv1alpha1 "github.com/gardener/gardener/pkg/apis/resources/v1alpha1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// manifestKey is the key of what gardener-resource-manager applies in the Secret of a ManagedResource.
const manifestKey = "chart.yaml"

// Deploy lets gardener-resource-manager apply what was rendered, as the extension does. The class is nil for the shoot.
func Deploy(ctx context.Context, c client.Client, namespace, name, rendered string, class *string) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	if _, err := controllerutil.CreateOrPatch(ctx, c, secret, func() error {
		secret.Data = map[string][]byte{manifestKey: []byte(rendered)}
		return nil
	}); err != nil {
		return err
	}
	resource := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	_, err := controllerutil.CreateOrPatch(ctx, c, resource, func() error {
		resource.Spec = resourcesv1alpha1.ManagedResourceSpec{Class: class, SecretRefs: []corev1.LocalObjectReference{{Name: name}}}
		return nil
	})
	return err
}

// Applied returns whether gardener-resource-manager has applied the ManagedResource as it is now, and if not what it says.
func Applied(ctx context.Context, c client.Client, namespace, name string) error {
	resource := &resourcesv1alpha1.ManagedResource{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, resource); err != nil {
		return err
	}
	for _, condition := range resource.Status.Conditions {
		switch {
		case condition.Type != resourcesv1alpha1.ResourcesApplied:
		case condition.Status != gardencorev1beta1.ConditionTrue:
			return errors.New(condition.Message)
		case resource.Status.ObservedGeneration == resource.Generation:
			return nil
		}
	}
	return errors.New("it was not applied yet")
}

// WriteKubeconfig writes a kubeconfig with an hour's access of the service account.
func WriteKubeconfig(ctx context.Context, config *rest.Config, namespace, account, path string) error {
	c, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	request := &authenticationv1.TokenRequest{}
	serviceAccount := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: namespace}}
	if err := c.SubResource("token").Create(ctx, serviceAccount, request); err != nil {
		return err
	}
	authority := config.CAData
	if len(authority) == 0 && config.CAFile != "" {
		if authority, err = os.ReadFile(config.CAFile); err != nil {
			return err
		}
	}
	return clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"shoot": {Server: config.Host, CertificateAuthorityData: authority}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{account: {Token: request.Status.Token}},
		Contexts:       map[string]*clientcmdapi.Context{"shoot": {Cluster: "shoot", AuthInfo: account}},
		CurrentContext: "shoot",
	}, path)
}
