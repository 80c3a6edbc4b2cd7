// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package garden

import (
	"context"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// waitServed waits until all API services of gardener-apiserver are available and found: its clients look once when they start.
func (g *Garden) waitServed(ctx context.Context) error {
	clients, err := discovery.NewDiscoveryClientForConfig(g.Virtual.Config)
	if err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, readyPeriod, readyTimeout, true, func(ctx context.Context) (bool, error) {
		list := &apiregistrationv1.APIServiceList{}
		if err := g.Client.List(ctx, list); err != nil {
			return false, nil
		}
		available := 0
		for _, service := range list.Items {
			for _, c := range service.Status.Conditions {
				_, ours := apiServices[service.Spec.Group+"/"+service.Spec.Version]
				if ours && c.Type == apiregistrationv1.Available && c.Status == apiregistrationv1.ConditionTrue {
					available++
				}
			}
		}
		if available < len(apiServices) {
			return false, nil
		}
		for version := range apiServices {
			if resources, err := clients.ServerResourcesForGroupVersion(version); err != nil || len(resources.APIResources) == 0 {
				return false, nil
			}
		}
		return true, nil
	})
}
