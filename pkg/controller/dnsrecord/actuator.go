// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package dnsrecord

import (
	"context"
	"errors"
	"fmt"
	"slices"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	"github.com/gardener/gardener/extensions/pkg/controller/dnsrecord"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	reconcilerutils "github.com/gardener/gardener/pkg/controllerutils/reconciler"
	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	reasonRecordLeft  = "RecordLeft"
	reasonRecordStays = "RecordStays"
	actionDelete      = "Delete"
	actionReconcile   = "Reconcile"
)

type actuator struct {
	client client.Client
	// reader reads from the API server.
	reader   client.Reader
	events   eventnote.Writer
	services dns.Registry
}

// NewActuator returns the actuator for DNSRecords. The reader must not be a cache.
func NewActuator(c client.Client, reader client.Reader, recorder events.EventRecorder, services dns.Registry) dnsrecord.Actuator {
	return &actuator{client: c, reader: reader, events: eventnote.Writer{EventRecorder: recorder}, services: services}
}

// Reconcile sets the values of the record set, and deletes values that it wrote to other zones before. It succeeds when the service returns
// the values. If the service does not respond, it also succeeds if nothing has to be changed: otherwise gardenlet would not reconcile the
// shoot, which may have other sites than that of the service.
func (a *actuator) Reconcile(ctx context.Context, log logr.Logger, record *extensionsv1alpha1.DNSRecord,
	cluster *extensionscontroller.Cluster) error {
	err := a.reconcile(ctx, record, cluster)
	reported := a.result(ctx, record, err)
	var later *reconcilerutils.RequeueAfterError
	if reported == nil || errors.As(reported, &later) || platform.ClassOf(err) != platform.ClassTransient || !isWritten(record) {
		return reported
	}
	log.Error(err, "Record could not be compared and is retained")
	a.events.Warning(record, reasonRecordStays, actionReconcile,
		"Record %s of type %s could not be compared and is retained, as it needed no change: %v", record.Spec.Name, record.Spec.RecordType, err)
	return nil
}

// Restore is the same as Reconcile: the record still exists, and the status has the state.
func (a *actuator) Restore(ctx context.Context, log logr.Logger, record *extensionsv1alpha1.DNSRecord,
	cluster *extensionscontroller.Cluster) error {
	return a.Reconcile(ctx, log, record, cluster)
}

// Migrate is a no-op: the record is used until the other seed writes its own values.
func (a *actuator) Migrate(context.Context, logr.Logger, *extensionsv1alpha1.DNSRecord, *extensionscontroller.Cluster) error {
	return nil
}

// Delete deletes only the values that may have been written for the DNSRecord.
func (a *actuator) Delete(ctx context.Context, _ logr.Logger, record *extensionsv1alpha1.DNSRecord,
	cluster *extensionscontroller.Cluster) error {
	return a.result(ctx, record, a.delete(ctx, record, cluster))
}

// ForceDelete is like Delete, but leaves the record and records an event if that fails.
func (a *actuator) ForceDelete(ctx context.Context, log logr.Logger, record *extensionsv1alpha1.DNSRecord,
	cluster *extensionscontroller.Cluster) error {
	err := a.delete(ctx, record, cluster)
	if platform.IsProgress(err) {
		err = nil // the service has accepted it
	}
	current := turnOf(ctx)
	if after, again := current.finish(record.Generation, err); again {
		current.leave()
		return &reconcilerutils.RequeueAfterError{Cause: err, RequeueAfter: after}
	}
	if err != nil {
		log.Error(err, "Leaving the record in the DNS service")
		a.events.Warning(record, reasonRecordLeft, actionDelete, "Record %s of type %s may be left: %v", record.Spec.Name,
			record.Spec.RecordType, err)
	}
	return nil
}

func (a *actuator) reconcile(ctx context.Context, record *extensionsv1alpha1.DNSRecord, cluster *extensionscontroller.Cluster) error {
	state, err := readState(record)
	if err != nil {
		return err
	}
	if err := a.restoreCreated(ctx, record, state); err != nil {
		return err
	}
	wanted, err := dns.NewRecord(record.Spec.Name, dns.Type(record.Spec.RecordType), record.Spec.Values, record.Spec.TTL)
	if err != nil {
		return err
	}
	provider, err := a.open(ctx, record, cluster)
	if err != nil {
		return err
	}
	zone, err := zoneOf(ctx, provider, record)
	if err != nil {
		return err
	}
	err = a.ensure(ctx, provider, record, state, zone, wanted)
	if platform.ClassOf(err) == platform.ClassNotFound && err != nil && record.Spec.Zone == nil {
		// The zone was deleted, and possibly created again.
		if zone, err = provider.Zone(ctx, "", record.Spec.Name); err != nil {
			return err
		}
		if state, err = readState(record); err != nil {
			return err
		}
		err = a.ensure(ctx, provider, record, state, zone, wanted)
	}
	if err != nil {
		return err
	}
	return a.cleanUp(ctx, provider, record, zone, wanted)
}

// zoneOf returns the zone of the record: the one in the spec, or else the one that was found first.
func zoneOf(ctx context.Context, provider dns.Provider, record *extensionsv1alpha1.DNSRecord) (string, error) {
	switch {
	case record.Spec.Zone != nil && *record.Spec.Zone != "":
		return provider.Zone(ctx, *record.Spec.Zone, record.Spec.Name)
	case record.Status.Zone != nil && *record.Status.Zone != "":
		return *record.Status.Zone, nil
	default:
		return provider.Zone(ctx, "", record.Spec.Name)
	}
}

func (a *actuator) ensure(ctx context.Context, provider dns.Provider, record *extensionsv1alpha1.DNSRecord, state *v1alpha1.DNSRecordState,
	zone string, wanted dns.Record) error {
	written, announced := valuesIn(state, zone)
	known := isCreated(record) && slices.Equal(written, wanted.Values) || turnOf(ctx).waits(record.Generation)
	state, err := a.announce(ctx, record, state, zone, wanted)
	if err != nil {
		return err
	}
	err = provider.Ensure(ctx, zone, wanted, known)
	if err != nil && !announced && isRefusal(err) {
		return errors.Join(err, a.revoke(ctx, record, state, zone))
	}
	return err
}

// isRefusal reports whether the error means that nothing was written.
func isRefusal(err error) bool {
	switch platform.ClassOf(err) {
	case platform.ClassUnauthenticated, platform.ClassForbidden, platform.ClassNotFound, platform.ClassConfiguration, platform.ClassQuota:
		return true
	default:
		return false
	}
}

// cleanUp deletes what was written to other zones, and updates the state.
func (a *actuator) cleanUp(ctx context.Context, provider dns.Provider, record *extensionsv1alpha1.DNSRecord, zone string,
	wanted dns.Record) error {
	state, err := readState(record)
	if err != nil {
		return err
	}
	for _, former := range state.Zones {
		if former.Zone == zone {
			continue
		}
		left := wanted
		left.Values = former.Values
		if err := provider.Delete(ctx, former.Zone, left); err != nil {
			return fmt.Errorf("former zone %s: %w", former.Zone, err)
		}
		state = with(state, former.Zone, nil)
	}
	return a.write(ctx, record, func() error { return a.encode(record, with(state, zone, wanted.Values)) })
}

func (a *actuator) delete(ctx context.Context, record *extensionsv1alpha1.DNSRecord, cluster *extensionscontroller.Cluster) error {
	// An invalid value was never written, so it is not an error.
	spec, specErr := dns.NewRecord(record.Spec.Name, dns.Type(record.Spec.RecordType), record.Spec.Values, record.Spec.TTL)
	state, err := readState(record)
	if err != nil {
		return err
	}
	provider, err := a.open(ctx, record, cluster)
	if err != nil {
		return err
	}
	zones := state.Zones
	if len(zones) == 0 && specErr == nil {
		zone, err := zoneOf(ctx, provider, record)
		switch {
		case err == nil:
			zones = []v1alpha1.DNSRecordZone{{Zone: zone, Values: spec.Values}}
		case platform.ClassOf(err) != platform.ClassNotFound:
			return err
		}
	}
	var (
		errs     []error
		progress error
	)
	for _, zone := range zones {
		written := dns.Record{Name: dns.Canonical(record.Spec.Name), Type: dns.Type(record.Spec.RecordType), Values: zone.Values}
		switch err := provider.Delete(ctx, zone.Zone, written); {
		case platform.IsProgress(err):
			progress = err
		case err != nil:
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		return progress
	}
	return errors.Join(errs...)
}

// result adds codes to the error, and requeues as requested by the service. While the service is in progress, or the record has to wait,
// the status shows no error.
func (a *actuator) result(ctx context.Context, record *extensionsv1alpha1.DNSRecord, err error) error {
	current := turnOf(ctx)
	if after, again := current.finish(record.Generation, err); again {
		if created := v1beta1helper.GetCondition(record.Status.Conditions, extensionsv1alpha1.ConditionTypeCreated); created == nil &&
			record.DeletionTimestamp == nil {
			// Gardener's library only sets the condition if it writes an error.
			if err := a.write(ctx, record, func() error {
				return setCreated(record, gardencorev1beta1.ConditionFalse, "NotAsked", "The record was not written yet")
			}); err != nil {
				return err
			}
		}
		current.leave()
		return &reconcilerutils.RequeueAfterError{Cause: err, RequeueAfter: after}
	}
	if err == nil {
		return nil
	}
	var classified *platform.Error
	if errors.As(err, &classified) && classified.RetryAfter > 0 {
		return &reconcilerutils.RequeueAfterError{Cause: errorcodes.WithCodes(err), RequeueAfter: classified.RetryAfter}
	}
	return errorcodes.WithCodes(err)
}
