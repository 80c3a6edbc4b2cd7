// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Objects returns the objects of the shoot in the site as far as the state knows them, without those that were given.
func (s *SiteState) Objects() []Orphan {
	if s.OpenStack == nil {
		return nil
	}
	var objects []Orphan
	add := func(kind string, object *OpenStackObject) {
		if object != nil && object.Managed {
			objects = append(objects, Orphan{Site: s.Name, Kind: kind, ID: object.ID})
		}
	}
	add("network", s.OpenStack.Network)
	add("subnet", s.OpenStack.Subnet)
	add("router", s.OpenStack.Router)
	add("security group", s.OpenStack.SecurityGroup)
	add("key pair", s.OpenStack.KeyPair)
	add("share network", s.OpenStack.ShareNetwork)
	return objects
}
