// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstackstub_test

import (
	"context"
	"io"
	"iter"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/pagination"
	. "github.com/onsi/gomega"
)

// pagesOf are the pages of the list of all servers.
func pagesOf(ctx context.Context, compute *gophercloud.ServiceClient) iter.Seq2[[]servers.Server, error] {
	return func(yield func([]servers.Server, error) bool) {
		err := servers.List(compute, servers.ListOpts{}).EachPage(ctx, func(_ context.Context, page pagination.Page) (bool, error) {
			return yield(servers.ExtractServers(page)), nil
		})
		if err != nil {
			yield(nil, err)
		}
	}
}

// size is the size of an answer's body.
func size(ctx context.Context, compute *gophercloud.ServiceClient, path string) int {
	response, err := compute.Get(ctx, compute.ServiceURL(path), nil,
		&gophercloud.RequestOpts{KeepResponseBody: true, OkCodes: []int{http.StatusOK}})
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	return len(body)
}
