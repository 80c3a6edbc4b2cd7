// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"io"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/test/openstackstub"
)

var _ = Describe("Subject", func() {
	It("should list the machines of the shoot, and make calls", func(ctx SpecContext) {
		ours := owner.Owner{Shoot: stubShoot, Site: siteName}
		cloud, err := newStubCloud(stubShoot, openstackstub.Settings{Servers: []openstackstub.Servers{
			{Project: stubProject(0), Prefix: stubShoot + "-bench-", Count: 2, Metadata: ours.Metadata()},
			{Project: stubProject(0), Prefix: "shoot--other--", Count: 3},
		}})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(cloud.close)
		j, err := cloud.job(ctx, 2)
		Expect(err).NotTo(HaveOccurred())
		Expect(j.Classes).To(HaveLen(2))

		in, out := &bytes.Buffer{}, &bytes.Buffer{}
		encoder := json.NewEncoder(in)
		Expect(encoder.Encode(j)).To(Succeed())
		Expect(encoder.Encode(order{Do: doList})).To(Succeed())
		Expect(encoder.Encode(order{Do: "dance"})).To(Succeed())
		Expect(runSubject(ctx, in, out)).To(Succeed())

		decoder := json.NewDecoder(out)
		var loggedIn, listed, unknown report
		Expect(decoder.Decode(&loggedIn)).To(Succeed())
		Expect(decoder.Decode(&listed)).To(Succeed())
		Expect(decoder.Decode(&unknown)).To(Succeed())
		Expect(decoder.Decode(&unknown)).To(MatchError(io.EOF))
		Expect(loggedIn.Error).To(BeEmpty())
		Expect(listed).To(And(HaveField("Error", BeEmpty()), HaveField("Machines", 2), HaveField("Goroutines", BeNumerically(">", 0))))
		Expect(unknown.Error).To(ContainSubstring("dance"))
	})
})
