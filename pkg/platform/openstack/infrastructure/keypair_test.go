// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

var _ = Describe("Key pair", func() {
	flowOf := func(shoot, siteName, key string) *flow {
		return &flow{owner: owner.Owner{Shoot: shoot, Site: siteName}, site: &site.Site{SSHPublicKey: []byte(key)}}
	}
	f := flowOf("shoot--local--a", "cloud", "ssh-rsa AAAA\n")

	It("should be named after its owner and its public key without white space around it", func() {
		Expect(f.publicKey()).To(Equal("ssh-rsa AAAA"))
		Expect(f.keyPairName(f.publicKey())).To(MatchRegexp(`^shoot--local--a-cloud-[0-9a-f]{8}$`))
		Expect(f.keyPairName("ssh-rsa AAAA")).To(Equal(f.keyPairName(f.publicKey())))
		Expect(f.keyPairName("ssh-rsa BBBB")).NotTo(Equal(f.keyPairName(f.publicKey())))
	})

	DescribeTable("ownsKeyPair",
		func(name, key string, expected bool) {
			Expect(f.ownsKeyPair(keypairs.KeyPair{Name: name, PublicKey: key})).To(Equal(expected))
		},
		Entry("ours", f.keyPairName("ssh-rsa AAAA"), "ssh-rsa AAAA", true),
		Entry("ours, with the line end that the API keeps", f.keyPairName("ssh-rsa AAAA"), "ssh-rsa AAAA\n", true),
		Entry("ours, of an earlier key", f.keyPairName("ssh-rsa OLD"), "ssh-rsa OLD", true),
		Entry("our name with another key", f.keyPairName("ssh-rsa AAAA"), "ssh-rsa BBBB", false),
		Entry("our key under another name", "mine", "ssh-rsa AAAA", false),
		Entry("that of a shoot whose name begins with ours", flowOf("shoot--local--a-cloud", "cloud", "").keyPairName("ssh-rsa AAAA"), "ssh-rsa AAAA", false),
		Entry("that of another site", flowOf("shoot--local--a", "cloud2", "").keyPairName("ssh-rsa AAAA"), "ssh-rsa AAAA", false),
	)
})
