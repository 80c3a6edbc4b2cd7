// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"slices"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// checkPlace refuses credentials of another project than that of the state, and a connection to another region than that of its objects.
func (f *flow) checkPlace() error {
	return errors.Join(f.checkRegion(), f.session.CheckProject(f.State().ProjectID))
}

// checkPlaceInUse does the same, unless nothing was made in the project of the state: then another one may take its place.
func (f *flow) checkPlaceInUse() error {
	if !hasObjects(f.State()) {
		return f.checkRegion()
	}
	return f.checkPlace()
}

func (f *flow) checkRegion() error {
	if state := f.State(); hasObjects(state) || state.KeyPair != nil {
		return f.session.CheckRegion(state.Connection.Region)
	}
	return nil
}

// recordProject records the project if the state knows no objects, or if one of them is seen in the project: a state that was
// written before projects were recorded does not say where its objects are.
func (f *flow) recordProject(ctx context.Context, seen *seen) error {
	project, err := f.session.ProjectID()
	if err != nil {
		return err
	}
	if state := f.State(); hasObjects(state) && !seen.has(state, project) {
		return nil
	}
	return f.Record(ctx, func(state *v1alpha1.OpenStackState) { state.ProjectID = project })
}

// hasObjects reports whether the state knows objects of a project. Key pairs are a user's.
func hasObjects(state v1alpha1.OpenStackState) bool {
	return slices.ContainsFunc([]*v1alpha1.OpenStackObject{state.Network, state.Subnet, state.Router, state.SecurityGroup, state.ShareNetwork},
		func(object *v1alpha1.OpenStackObject) bool { return object != nil })
}

// has reports whether an object of the state was seen that is the project's. Objects of other projects may be seen as well: such as
// are shared, and all by an administrator.
func (s *seen) has(state v1alpha1.OpenStackState, project string) bool {
	is := func(known *v1alpha1.OpenStackObject, id, projectID string) bool {
		return known != nil && known.ID == id && projectID == project
	}
	return s.network != nil && is(state.Network, s.network.ID, s.network.ProjectID) ||
		s.subnet != nil && is(state.Subnet, s.subnet.ID, s.subnet.ProjectID) ||
		s.router != nil && is(state.Router, s.router.ID, s.router.ProjectID) ||
		s.securityGroup != nil && is(state.SecurityGroup, s.securityGroup.ID, s.securityGroup.ProjectID)
}
