// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = Describe("Objects of a state", func() {
	It("should be those that were made", func() {
		made := func(id string) *OpenStackObject { return &OpenStackObject{ID: id, Managed: true} }
		state := SiteState{Name: "cloud", OpenStack: &OpenStackState{
			Network: &OpenStackObject{ID: "given"}, Subnet: made("s"), Router: made("r"), FloatingNetwork: &OpenStackObject{ID: "public"},
			SecurityGroup: made("g"), KeyPair: made("k"), ShareNetwork: made("n"),
		}}
		Expect(state.Objects()).To(Equal([]Orphan{
			{Site: "cloud", Kind: "subnet", ID: "s"},
			{Site: "cloud", Kind: "router", ID: "r"},
			{Site: "cloud", Kind: "security group", ID: "g"},
			{Site: "cloud", Kind: "key pair", ID: "k"},
			{Site: "cloud", Kind: "share network", ID: "n"},
		}))
	})

	It("should be those that were made at a vSphere site", func() {
		state := SiteState{Name: "vc", VSphere: &VSphereState{
			OwnerTag: &VSphereObject{ID: "urn:1",
				Path: "c/t"}, Folders: []VSphereObject{{ID: "group-v1", Path: "/dc/vm/f"}}, ResourcePools: []VSphereObject{{ID: "resgroup-1",
				Path: "/dc/host/c/p"}},
		}}
		Expect(state.Objects()).To(Equal([]Orphan{
			{Site: "vc", Kind: "folder", ID: "group-v1", Name: "/dc/vm/f"},
			{Site: "vc", Kind: "resource pool", ID: "resgroup-1", Name: "/dc/host/c/p"},
			{Site: "vc", Kind: "tag", ID: "urn:1", Name: "c/t"},
		}))
	})

	It("should be none if the state holds nothing", func() {
		Expect((&SiteState{Name: "cloud"}).Objects()).To(BeEmpty())
		Expect((&SiteState{Name: "cloud", OpenStack: &OpenStackState{}}).Objects()).To(BeEmpty())
	})
})
