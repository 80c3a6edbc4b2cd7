// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/mtu"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"github.com/gophercloud/gophercloud/v2/openstack/sharedfilesystems/v2/sharenetworks"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// flow is one reconciliation or deletion of one site.
type flow struct {
	*recorder
	session *client.Session
	site    *site.Site
	owner   owner.Owner
	network *gophercloud.ServiceClient
	compute *gophercloud.ServiceClient
}

// config is the site's OpenStack block in the InfrastructureConfig, empty if there is none.
func (f *flow) config() v1alpha1.OpenStackInfrastructure {
	if f.site.Config == nil || f.site.Config.OpenStack == nil {
		return v1alpha1.OpenStackInfrastructure{}
	}
	return *f.site.Config.OpenStack
}

// profile is the site's OpenStack block in the CloudProfile, empty if there is none.
func (f *flow) profile() v1alpha1.OpenStackProfile {
	if f.site.Profile == nil || f.site.Profile.OpenStack == nil {
		return v1alpha1.OpenStackProfile{}
	}
	return *f.site.Profile.OpenStack
}

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

// hasObjects reports whether the state knows objects of a project. Key pairs are a user's.
func hasObjects(state v1alpha1.OpenStackState) bool {
	return slices.ContainsFunc([]*v1alpha1.OpenStackObject{state.Network, state.Subnet, state.Router, state.SecurityGroup, state.ShareNetwork},
		func(object *v1alpha1.OpenStackObject) bool { return object != nil })
}

// recorder keeps the state of the site.
type recorder = platform.Recorder[v1alpha1.OpenStackState, *v1alpha1.OpenStackState]

func newRecorder(s *site.Site, connection v1alpha1.OpenStackConnection, persist platform.Persist) *recorder {
	saved := &v1alpha1.OpenStackState{}
	if s.State != nil && s.State.OpenStack != nil {
		saved = s.State.OpenStack
	} else if s.Removed() {
		saved.Connection = connection
	}
	return platform.NewRecorder[v1alpha1.OpenStackState](saved, func(state *v1alpha1.OpenStackState) *v1alpha1.SiteState {
		return &v1alpha1.SiteState{Name: s.Name, OpenStack: state}
	}, persist)
}

// field selects the place of an object in the state.
type field func(*v1alpha1.OpenStackState) **v1alpha1.OpenStackObject

func (f *flow) recordObject(ctx context.Context, id string, managed bool, place field) error {
	return f.Record(ctx, func(state *v1alpha1.OpenStackState) {
		*place(state) = &v1alpha1.OpenStackObject{ID: id, Managed: managed}
	})
}

// forget removes an object from the state.
func (f *flow) forget(ctx context.Context, place field) error {
	return f.Record(ctx, func(state *v1alpha1.OpenStackState) { *place(state) = nil })
}

// adopt records an object as ours and tags it.
func (f *flow) adopt(ctx context.Context, resource, id string, tags []string, place field) error {
	if err := f.recordObject(ctx, id, true, place); err != nil {
		return err
	}
	missing := slices.ContainsFunc(f.owner.Tags(), func(tag string) bool { return !slices.Contains(tags, tag) })
	if !missing {
		return nil
	}
	wanted := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(tags), f.owner.Tags()...))))
	_, err := attributestags.ReplaceAll(ctx, f.network, resource, id, attributestags.ReplaceAllOpts{Tags: wanted}).Extract()
	return client.Classify(err)
}

// errForeign is the message about an object that bears the mark of another shoot. It does not tell which.
const errForeign = "it was not made for this shoot and cannot be used"

// refuseForeign returns an error for a given object that bears the mark of another shoot, unless the CloudProfile says that shoots may name
// it.
func (f *flow) refuseForeign(field, id, description string, tags, allowed []string) error {
	if !f.owner.IsForeign(description, tags) || slices.Contains(allowed, id) {
		return nil
	}
	return platform.NewError(platform.ClassConfiguration, "openstack.%s: %q: %s", field, id, errForeign)
}

func notFound(field, id string) error {
	return platform.NewError(platform.ClassConfiguration, "openstack.%s: %q does not exist or is not visible to the credentials", field, id)
}

// seen is what a look at the site found; nil where there is nothing.
type seen struct {
	network         *network
	floatingNetwork *network
	floatingSubnets floatingSubnets
	// floatingSubnetID is the subnet of the external network that is asked for.
	floatingSubnetID string
	subnet           *subnets.Subnet
	router           *routers.Router
	routerInterface  *ports.Port
	securityGroup    *groups.SecGroup
	keyPair          *keypairs.KeyPair
	shareNetwork     *sharenetworks.ShareNetwork
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

type network struct {
	networks.Network
	mtu.NetworkMTUExt
	external.NetworkExternalExt
}

// floatingSubnets are the subnets of an external network that have the name that is asked for.
type floatingSubnets struct {
	networkID string
	found     []subnets.Subnet
}

// parallel runs all functions to their end and joins their errors: what one of them made is recorded whatever happens to
// the others.
func parallel(ctx context.Context, functions ...func(context.Context) error) error {
	return errors.Join(platform.Each(len(functions), func(i int) error { return functions[i](ctx) })...)
}

// sequence runs functions one after the other until one fails.
func sequence(functions ...func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, function := range functions {
			if err := function(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// filter selects objects by ID or by name.
type filter struct{ id, name string }

// find returns the object with the ID or, if there is none, the one with the name that is ours.
func find[T any](ctx context.Context, id string, list func(context.Context, filter) ([]T, error), owned func(T) bool, name string) (*T, error) {
	if id != "" {
		found, err := list(ctx, filter{id: id})
		if err != nil || len(found) > 0 {
			return first(found), err
		}
	}
	found, err := list(ctx, filter{name: name})
	if err != nil {
		return nil, err
	}
	return first(slices.DeleteFunc(found, func(object T) bool { return !owned(object) })), nil
}

func first[T any](objects []T) *T {
	if len(objects) == 0 {
		return nil
	}
	return &objects[0]
}

// owned lists the objects with the name that are marked as ours, and the one that the state knows as managed, which somebody
// may have renamed.
func owned[T any](ctx context.Context, list func(context.Context, filter) ([]T, error), known *v1alpha1.OpenStackObject, name string, identify func(T) (string, bool)) ([]T, error) {
	found, err := list(ctx, filter{name: name})
	if err != nil {
		return nil, client.Classify(err)
	}
	found = slices.DeleteFunc(found, func(object T) bool {
		_, ours := identify(object)
		return !ours
	})
	if known == nil || !known.Managed || slices.ContainsFunc(found, func(object T) bool {
		id, _ := identify(object)
		return id == known.ID
	}) {
		return found, nil
	}
	renamed, err := list(ctx, filter{id: known.ID})
	return append(found, renamed...), client.Classify(err)
}

func givenID(n *v1alpha1.OpenStackNetwork) string {
	if n == nil {
		return ""
	}
	return n.ID
}

func referenceID(reference *v1alpha1.OpenStackReference) string {
	if reference == nil {
		return ""
	}
	return reference.ID
}

// knownID prefers what the shoot owner gave to what the state says.
func knownID(given string, object *v1alpha1.OpenStackObject) string {
	if given != "" || object == nil {
		return given
	}
	return object.ID
}

// orphansOf turns objects into orphans.
func orphansOf[T any](f *flow, kind string, objects []T, identify func(T) (id, name string)) []v1alpha1.Orphan {
	var orphans []v1alpha1.Orphan
	for _, object := range objects {
		id, name := identify(object)
		orphans = append(orphans, v1alpha1.Orphan{Site: f.site.Name, Kind: kind, ID: id, Name: name})
	}
	return orphans
}
