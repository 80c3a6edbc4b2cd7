// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// shootManager is a manager whose client reads nothing but the Shoot of a Cluster. The library decodes all that is in a Cluster for
// each write, which takes milliseconds for a large CloudProfile that this webhook does not look at.
type shootManager struct {
	manager.Manager
}

// GetClient returns the client of the manager with Clusters that have a Shoot alone.
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
