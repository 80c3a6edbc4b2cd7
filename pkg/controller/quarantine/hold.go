// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package quarantine

import (
	"maps"
	"time"

	"github.com/gardener/gardener/extensions/pkg/controller/worker/genericactuator"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/machineapi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
)

// defaultHealthTimeout is that of machine-controller-manager.
const defaultHealthTimeout = 10 * time.Minute

// hold is the quarantine of a site.
type hold struct {
	until    time.Time
	duration time.Duration
}

// holds are the quarantines by the names of the sites.
type holds map[string]hold

// holdDeployment makes machine-controller-manager keep the machines of the deployment and interrupt a rolling update, and makes the
// cluster-autoscaler keep their nodes. It restores what the pool says after the quarantine. pools are those of the Worker by their names.
func (h holds) holdDeployment(deployment *machinev1alpha1.MachineDeployment, pools map[string]*extensionsv1alpha1.WorkerPool) {
	site := deployment.Spec.Template.Spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite]
	held, marked := h[site], isMarked(&deployment.ObjectMeta)
	switch {
	case !held.until.IsZero():
		mark(&deployment.ObjectMeta, held.until)
		maps.Copy(deployment.Annotations, machineapi.KeepNodes(held.duration))
		deployment.Spec.Paused = true
		disableHealthTimeout(&deployment.Spec.Template.Spec, new(true))
	case marked:
		settings, disabled := ofPool(pools[deployment.Labels[v1beta1constants.LabelWorkerPool]], site)
		unmark(&deployment.ObjectMeta)
		for annotation := range machineapi.KeepNodes(0) {
			delete(deployment.Annotations, annotation)
			if value := settings[annotation]; value != "" {
				deployment.Annotations[annotation] = value
			}
		}
		deployment.Spec.Paused = false
		disableHealthTimeout(&deployment.Spec.Template.Spec, disabled)
	}
}

// holdSet does the same with a machine set. machine-controller-manager copies the configuration of a deployment only to its newest set, and
// a set's to its machines. disabled is what the deployment of the set says.
func (h holds) holdSet(set *machinev1alpha1.MachineSet, disabled *bool) {
	held := h[set.Spec.Template.Spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite]]
	switch {
	case !held.until.IsZero():
		mark(&set.ObjectMeta, held.until)
		disableHealthTimeout(&set.Spec.Template.Spec, new(true))
	case isMarked(&set.ObjectMeta):
		unmark(&set.ObjectMeta)
		disableHealthTimeout(&set.Spec.Template.Spec, disabled)
	}
}

// holdClass makes the driver refuse to delete and create machines of the class on the site.
func (h holds) holdClass(class *machinev1alpha1.MachineClass) {
	if held := h[class.Labels[v1alpha1.LabelSite]]; !held.until.IsZero() {
		mark(&class.ObjectMeta, held.until)
	} else {
		unmark(&class.ObjectMeta)
	}
}

func mark(object *metav1.ObjectMeta, until time.Time) {
	metav1.SetMetaDataAnnotation(object, v1alpha1.AnnotationQuarantinedUntil, format(until))
}

func isMarked(object *metav1.ObjectMeta) bool {
	return metav1.HasAnnotation(*object, v1alpha1.AnnotationQuarantinedUntil)
}

func unmark(object *metav1.ObjectMeta) {
	delete(object.Annotations, v1alpha1.AnnotationQuarantinedUntil)
}

func disableHealthTimeout(spec *machinev1alpha1.MachineSpec, disabled *bool) {
	if spec.MachineConfiguration == nil {
		spec.MachineConfiguration = &machinev1alpha1.MachineConfiguration{}
	}
	spec.DisableHealthTimeout = disabled
}

// ofPool returns the annotations for the cluster-autoscaler, and whether the health timeout is disabled, as the pool says for a site. pool
// is nil if it was removed.
func ofPool(pool *extensionsv1alpha1.WorkerPool, site string) (annotations map[string]string, disabled *bool) {
	if pool == nil {
		return nil, nil
	}
	config, _ := shootsites.DecodeOptional[v1alpha1.WorkerConfig]("providerConfig", pool.ProviderConfig)
	annotations = machineapi.AutoscalerAnnotations(pool.ClusterAutoscaler, config.Site(site).ClusterAutoscaler)
	return annotations, genericactuator.ReadMachineConfiguration(*pool).DisableHealthTimeout
}

// healthTimeouts returns the greatest health timeouts of the deployments by the names of their sites.
func healthTimeouts(deployments []machinev1alpha1.MachineDeployment) map[string]time.Duration {
	timeouts := map[string]time.Duration{}
	for i := range deployments {
		spec, timeout := &deployments[i].Spec.Template.Spec, defaultHealthTimeout
		if spec.MachineConfiguration != nil && spec.MachineHealthTimeout != nil {
			timeout = spec.MachineHealthTimeout.Duration
		}
		site := spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite]
		timeouts[site] = max(timeouts[site], timeout)
	}
	return timeouts
}
