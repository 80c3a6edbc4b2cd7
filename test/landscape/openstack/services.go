// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import "github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"

// Services are the APIs of the landscape, for a proxy in front of them.
func Services() []countproxy.Service {
	return []countproxy.Service{
		{Name: "keystone", Upstream: "http://127.0.0.1:5000"},
		{Name: "nova", Upstream: "http://127.0.0.1:8774"},
		{Name: "neutron", Upstream: "http://127.0.0.1:9696"},
		{Name: "glance", Upstream: "http://127.0.0.1:9292"},
		{Name: "cinder", Upstream: "http://127.0.0.1:8776"},
		{Name: "octavia", Upstream: "http://127.0.0.1:9876"},
		{Name: "manila", Upstream: "http://127.0.0.1:8786"},
		{Name: "swift", Upstream: "http://127.0.0.1:8077"},
		{Name: "designate", Upstream: "http://127.0.0.1:9001"},
	}
}
