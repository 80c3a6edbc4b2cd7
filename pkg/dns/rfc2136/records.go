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

// Ensure implements dns.Provider. The set is replaced in one message, so that nobody is answered with a part of it.
func (p *provider) Ensure(ctx context.Context, zone string, record dns.Record, known bool) error {
	if record.Type == dns.TypeCNAME && record.Name == zone {
		return platform.NewError(platform.ClassConfiguration, "spec.name: a zone's own name %s cannot be a CNAME", zone)
	}
	connection := p.connect()
	defer connection.close()
	// A wildcard above the name answers in its stead with what may be the same values. So only a record that was written before is
	// looked at instead of written.
	if known {
		if same, _, err := connection.look(ctx, record); err != nil || same {
			return err
		}
	}

	if err := p.reachable(ctx, connection, zone, record.Name); err != nil {
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
		return record.Accepted("DNS server "+p.server, "its answer cannot be trusted", err)
	}
	if err != nil {
		return err
	}
	if err := p.classify(answer, "an update of zone "+zone); err != nil {
		return err
	}
	return record.Accepted("DNS server "+p.server, "cannot be asked for it", connection.await(ctx, record))
}

// reachable returns an error if a record of the name in the zone would be answered by nobody, because the name is in a zone below.
func (p *provider) reachable(ctx context.Context, connection *connection, zone, name string) error {
	found, err := connection.zoneOf(ctx, name)
	if err != nil || found == "" || found == zone {
		return err
	}
	p.service.zones.Forget(p.cacheKey(name))
	return platform.NewError(platform.ClassNotFound,
		"DNS server %s answers %s from zone %s, so a record in zone %s would be answered by nobody", p.server, name, found, zone)
}

// Delete implements dns.Provider. The server removes the values that are there, in one step, so nobody has to look before.
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
		return connection.gone(ctx, zone)
	}
	return p.classify(answer, "an update of zone "+zone)
}

// gone returns nil if the server does not have the zone, and so nothing in it.
func (c *connection) gone(ctx context.Context, zone string) error {
	found, err := c.zoneOf(ctx, zone)
	if err == nil && found == zone {
		return platform.NewError(platform.ClassTransient, "DNS server %s has zone %s and takes no update of it", c.server, zone)
	}
	if platform.ClassOf(err) == platform.ClassNotFound {
		return nil
	}
	return err
}

// await returns when the server answers with the record, or progress if it takes its time.
func (c *connection) await(ctx context.Context, record dns.Record) error {
	enough, cancel := context.WithTimeout(ctx, visibleTimeout)
	defer cancel()
	pause := firstLook
	for {
		same, found, err := c.look(ctx, record)
		if err != nil || same {
			return err
		}
		if len(found) == 0 {
			if err := c.others(ctx, record); err != nil {
				return err
			}
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
			pause *= 2
		case <-enough.Done():
			timer.Stop()
			return platform.NewProgress("DNS server %s accepted record %s of type %s and does not answer with it yet", c.server, record.Name,
				record.Type)
		}
	}
}

// look reports whether the server answers with exactly the record, and which values it has.
func (c *connection) look(ctx context.Context, record dns.Record) (bool, []string, error) {
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

// others returns an error if the name has records that keep those of the type away: CNAME is alone at a name, and servers do not
// refuse the update but leave it out.
func (c *connection) others(ctx context.Context, record dns.Record) error {
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
	return platform.NewError(platform.ClassConflict, "DNS server %s has records of type %q at %s, beside which there can be none of type %s",
		c.server, slices.Compact(types), record.Name, record.Type)
}

func (c *connection) query(ctx context.Context, name string, kind uint16) (*mdns.Msg, error) {
	question := new(mdns.Msg).SetQuestion(name, kind)
	question.RecursionDesired = false
	return c.ask(ctx, question)
}
