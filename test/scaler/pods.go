// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package scaler

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Pods are equal pods.
type Pods struct {
	// Count is their number.
	Count int
	// Request is what each of them needs. If it is empty, each needs a node.
	Request corev1.ResourceList
	// NodeSelector are labels of the nodes that they may run on.
	NodeSelector map[string]string
}

// fit returns how many of the pods a node of a deployment has room for, as far as its node template tells.
func (p Pods) fit(g *group) int {
	if !labels.SelectorFromSet(p.NodeSelector).Matches(labels.Set(g.labels())) {
		return 0
	}
	if len(p.Request) == 0 {
		return 1
	}
	capacity, fit := g.capacity(), -1
	for name, request := range p.Request {
		room := capacity[name]
		count := int(room.MilliValue() / request.MilliValue())
		if fit < 0 || count < fit {
			fit = count
		}
	}
	return fit
}
