// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

const (
	soapLogin = "Login"
	restLogin = "POST /rest/com/vmware/cis/session"
)

// observe returns the requests that do makes. It fails if the product's own metric counted other requests than the vCenter.
func (s *vsphereSite) observe(ctx context.Context, run string, do func(context.Context) error) ([]Record, error) {
	before, err := s.counter.requests()
	if err != nil {
		return nil, err
	}
	records, err := s.record(ctx, run, do)
	if err != nil {
		return nil, err
	}
	after, err := s.counter.requests()
	if err != nil {
		return nil, err
	}
	if after-before != len(records) {
		return nil, fmt.Errorf("the metric counted %d requests, the vCenter %d", after-before, len(records))
	}
	return records, nil
}

// record returns the requests that arrive at the vCenter while do runs.
func (s *vsphereSite) record(ctx context.Context, run string, do func(context.Context) error) ([]Record, error) {
	if _, err := s.server.Journal(ctx); err != nil {
		return nil, err
	}
	if err := do(ctx); err != nil {
		return nil, err
	}
	requests, err := s.server.Journal(ctx)
	if err != nil {
		return nil, err
	}
	records := make([]Record, 0, len(requests))
	for _, request := range requests {
		records = append(records, vsphereRecord(run, request))
	}
	return records, nil
}

func vsphereRecord(run string, request control.Request) Record {
	method, path, _ := strings.Cut(request.Method, " ")
	return Record{
		Time:     request.Start.Round(0),
		Run:      run,
		Service:  request.Service,
		Method:   method,
		Path:     path,
		Kind:     vsphereKind(request.Method),
		Status:   request.Status,
		Bytes:    request.Bytes,
		Duration: request.Duration,
	}
}

// readVerbs are what the names of methods begin with that change nothing in the inventory.
var readVerbs = []string{"Retrieve", "ContinueRetrieve", "Find", "CreateContainerView", "DestroyView", "CurrentTime", "GET "}

func vsphereKind(method string) countproxy.Kind {
	switch method {
	case soapLogin, restLogin:
		return countproxy.KindAuth
	case "RetrieveServiceContent":
		return countproxy.KindDiscovery
	}
	for _, verb := range readVerbs {
		if strings.HasPrefix(method, verb) {
			return countproxy.KindRead
		}
	}
	if strings.Contains(method, "?list") {
		return countproxy.KindRead
	}
	return countproxy.KindWrite
}

// methods counts the requests by method, as "2 RetrievePropertiesEx, 1 Login", in the order in which they came first.
func methods(records []Record) string {
	return tally(records, func(r Record) string { return r.Method })
}

// tally counts the requests by what each is called, in the order in which they came first.
func tally(records []Record, name func(Record) string) string {
	var (
		order  []string
		counts = map[string]int{}
	)
	for _, record := range requestsOf(records) {
		called := name(record)
		if counts[called] == 0 {
			order = append(order, called)
		}
		counts[called]++
	}
	for i, called := range order {
		order[i] = fmt.Sprintf("%d %s", counts[called], called)
	}
	return strings.Join(order, ", ")
}
