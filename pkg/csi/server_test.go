// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package csi

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var _ = Describe("Serve", func() {
	It("survives a request that panics", func(ctx SpecContext) {
		info := &grpc.UnaryServerInfo{FullMethod: "/csi.v1.Controller/CreateVolume"}
		_, err := intercept(ctx, nil, info, func(context.Context, any) (any, error) { panic("nil") })
		Expect(status.Code(err)).To(Equal(codes.Internal))
	})

	DescribeTable("needs an endpoint",
		func(ctx SpecContext, endpoint string) {
			Expect(Serve(ctx, endpoint, Services{})).To(MatchError(ContainSubstring("endpoint")))
		},
		Entry("none", ""), Entry("a path", "/csi.sock"), Entry("another protocol", "http://localhost"), Entry("no path", "unix://"),
	)
})
