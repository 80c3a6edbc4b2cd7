// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth

import (
	"context"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
)

const (
	// ReasonMachineFault is the reason of the events about machines that something is wrong with.
	ReasonMachineFault = "MachineFault"
	// ReasonMachineFaultGone is the reason of the events about machines that nothing is wrong with any more.
	ReasonMachineFaultGone = "MachineFaultGone"
)

// tellFaults tells of what is new about faults, in events of the Worker and of the Machines.
func (r *reconciler) tellFaults(ctx context.Context, worker *extensionsv1alpha1.Worker, faults []siteFaults) {
	for _, f := range faults {
		for _, fault := range f.Appeared {
			r.tellFault(ctx, worker, fault.Machine, corev1.EventTypeWarning, ReasonMachineFault, note(f.Site, fault))
		}
		for _, fault := range f.Gone {
			fault.Message = "there is no fault any more"
			r.tellFault(ctx, worker, fault.Machine, corev1.EventTypeNormal, ReasonMachineFaultGone, note(f.Site, fault))
		}
	}
}

func (r *reconciler) tellFault(ctx context.Context, worker *extensionsv1alpha1.Worker, machineName, eventType, reason, note string) {
	note = eventnote.Shorten(note)
	r.faultEvents.Event(worker, eventType, reason, note)

	// A host can outlive the Machine that it was. Then the Worker alone has the event.
	machine := &machinev1alpha1.Machine{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: worker.Namespace, Name: machineName}, machine); err == nil {
		r.faultEvents.Event(machine, eventType, reason, note)
	}
}

// newFaultRecorder returns a recorder that writes each fault. The recorders of the manager make one event of all that are about the same
// object for the same reason within some minutes, with the note of the first, so that only one of the hosts in a rack would be told.
func newFaultRecorder(mgr manager.Manager) (record.EventRecorder, error) {
	core, err := corev1client.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	const unlimited = 10000 // of one object in the ten minutes that the limits are about
	broadcaster := record.NewBroadcaster(record.WithCorrelatorOptions(record.CorrelatorOptions{MaxEvents: unlimited, BurstSize: unlimited}))
	broadcaster.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: core.Events("")})
	err = mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		broadcaster.Shutdown()
		return nil
	}))
	return broadcaster.NewRecorder(mgr.GetScheme(), corev1.EventSource{Component: v1alpha1.ExtensionName + "-faults"}), err
}
