// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package rfc2136

import (
	"context"
	"slices"
	"strings"
	"time"

	mdns "github.com/miekg/dns"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

type provider struct {
	*client
	service *service
}

// Ensure implements dns.Provider. The set is replaced in one message, so that no query is answered with a part of it.
func (p *provider) Ensure(ctx context.Context, zone string, record dns.Record, known bool) error {
	if record.Type == dns.TypeCNAME && record.Name == zone {
		return platform.NewError(platform.ClassConfiguration, "spec.name: the apex %s of a zone cannot be a CNAME", zone)
	}
	connection := p.connect()
	defer connection.close()
	// A wildcard above the name may answer with the same values. So a record is compared instead of written only if it was written before.
	if known {
		if same, _, err := connection.lookup(ctx, record); err != nil || same {
			return err
		}
	}

	if err := p.checkDelegation(ctx, connection, zone, record.Name); err != nil {
		return err
	}

	rrs, err := record.RRs()
	if err != nil {
		return err
	}
	update := new(mdns.Msg).SetUpdate(zone)
	update.RemoveRRset(rrs[:1])
	update.Insert(rrs)
	answer, err := connection.ask(ctx, update)
	if answer != nil && answer.Rcode == mdns.RcodeSuccess && err != nil {
		return record.Accepted("DNS server "+p.server, "its response cannot be trusted", err)
	}
	if err != nil {
		return err
	}
	if err := p.classify(answer, "an update of zone "+zone); err != nil {
		return err
	}
	return record.Accepted("DNS server "+p.server, "cannot be queried for it", connection.await(ctx, record))
}

// checkDelegation returns an error if no server would answer with a record of the name in the zone, because the name is in a zone below.
func (p *provider) checkDelegation(ctx context.Context, connection *connection, zone, name string) error {
	found, err := connection.zoneOf(ctx, name)
	if err != nil || found == "" || found == zone {
		return err
	}
	p.service.zones.Forget(p.cacheKey(name))
	return platform.NewError(platform.ClassNotFound,
		"DNS server %s answers %s from zone %s, so a record in zone %s would never be served", p.server, name, found, zone)
}

// Delete implements dns.Provider. The server removes existing values in one step, so there is no need to read them first.
func (p *provider) Delete(ctx context.Context, zone string, record dns.Record) error {
	connection := p.connect()
	defer connection.close()
	rrs, err := record.RRs()
	if err != nil || len(rrs) == 0 {
		return err
	}
	update := new(mdns.Msg).SetUpdate(zone)
	update.Remove(rrs)
	answer, err := connection.ask(ctx, update)
	if err != nil {
		return err
	}
	if answer.Rcode == mdns.RcodeNotAuth {
		return connection.confirmMissing(ctx, zone)
	}
	return p.classify(answer, "an update of zone "+zone)
}

// confirmMissing returns nil if the server does not have the zone.
func (c *connection) confirmMissing(ctx context.Context, zone string) error {
	found, err := c.zoneOf(ctx, zone)
	if err == nil && found == zone {
		return platform.NewError(platform.ClassTransient, "DNS server %s has zone %s but rejects updates of it", c.server, zone)
	}
	if platform.ClassOf(err) == platform.ClassNotFound {
		return nil
	}
	return err
}

// await returns nil once the server serves the record, and progress if it takes too long.
func (c *connection) await(ctx context.Context, record dns.Record) error {
	enough, cancel := context.WithTimeout(ctx, visibleTimeout)
	defer cancel()
	pause := firstPoll
	for {
		same, found, err := c.lookup(ctx, record)
		if err != nil || same {
			return err
		}
		if len(found) == 0 {
			if err := c.checkConflicts(ctx, record); err != nil {
				return err
			}
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
			pause *= 2
		case <-enough.Done():
			timer.Stop()
			return platform.NewProgress("DNS server %s accepted record %s of type %s but does not serve it yet", c.server, record.Name,
				record.Type)
		}
	}
}

// lookup reports whether the server serves exactly the record, and returns its values.
func (c *connection) lookup(ctx context.Context, record dns.Record) (bool, []string, error) {
	answer, err := c.query(ctx, record.Name, mdns.StringToType[string(record.Type)])
	if err != nil {
		return false, nil, err
	}
	if answer.Rcode != mdns.RcodeNameError {
		if err := c.classify(answer, "a query for "+record.Name); err != nil {
			return false, nil, err
		}
	}
	var (
		values []string
		same   = answer.Authoritative
	)
	for _, rr := range answer.Answer {
		if strings.EqualFold(rr.Header().Name, record.Name) && mdns.TypeToString[rr.Header().Rrtype] == string(record.Type) {
			values = append(values, dns.ValueOf(rr))
			same = same && rr.Header().Ttl == record.TTL
		}
	}
	return same && record.SameValues(values), values, nil
}

// checkConflicts returns an error if the name has records that exclude the type: a CNAME must be alone at its name, and servers silently
// ignore such updates.
func (c *connection) checkConflicts(ctx context.Context, record dns.Record) error {
	answer, err := c.query(ctx, record.Name, mdns.TypeANY)
	if err != nil {
		return err
	}
	var types []string
	for _, rr := range answer.Answer {
		kind := rr.Header().Rrtype
		isCNAME, wantsCNAME := kind == mdns.TypeCNAME, record.Type == dns.TypeCNAME
		if strings.EqualFold(rr.Header().Name, record.Name) && isCNAME != wantsCNAME && kind != mdns.TypeRRSIG && kind != mdns.TypeNSEC {
			types = append(types, mdns.TypeToString[kind])
		}
	}
	if len(types) == 0 {
		return nil
	}
	slices.Sort(types)
	return platform.NewError(platform.ClassConflict, "DNS server %s has records of type %q at %s, which exclude records of type %s",
		c.server, slices.Compact(types), record.Name, record.Type)
}

func (c *connection) query(ctx context.Context, name string, kind uint16) (*mdns.Msg, error) {
	question := new(mdns.Msg).SetQuestion(name, kind)
	question.RecursionDesired = false
	return c.ask(ctx, question)
}
