// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Objects returns the objects of the shoot in the site as far as the state knows them, without those that were given.
func (s *SiteState) Objects() []Orphan {
	var objects []Orphan
	add := func(kind, id, name string) {
		objects = append(objects, Orphan{Site: s.Name, Kind: kind, ID: id, Name: name})
	}
	if s.OpenStack != nil {
		s.OpenStack.objects(add)
	}
	if s.VSphere != nil {
		s.VSphere.objects(add)
	}
	return objects
}

func (s *OpenStackState) objects(add func(kind, id, name string)) {
	for _, o := range []struct {
		kind   string
		object *OpenStackObject
	}{
		{"network", s.Network},
		{"subnet", s.Subnet},
		{"router", s.Router},
		{"security group", s.SecurityGroup},
		{"key pair", s.KeyPair},
		{"share network", s.ShareNetwork},
	} {
		if o.object != nil && o.object.Managed {
			add(o.kind, o.object.ID, "")
		}
	}
}

func (s *VSphereState) objects(add func(kind, id, name string)) {
	for _, folder := range s.Folders {
		add("folder", folder.ID, folder.Path)
	}
	for _, pool := range s.ResourcePools {
		add("resource pool", pool.ID, pool.Path)
	}
	if s.OwnerTag != nil {
		add("tag", s.OwnerTag.ID, s.OwnerTag.Path)
	}
}
