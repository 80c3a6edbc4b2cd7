// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
)

// replay sends recorded reads again, all at once.
type replay struct {
	client *http.Client
	token  string
	urls   []string
	bytes  []int
}

// newReplay gets a token of its own. The records must be reads only.
func newReplay(ctx context.Context, b *Bed, records []Record) (*replay, error) {
	r := &replay{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: len(records)}}}
	for _, record := range records {
		if record.Kind != countproxy.KindRead {
			return nil, fmt.Errorf("a reconciliation with nothing to do sent %s %s", record.Method, record.Path)
		}
		r.urls = append(r.urls, b.proxy.URL(record.Service)+record.Path)
		r.bytes = append(r.bytes, record.Bytes)
	}
	provider, err := openstack.AuthenticatedClient(ctx, gophercloud.AuthOptions{
		IdentityEndpoint: b.credentials.AuthURL,
		Username:         b.credentials.Username,
		Password:         b.credentials.Password,
		DomainName:       b.credentials.Domain,
		TenantName:       b.credentials.Project,
	})
	if err != nil {
		return nil, err
	}
	r.token = provider.Token()
	return r, nil
}

// run sends all reads and waits for all answers.
func (r *replay) run(ctx context.Context) error {
	var (
		group sync.WaitGroup
		errs  = make([]error, len(r.urls))
	)
	for i := range r.urls {
		group.Go(func() { errs[i] = r.read(ctx, i) })
	}
	group.Wait()
	return errors.Join(errs...)
}

func (r *replay) read(ctx context.Context, i int) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.urls[i], nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("X-Auth-Token", r.token)
	response, err := r.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	size, err := io.Copy(io.Discard, response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK || size == 0 != (r.bytes[i] == 0) {
		return fmt.Errorf("GET %s: status %d, %d bytes; recorded were %d", r.urls[i], response.StatusCode, size, r.bytes[i])
	}
	return nil
}

func (r *replay) close() {
	r.client.CloseIdleConnections()
}
