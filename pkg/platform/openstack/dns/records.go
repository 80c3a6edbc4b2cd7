// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/dns/v2/recordsets"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

const (
	statusActive = "ACTIVE"
	statusError  = "ERROR"
	actionDelete = "DELETE"

	// setsPerPage is Designate's default maximum. The name filter for a wildcard matches all names below it.
	setsPerPage = 1000

	description = "Managed by gardener-extension-provider-hybrid"
)

// Ensure implements dns.Provider.
func (p *provider) Ensure(ctx context.Context, zone string, record dns.Record, _ bool) error {
	return platform.InSite(p.session.Site, p.forgetMissing(p.ensure(ctx, zone, record)))
}

func (p *provider) ensure(ctx context.Context, zone string, record dns.Record) error {
	set, err := p.find(ctx, zone, record)
	if err != nil {
		return err
	}
	if isDeleting(set) {
		return visible(set, record)
	}
	same := set != nil && record.SameValues(valuesOf(set)) && set.TTL == int(record.TTL)
	switch {
	case same && set.Status == statusActive:
		return nil
	case same && set.Status != statusError:
		// An earlier change is pending.
	case set == nil:
		set, err = client.Extracted(recordsets.Create(ctx, p.api, zone, recordsets.CreateOpts{
			Name: record.Name, Type: string(record.Type), TTL: int(record.TTL), Records: record.Values, Description: description,
		}).Extract())
	default:
		set, err = client.Extracted(recordsets.Update(ctx, p.api, zone, set.ID,
			recordsets.UpdateOpts{Records: record.Values, TTL: new(int(record.TTL))}).Extract())
	}
	if err != nil {
		return p.requestError(err)
	}
	return visible(set, record)
}

// Delete implements dns.Provider.
func (p *provider) Delete(ctx context.Context, zone string, record dns.Record) error {
	err := p.forgetMissing(p.delete(ctx, zone, record))
	return platform.InSite(p.session.Site, client.IgnoreNotFound(err))
}

func (p *provider) delete(ctx context.Context, zone string, record dns.Record) error {
	set, err := p.find(ctx, zone, record)
	if err != nil || set == nil {
		return err
	}
	if isDeleting(set) {
		return visible(set, record)
	}
	left := slices.DeleteFunc(valuesOf(set), func(value string) bool { return slices.Contains(record.Values, value) })
	switch {
	case len(left) == 0:
		err = recordsets.Delete(ctx, p.api, zone, set.ID).ExtractErr()
		set.Status = ""
	case len(left) == len(set.Records):
		return nil
	default:
		set, err = client.Extracted(recordsets.Update(ctx, p.api, zone, set.ID, recordsets.UpdateOpts{Records: left, TTL: ttlOf(set)}).Extract())
	}
	if err != nil {
		return p.requestError(err)
	}
	return visible(set, record)
}

// ttlOf preserves the TTL of a set, which may be inherited from the zone.
func ttlOf(set *recordsets.RecordSet) *int {
	if set.TTL == 0 {
		return nil
	}
	return &set.TTL
}

// find returns the set with the record's name and type, or nil if it does not exist.
func (p *provider) find(ctx context.Context, zone string, record dns.Record) (*recordsets.RecordSet, error) {
	sets, err := client.List(ctx,
		recordsets.ListByZone(p.api, zone,
			recordsets.ListOpts{Name: record.Name, Type: string(record.Type), Limit: setsPerPage}), recordsets.ExtractRecordSets)
	if err != nil {
		return nil, p.requestError(err)
	}
	// Designate's filters treat * as a wildcard, we do not.
	return lists.Find(sets, func(set *recordsets.RecordSet) bool {
		return dns.Canonical(set.Name) == record.Name && set.Type == string(record.Type)
	}), nil
}

// isDeleting reports whether the set is being deleted.
func isDeleting(set *recordsets.RecordSet) bool {
	return set != nil && set.Action == actionDelete && set.Status != statusError
}

// visible returns nil if the name servers serve the set, and progress if Designate has yet to update them.
func visible(set *recordsets.RecordSet, record dns.Record) error {
	switch {
	case set == nil:
		return platform.NewError(platform.ClassTransient, "Designate did not return the changed record %s of type %s", record.Name, record.Type)
	case set.Status == statusActive:
		return nil
	case set.Status == statusError:
		return platform.NewError(platform.ClassTransient,
			"record %s of type %s is in status ERROR: Designate failed to update its name servers", record.Name, record.Type)
	default:
		return platform.NewProgress("the change of record %s of type %s has not reached Designate's name servers yet", record.Name, record.Type)
	}
}

// forgetMissing invalidates the cached zones if a zone no longer exists.
func (p *provider) forgetMissing(err error) error {
	if err != nil && client.IsNotFound(err) {
		p.zones.Forget("")
	}
	return err
}

// valuesOf returns the values of a set in the form of a Record. Invalid values are kept unchanged, so they match no record.
func valuesOf(set *recordsets.RecordSet) []string {
	values := make([]string, 0, len(set.Records))
	for _, data := range set.Records {
		value, err := dns.CanonicalValue(dns.Type(set.Type), data)
		if err != nil {
			value = data
		}
		values = append(values, value)
	}
	return values
}
