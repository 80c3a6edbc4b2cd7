// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/sitehealth"
)

// uninitialized is the taint that nodes have until a cloud controller has initialised them.
const uninitialized = cloudproviderapi.TaintExternalCloudProvider

func hasTaint(node *corev1.Node, key string) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

// notInitialised says what a node does not have that the cloud controllers of its site give it; nothing if it has all.
func notInitialised(node *corev1.Node) string {
	site := node.Labels[v1alpha1.LabelSite]
	switch {
	case len(node.Spec.Taints) > 0:
		return fmt.Sprintf("node %s of site %q has the taints %s", node.Name, site, taints(node))
	case site == "" || node.Labels[v1alpha1.LabelInitializedBy] != site:
		return fmt.Sprintf("node %s of site %q was initialised by site %q", node.Name, site, node.Labels[v1alpha1.LabelInitializedBy])
	case node.Spec.ProviderID == "":
		return fmt.Sprintf("node %s of site %q has no provider ID", node.Name, site)
	case node.Labels[corev1.LabelTopologyZone] == "" || node.Labels[corev1.LabelTopologyRegion] == "":
		return fmt.Sprintf("node %s of site %q has no zone or no region", node.Name, site)
	case len(addresses(node)) == 0:
		return fmt.Sprintf("node %s of site %q has no address", node.Name, site)
	}
	return ""
}

// addresses are the IP addresses of a node.
func addresses(node *corev1.Node) []string {
	var result []string
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP || address.Type == corev1.NodeExternalIP {
			result = append(result, address.Address)
		}
	}
	return result
}

func taints(node *corev1.Node) string {
	var keys []string
	for _, taint := range node.Spec.Taints {
		keys = append(keys, taint.Key)
	}
	if len(keys) == 0 {
		return "none"
	}
	return strings.Join(keys, ",")
}

// waitInitialised waits until all nodes are initialised and have the pods that their site needs, and all sites are said to be well.
func (d *demo) waitInitialised(ctx context.Context) error {
	sets, infrastructure := &appsv1.DaemonSetList{}, &extensionsv1alpha1.Infrastructure{}
	if err := d.wait(ctx, func(ctx context.Context) (bool, string, error) {
		if missing := d.compare(ctx); missing != "" {
			return false, missing, nil
		}
		if err := d.landscape.Client.List(ctx, sets, client.InNamespace(metav1.NamespaceSystem)); err != nil {
			return false, err.Error(), nil
		}
		if err := d.get(ctx, infrastructure); err != nil {
			return false, err.Error(), nil
		}
		missing := cmp.Or(podsMissing(sets.Items), d.unwell(infrastructure.Status.Conditions))
		return missing == "", missing, nil
	}); err != nil {
		return err
	}
	if err := d.printInitialised(ctx); err != nil {
		return err
	}
	var rows [][]string
	for _, set := range sets.Items {
		rows = append(rows, []string{
			orDash(set.Spec.Template.Spec.NodeSelector[v1alpha1.LabelSite]), set.Name,
			fmt.Sprint(set.Status.DesiredNumberScheduled), fmt.Sprint(set.Status.NumberReady),
		})
	}
	d.printTable([]string{"SITE", "DAEMONSET IN THE SHOOT", "DESIRED", "READY"}, rows)
	rows = nil
	for _, c := range infrastructure.Status.Conditions {
		rows = append(rows, []string{string(c.Type), string(c.Status), c.Reason, c.Message})
	}
	d.printTable([]string{"CONDITION OF THE INFRASTRUCTURE", "STATUS", "REASON", "MESSAGE"}, rows)
	return d.createService(ctx)
}

// podsMissing names a DaemonSet whose pods are not all ready; nothing if there is none.
func podsMissing(sets []appsv1.DaemonSet) string {
	for _, set := range sets {
		if s := set.Status; s.NumberReady != s.DesiredNumberScheduled || s.ObservedGeneration != set.Generation {
			return "waiting for DaemonSet " + set.Name
		}
	}
	return ""
}

// unwell says what a site misses by the conditions; nothing if all sites are well.
func (d *demo) unwell(conditions []gardencorev1beta1.Condition) string {
	for _, s := range d.sites {
		c := v1beta1helper.GetCondition(conditions, gardencorev1beta1.ConditionType(sitehealth.ConditionPrefix+s.name()))
		switch {
		case c == nil:
			return "waiting for the condition of site " + s.name()
		case c.Status != gardencorev1beta1.ConditionTrue:
			return cmp.Or(c.Message, c.Reason)
		}
	}
	return ""
}

// printInitialised prints what the cloud controllers made of the nodes.
func (d *demo) printInitialised(ctx context.Context) error {
	nodes := &corev1.NodeList{}
	if err := d.landscape.Client.List(ctx, nodes); err != nil {
		return err
	}
	var rows [][]string
	for i := range nodes.Items {
		node := &nodes.Items[i]
		rows = append(rows, []string{
			node.Labels[v1alpha1.LabelSite], strings.TrimPrefix(node.Name, namespace+"-"),
			orDash(node.Labels[corev1.LabelTopologyZone]), orDash(node.Labels[corev1.LabelTopologyRegion]),
			orDash(strings.Join(addresses(node), ",")), orDash(node.Labels[v1alpha1.LabelInitializedBy]),
			fmt.Sprintf("after %s", d.joins.took(node.Name).Round(100*time.Millisecond)), taints(node), orDash(node.Spec.ProviderID),
		})
	}
	d.printTable([]string{"SITE", "NODE", "ZONE", "REGION", "ADDRESS", "INITIALISED BY", "OF JOINING", "TAINTS", "PROVIDERID"}, rows)
	return nil
}

// printTable prints sorted rows below a header.
func (d *demo) printTable(header []string, rows [][]string) {
	slices.SortFunc(rows, slices.Compare)
	for _, line := range columns(slices.Insert(rows, 0, header)) {
		d.screen.print("    " + line)
	}
}
