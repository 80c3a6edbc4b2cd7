// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package statichost

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
)

const (
	labelNamespace = "namespace"
	labelHost      = "host"
)

var (
	phases = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "static_host_phase", Help: "1 for the phase that a host is in.",
	}, []string{labelNamespace, labelHost, "phase"})
	reachable = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "static_host_reachable", Help: "Whether commands run as root on a host.",
	}, []string{labelNamespace, labelHost})
	contacts = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "static_host_contact_duration_seconds", Help: "How long it took to connect to a host and to observe it, by the result.",
		Buckets: []float64{0.25, 0.5, 1, 2, 5, 10, 30, 60},
	}, []string{"result"})
)

func init() {
	metrics.Registry.MustRegister(phases, reachable, contacts)
}

func setMetrics(h *v1alpha1.StaticHost) {
	forgetMetrics(types.NamespacedName{Namespace: h.Namespace, Name: h.Name})
	phases.WithLabelValues(h.Namespace, h.Name, string(h.Status.Phase)).Set(1)
	value := 0.0
	if meta.IsStatusConditionTrue(h.Status.Conditions, v1alpha1.ConditionReachable) {
		value = 1
	}
	reachable.WithLabelValues(h.Namespace, h.Name).Set(value)
}

func forgetMetrics(key types.NamespacedName) {
	labels := prometheus.Labels{labelNamespace: key.Namespace, labelHost: key.Name}
	phases.DeletePartialMatch(labels)
	reachable.DeletePartialMatch(labels)
}

func countContact(problem *failure, took time.Duration) {
	result := "Connected"
	if problem != nil {
		result = problem.reason
	}
	contacts.WithLabelValues(result).Observe(took.Seconds())
}

// tell writes an event for each condition that has another status or reason.
func (w *work) tell(before, after v1alpha1.StaticHostStatus) {
	for _, c := range after.Conditions {
		old := meta.FindStatusCondition(before.Conditions, c.Type)
		if old != nil && old.Status == c.Status && old.Reason == c.Reason {
			continue
		}
		if isAlarming(c) {
			w.events.Warning(w.host, c.Reason, c.Type, "%s", c.Message)
			continue
		}
		w.events.Normal(w.host, c.Reason, c.Type, "%s", c.Message)
	}
}

// isAlarming reports whether an administrator should look at the host.
func isAlarming(c metav1.Condition) bool {
	return c.Status == metav1.ConditionFalse && c.Reason != "InUse" && c.Reason != "Releasing"
}

// condition sets a condition.
func (w *work) condition(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&w.host.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message,
		ObservedGeneration: w.host.Generation, LastTransitionTime: metav1.Time{Time: w.now()}})
}

func (w *work) is(kind string) bool {
	return meta.IsStatusConditionTrue(w.host.Status.Conditions, kind)
}

// isReachable reports whether the host answered at the last contact, or was not yet asked.
func (w *work) isReachable() bool {
	return !meta.IsStatusConditionFalse(w.host.Status.Conditions, v1alpha1.ConditionReachable)
}

// unreachable says why nothing can be done. A host that is available is no longer.
func (w *work) unreachable(problem *failure) {
	w.condition(v1alpha1.ConditionReachable, metav1.ConditionFalse, problem.reason, problem.message)
	if w.host.Status.Phase == v1alpha1.PhaseAvailable {
		w.host.Status.Phase = v1alpha1.PhasePending
	}
}

// unknown says that the host is not asked.
func (w *work) unknown(reason, message string) {
	w.condition(v1alpha1.ConditionReachable, metav1.ConditionUnknown, reason, message)
}

// dirty says that something may be left on the host.
func (w *work) dirty(reason, message string) {
	w.host.Status.Phase = v1alpha1.PhaseDirty
	w.condition(v1alpha1.ConditionClean, metav1.ConditionFalse, reason, message+" Look at the host, and then set the annotation "+
		v1alpha1.AnnotationRetry+" to release it again, or delete this StaticHost.")
}
