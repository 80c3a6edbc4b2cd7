// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"context"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	gardenerutils "github.com/gardener/gardener/pkg/utils/gardener"
	"github.com/gardener/gardener/pkg/utils/secrets"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CreateGenericKubeconfig creates the Secret in a shoot's namespace with the kubeconfig that all components of its control plane use.
// The token is in a file of its own, from the Secret of the component.
func (c *Cluster) CreateGenericKubeconfig(ctx context.Context, seed client.Client, namespace string) error {
	kubeconfig, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{namespace: {Server: c.Config.Host, CertificateAuthorityData: c.Config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{namespace: {TokenFile: gardenerutils.PathShootToken}},
		Contexts:       map[string]*clientcmdapi.Context{namespace: {Cluster: namespace, AuthInfo: namespace}},
		CurrentContext: namespace,
	})
	if err != nil {
		return err
	}
	return seed.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: v1beta1constants.SecretNameGenericTokenKubeconfig, Namespace: namespace},
		Data:       map[string][]byte{secrets.DataKeyKubeconfig: kubeconfig},
	})
}
