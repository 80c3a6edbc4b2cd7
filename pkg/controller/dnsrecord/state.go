// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package dnsrecord

import (
	"context"
	"slices"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// readState returns what may have been written for the DNSRecord.
func readState(record *extensionsv1alpha1.DNSRecord) (*v1alpha1.DNSRecordState, error) {
	return shootsites.DecodeOptional[v1alpha1.DNSRecordState]("status.state", record.Status.State)
}

// valuesIn returns the values that may have been written to the zone, and false if none were.
func valuesIn(state *v1alpha1.DNSRecordState, zone string) ([]string, bool) {
	for _, z := range state.Zones {
		if z.Zone == zone {
			return z.Values, true
		}
	}
	return nil, false
}

// with returns the state with the values in the zone, and without the zone if there are none.
func with(state *v1alpha1.DNSRecordState, zone string, values []string) *v1alpha1.DNSRecordState {
	result := &v1alpha1.DNSRecordState{Zones: slices.DeleteFunc(slices.Clone(state.Zones),
		func(z v1alpha1.DNSRecordZone) bool { return z.Zone == zone })}
	if len(values) > 0 {
		result.Zones = append(result.Zones, v1alpha1.DNSRecordZone{Zone: zone, Values: values})
	}
	return result
}

// union returns the sorted union of both lists.
func union(some, others []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(some, others))))
}

// isCreated reports whether the record is known to have been written.
func isCreated(record *extensionsv1alpha1.DNSRecord) bool {
	condition := v1beta1helper.GetCondition(record.Status.Conditions, extensionsv1alpha1.ConditionTypeCreated)
	return condition != nil && condition.Status == gardencorev1beta1.ConditionTrue
}

// isWritten reports whether exactly the values are known to have been written, to the zone of the record.
func isWritten(record *extensionsv1alpha1.DNSRecord) bool {
	state, err := readState(record)
	if err != nil || !isCreated(record) || len(state.Zones) != 1 {
		return false
	}
	wanted, err := dns.NewRecord(record.Spec.Name, dns.Type(record.Spec.RecordType), record.Spec.Values, record.Spec.TTL)
	zone := ptr.Deref(record.Spec.Zone, "")
	return err == nil && slices.Equal(state.Zones[0].Values, wanted.Values) && (zone == "" || zone == state.Zones[0].Zone)
}

// setCreated sets the condition Created. Unless it exists and is not False, Gardener's library does not call Delete for a DNSRecord whose
// first reconciliation failed.
func setCreated(record *extensionsv1alpha1.DNSRecord, status gardencorev1beta1.ConditionStatus, reason, message string) error {
	condition, err := v1beta1helper.NewConditionBuilder(extensionsv1alpha1.ConditionTypeCreated)
	if err != nil {
		return err
	}
	if existing := v1beta1helper.GetCondition(record.Status.Conditions, extensionsv1alpha1.ConditionTypeCreated); existing != nil {
		condition = condition.WithOldCondition(*existing)
	}
	built, _ := condition.WithStatus(status).WithReason(reason).WithMessage(message).WithClock(clock.RealClock{}).Build()
	record.Status.Conditions = v1beta1helper.MergeConditions(record.Status.Conditions, built)
	return nil
}

// write changes the status, and patches it if it differs.
func (a *actuator) write(ctx context.Context, record *extensionsv1alpha1.DNSRecord, change func() error) error {
	before := record.DeepCopy()
	if err := change(); err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(before.Status, record.Status) {
		return nil
	}
	if err := a.client.Status().Patch(ctx, record, client.MergeFrom(before)); err != nil {
		return platform.NewError(platform.ClassTransient, "status: %w", err)
	}
	return nil
}

// restoreCreated sets the condition Created of a record that was migrated, of which only the state is kept. Otherwise Gardener's library
// would assume after the next failure that the record was never created.
func (a *actuator) restoreCreated(ctx context.Context, record *extensionsv1alpha1.DNSRecord, state *v1alpha1.DNSRecordState) error {
	if len(state.Zones) == 0 || v1beta1helper.GetCondition(record.Status.Conditions, extensionsv1alpha1.ConditionTypeCreated) != nil {
		return nil
	}
	return a.write(ctx, record, func() error {
		return setCreated(record, gardencorev1beta1.ConditionUnknown, "Restored",
			"The record may be in the DNS service, because it was written before")
	})
}

// announce adds the values that are about to be written to the state, so that they can be deleted in any case.
func (a *actuator) announce(ctx context.Context, record *extensionsv1alpha1.DNSRecord, state *v1alpha1.DNSRecordState, zone string,
	wanted dns.Record) (*v1alpha1.DNSRecordState, error) {
	written, _ := valuesIn(state, zone)
	values := union(written, wanted.Values)
	if !slices.Equal(values, written) {
		state = with(state, zone, values)
	}
	return state, a.write(ctx, record, func() error {
		record.Status.Zone = &zone
		if !isCreated(record) || !slices.Equal(values, written) {
			if err := setCreated(record, gardencorev1beta1.ConditionUnknown, "Writing", "The record may be in the DNS service"); err != nil {
				return err
			}
		}
		return a.encode(record, state)
	})
}

// revoke undoes the first announcement after the service refused the values.
func (a *actuator) revoke(ctx context.Context, record *extensionsv1alpha1.DNSRecord, state *v1alpha1.DNSRecordState, zone string) error {
	return a.write(ctx, record, func() error {
		record.Status.Zone = nil
		if len(state.Zones) <= 1 {
			if err := setCreated(record, gardencorev1beta1.ConditionFalse, "Refused",
				"The DNS service refused the record, so it is not there"); err != nil {
				return err
			}
		}
		return a.encode(record, with(state, zone, nil))
	})
}

// encode sets the state in the status unless it is equal.
func (a *actuator) encode(record *extensionsv1alpha1.DNSRecord, state *v1alpha1.DNSRecordState) error {
	if current, err := readState(record); err == nil && equality.Semantic.DeepEqual(current.Zones, state.Zones) {
		return nil
	}
	encoded, err := codec.Encode(state)
	if err != nil {
		return err
	}
	record.Status.State = encoded
	return nil
}
