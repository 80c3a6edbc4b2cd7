// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// printNodes prints how many ready nodes of each pool the sites have, by the labels of the nodes.
func (d *demo) printNodes(ctx context.Context) error {
	nodes := &corev1.NodeList{}
	if err := d.landscape.Client.List(ctx, nodes); err != nil {
		return err
	}
	type key struct{ site, pool string }
	counts := map[key]int{}
	for _, node := range nodes.Items {
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				counts[key{node.Labels[v1alpha1.LabelSite], node.Labels[poolLabel]}]++
			}
		}
	}
	rows := [][]string{{"SITE", "PLATFORM", "NODES OF " + pool, "NODES OF " + burst}}
	for _, s := range d.sites {
		rows = append(rows, []string{s.name(), s.platform(), fmt.Sprint(counts[key{s.name(), pool}]), fmt.Sprint(counts[key{s.name(), burst}])})
	}
	for _, line := range columns(rows) {
		d.screen.print("    " + line)
	}
	return nil
}
