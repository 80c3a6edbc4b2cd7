// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package played

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// syncMonitoring plays prometheus-operator: nothing is monitored, but all is reported to run.
func (o *Operators) syncMonitoring(ctx context.Context) error {
	var errs []error
	for _, kind := range []string{"Prometheus", "Alertmanager"} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: kind + "List"})
		err := o.Client.List(ctx, list)
		if meta.IsNoMatchError(err) {
			continue
		}
		errs = append(errs, err)
		for i := range list.Items {
			errs = append(errs, o.reportAvailable(ctx, &list.Items[i]))
		}
	}
	return errors.Join(errs...)
}

func (o *Operators) reportAvailable(ctx context.Context, object *unstructured.Unstructured) error {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["observedGeneration"] == object.GetGeneration() {
			return nil
		}
	}
	replicas, found, _ := unstructured.NestedInt64(object.Object, "spec", "replicas")
	if !found {
		replicas = 1
	}
	var status []any
	for _, kind := range []string{"Available", "Reconciled"} {
		status = append(status, map[string]any{
			"type": kind, "status": "True", "observedGeneration": object.GetGeneration(),
			"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
		})
	}
	before := object.DeepCopy()
	object.Object["status"] = map[string]any{
		"paused": false, "replicas": replicas, "updatedReplicas": replicas, "availableReplicas": replicas, "unavailableReplicas": int64(0),
		"conditions": status,
	}
	return client.IgnoreNotFound(o.Client.Status().Patch(ctx, object, client.MergeFrom(before)))
}
