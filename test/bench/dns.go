// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	mdns "github.com/miekg/dns"
	"golang.org/x/sync/errgroup"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns/rfc2136"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	designate "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/nameserver"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
)

const (
	dnsRuns = 5
	// dnsRecords and dnsCallers are for the rate: the controller works on so many DNSRecords at the same time.
	dnsRecords, dnsCallers = 1000, 20
	dnsZone                = "bench.example.test"

	quantityRecords = "records per second"
)

// loopback lets DNS services be on this machine, and without TLS.
var loopback = &transport.Guard{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, PlainHTTP: true}

func benchRecord(name string) (dns.Record, error) {
	return dns.NewRecord(name+"."+dnsZone, dns.TypeA, []string{"192.0.2.1", "192.0.2.2"}, nil)
}

// measureDesignateNoop reconciles a record in Designate that is there, with a zone that is known.
func measureDesignateNoop(ctx context.Context, b *Bed) (m Measurement, err error) {
	if b.cloud == nil {
		if err := b.start(ctx); err != nil {
			return m, err
		}
	}
	if _, err := b.openstack.StartWithDNS(ctx, b.progress); err != nil {
		return m, err
	}
	zones, err := openstack.NewDesignate(ctx, b.credentials)
	if err != nil {
		return m, err
	}
	zone, err := zones.MakeZone(ctx, dnsZone)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, zones.DeleteZone(context.WithoutCancel(ctx), zone)) }()

	credentials := b.credentials.SiteCredentials()
	credentials["authURL"] = b.proxy.Rewrite(b.credentials.AuthURL)
	service := designate.New(client.NewSessions(), loopback)
	record, err := benchRecord("noop")
	if err != nil {
		return m, err
	}
	ensure := func(ctx context.Context) error {
		provider, err := service.Open(ctx, dns.Access{Credentials: credentials, Region: b.credentials.Region})
		if err != nil {
			return err
		}
		return provider.Ensure(ctx, zone, record, true)
	}
	if err := ensure(ctx); err != nil {
		return m, err
	}
	for run := range dnsRuns {
		records, err := b.observe(ctx, fmt.Sprintf("run-%d", run+1), ensure)
		if err != nil {
			return m, err
		}
		m.Records = append(m.Records, records...)
	}
	return m, nil
}

// dnsServer is a BIND of its own behind a front.
type dnsServer struct {
	server   *nameserver.Server
	front    *nameserver.Front
	dir      string
	provider dns.Provider
}

func newDNSServer(ctx context.Context) (*dnsServer, error) {
	s := &dnsServer{}
	var err error
	if s.dir, err = os.MkdirTemp("", "bench-dns-"); err != nil {
		return nil, err
	}
	if s.server, err = nameserver.Start(ctx, s.dir, dnsZone); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	if s.front, err = nameserver.NewFront(s.server.Address); err != nil {
		return nil, err
	}
	key := nameserver.Writer
	s.provider, err = rfc2136.New(loopback).Open(ctx, dns.Access{Credentials: dns.Credentials{
		"server": s.front.Address, "tsigKeyName": key.Name, "tsigSecret": key.Secret, "tsigAlgorithm": key.Algorithm,
	}})
	return s, err
}

func (s *dnsServer) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s.server.Process.Stop(ctx)
	return errors.Join(s.front.Close(), os.RemoveAll(s.dir))
}

// messages are the messages since the last call as records.
func (s *dnsServer) messages(run string) []Record {
	var records []Record
	for _, message := range s.front.Take() {
		kind := countproxy.KindRead
		if message.Operation == mdns.OpcodeToString[mdns.OpcodeUpdate] {
			kind = countproxy.KindWrite
		}
		records = append(records,
			Record{Time: message.Time.Round(0), Run: run, Service: "rfc2136", Method: message.Operation, Path: message.Name, Kind: kind,
				Bytes: message.Bytes})
	}
	return records
}

// measureUpdateNoop reconciles a record that is there on a server that takes updates.
func measureUpdateNoop(ctx context.Context, _ *Bed) (m Measurement, err error) {
	s, err := newDNSServer(ctx)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	record, err := benchRecord("noop")
	if err != nil {
		return m, err
	}
	if err := s.provider.Ensure(ctx, dnsZone+".", record, false); err != nil {
		return m, err
	}
	s.front.Take()
	for run := range dnsRuns {
		if err := s.provider.Ensure(ctx, dnsZone+".", record, true); err != nil {
			return m, err
		}
		m.Records = append(m.Records, s.messages(fmt.Sprintf("run-%d", run+1))...)
	}
	return m, nil
}

// measureRecordRate creates many records, each of which is answered when it counts.
func measureRecordRate(ctx context.Context, _ *Bed) (m Measurement, err error) {
	s, err := newDNSServer(ctx)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(dnsCallers)
	start := time.Now()
	for i := range dnsRecords {
		group.Go(func() error {
			record, err := benchRecord(fmt.Sprintf("rate-%d", i))
			if err != nil {
				return err
			}
			return s.provider.Ensure(ctx, dnsZone+".", record, false)
		})
	}
	if err := group.Wait(); err != nil {
		return m, err
	}
	took := time.Since(start)
	m.Records = append(s.messages("rate"), sample("rate", quantityRecords, dnsRecords/took.Seconds()))
	m.Note = fmt.Sprintf("%d records by dynamic updates, %d at the same time, each until BIND answers with it: %s, %d messages", dnsRecords,
		dnsCallers, took.Round(10*time.Millisecond), len(m.Records)-1)
	return m, nil
}
