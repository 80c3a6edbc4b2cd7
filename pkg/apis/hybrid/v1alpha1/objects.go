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
	if state, ok := blockWith[interface {
		Objects(add func(kind, id, name string))
	}](s); ok {
		state.Objects(add)
	}
	return objects
}
