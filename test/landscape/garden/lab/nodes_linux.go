// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// Machines are the names of the machines of the shoot by their provider IDs, which are those of running machines only.
func (s *Shoot) Machines(ctx context.Context) (map[string]string, error) {
	list := &machinev1alpha1.MachineList{}
	if err := s.seed.Client.List(ctx, list, client.InNamespace(s.TechnicalID())); err != nil {
		return nil, err
	}
	result := map[string]string{}
	var errs []error
	for _, m := range list.Items {
		if m.Status.CurrentStatus.Phase != machinev1alpha1.MachineRunning {
			errs = append(errs, fmt.Errorf("machine %s is %q: %s", m.Name, m.Status.CurrentStatus.Phase, m.Status.LastOperation.Description))
		}
		result[m.Spec.ProviderID] = m.Name
	}
	return result, errors.Join(errs...)
}

// BirthProfiles are the phases of the births of the machines of the shoot, by their names.
func (s *Shoot) BirthProfiles(ctx context.Context) (map[string]string, error) {
	list := &machinev1alpha1.MachineList{}
	if err := s.seed.Client.List(ctx, list, client.InNamespace(s.TechnicalID())); err != nil {
		return nil, err
	}
	result := map[string]string{}
	for _, m := range list.Items {
		result[m.Name] = m.Annotations[v1alpha1.AnnotationBirthProfile]
	}
	return result, nil
}

// WaitNodes waits until each site has a number of nodes, all of them ready and initialised by the cloud controllers of their site.
func (s *Shoot) WaitNodes(ctx context.Context, tell func(string), want map[string]int) error {
	return s.lab.wait(ctx, tell, func(ctx context.Context) (bool, string, error) {
		nodes := &corev1.NodeList{}
		if err := s.lab.ShootClient(s.TechnicalID()).List(ctx, nodes); err != nil {
			return false, err.Error(), nil
		}
		have, missing := map[string]int{}, []string(nil)
		for i := range nodes.Items {
			if reason := uninitialised(&nodes.Items[i]); reason != "" {
				missing = append(missing, nodes.Items[i].Name+" "+reason)
				continue
			}
			have[nodes.Items[i].Labels[v1alpha1.LabelSite]]++
		}
		var text []string
		for _, site := range slices.Sorted(maps.Keys(have)) {
			text = append(text, fmt.Sprintf("%s %d", site, have[site]))
		}
		message := "nodes: " + strings.Join(text, ", ")
		if len(missing) > 0 {
			message += "; " + strings.Join(missing, ", ")
		}
		return len(missing) == 0 && maps.Equal(have, want), message, nil
	})
}

// uninitialised says what a node lacks, nothing if it is ready and its cloud controllers have seen it.
func uninitialised(n *corev1.Node) string {
	ready := slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	tainted := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == cloudproviderapi.TaintExternalCloudProvider || t.Key == v1beta1constants.TaintNodeCriticalComponentsNotReady
	})
	hasAddress := slices.ContainsFunc(n.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP })
	switch {
	case !ready:
		return "is not ready"
	case n.Spec.ProviderID == "":
		return "has no provider ID"
	case !hasAddress:
		return "has no address"
	case n.Labels[corev1.LabelTopologyZone] == "" || n.Labels[v1alpha1.LabelSite] == "":
		return "has no zone or site"
	case tainted:
		return "is tainted"
	}
	return ""
}
