// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strconv"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
)

// recorder keeps apart what arrives at a proxy in several runs.
type recorder struct {
	proxy      *countproxy.Proxy
	recordings int
}

// record returns the requests that arrive at the proxy while do runs.
func (r *recorder) record(ctx context.Context, run string, do func(context.Context) error) ([]Record, error) {
	r.recordings++
	label := strconv.Itoa(r.recordings)
	r.proxy.SetLabel(label)
	defer r.proxy.SetLabel("")
	if err := do(ctx); err != nil {
		return nil, err
	}
	return recordsOf(run, r.proxy.Requests(label)), nil
}
