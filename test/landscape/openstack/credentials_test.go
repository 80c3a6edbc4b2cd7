// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("Credentials", func() {
	It("should read an openrc file", func() {
		path := filepath.Join(GinkgoT().TempDir(), "openrc")
		Expect(os.WriteFile(path, []byte("export OS_AUTH_URL=http://k/v3 OS_USERNAME=u OS_PASSWORD=p=1 OS_PROJECT_NAME=t\n"+
			"export OS_PROJECT_DOMAIN_NAME=d OS_REGION_NAME=r\n"), 0o600)).To(Succeed())
		c, err := ReadCredentials(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(c).To(Equal(Credentials{AuthURL: "http://k/v3", Region: "r", Domain: "d", Project: "t", Username: "u", Password: "p=1"}))
		Expect(c.SiteCredentials()).To(Equal(map[string]string{"domainName": "d", "tenantName": "t", "username": "u", "password": "p=1"}))
	})

	It("should refuse a file without them", func() {
		path := filepath.Join(GinkgoT().TempDir(), "openrc")
		Expect(os.WriteFile(path, []byte("export OS_AUTH_URL=http://k/v3\n"), 0o600)).To(Succeed())
		_, err := ReadCredentials(path)
		Expect(err).To(MatchError(ContainSubstring("OS_PROJECT_NAME")))
	})
})

var _ = Describe("belonging", func() {
	It("should find objects by name, tag and what they are part of", func() {
		named := Object{ID: "1", Name: "shoot--p--s-network"}
		part := Object{ID: "2", parent: []string{"1"}}
		partOfPart := Object{ID: "3", parent: []string{"", "2"}}
		tagged := Object{ID: "4", Marks: []string{"shoot=shoot--p--s"}}
		foreign := Object{ID: "5", Name: "other", parent: []string{""}}
		Expect(belonging([]Object{named, part, partOfPart, tagged, foreign}, "shoot--p--s")).To(Equal([]Object{named, part, partOfPart, tagged}))
	})
})

var _ = Describe("fixedAddresses", func() {
	It("should leave out floating IPs", func() {
		Expect(fixedAddresses(map[string]any{"net": []any{
			map[string]any{"addr": "10.0.0.2", "OS-EXT-IPS:type": "fixed"},
			map[string]any{"addr": "172.24.0.9", "OS-EXT-IPS:type": "floating"},
			map[string]any{"addr": "10.0.0.1", "OS-EXT-IPS:type": "fixed"},
		}})).To(Equal([]string{"10.0.0.1", "10.0.0.2"}))
	})
})
