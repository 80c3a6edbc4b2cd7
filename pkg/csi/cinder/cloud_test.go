// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	library "k8s.io/cloud-provider-openstack/pkg/csi/cinder/openstack"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

var _ = Describe("The library's cloud", func() {
	It("has the fields that are set", func() {
		cloud := &library.OpenStack{}
		Expect(client.SetFields(cloud, map[string]any{"bsOpts": library.BlockStorageOpts{NodeVolumeAttachLimit: 7}})).To(Succeed())
		Expect(cloud.GetBlockStorageOpts().NodeVolumeAttachLimit).To(BeEquivalentTo(7))
		err := client.SetFields(cloud, map[string]any{"compute": "a string"})
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		err = client.SetFields(cloud, map[string]any{"nothing": "a string"})
		Expect(err).To(MatchError(ContainSubstring(`no field "nothing" of type string`)))
	})
})
