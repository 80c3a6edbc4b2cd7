// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// object has the common properties of objects. Not all kinds have all of them.
type object struct {
	id, name, description string
	tags                  []string
}

// kind is a kind of objects that must not be left behind by a deletion.
type kind[T any] struct {
	// name is the name in messages.
	name string
	// own lists our objects on the site.
	own      func(context.Context, *flow) ([]T, error)
	describe func(*T) object
	remove   func(ctx context.Context, f *flow, id string) error
}

// networking returns the remove of objects of the networking API.
func networking[R interface{ ExtractErr() error }](
	remove func(context.Context, *gophercloud.ServiceClient, string) R) func(context.Context, *flow, string) error {
	return func(ctx context.Context, f *flow, id string) error { return remove(ctx, f.network, id).ExtractErr() }
}

// delete deletes all our objects.
func (k kind[T]) delete(ctx context.Context, f *flow) error {
	found, err := k.own(ctx, f)
	if err != nil {
		return err
	}
	return k.deleteAll(ctx, f, found)
}

func (k kind[T]) deleteAll(ctx context.Context, f *flow, found []T) error {
	for i := range found {
		if err := client.IgnoreNotFound(k.remove(ctx, f, k.describe(&found[i]).id)); err != nil {
			return err
		}
	}
	return nil
}

// orphans lists all our objects.
func (k kind[T]) orphans(ctx context.Context, f *flow) ([]v1alpha1.Orphan, error) {
	found, err := k.own(ctx, f)
	return lists.Map(found, func(object T) v1alpha1.Orphan {
		o := k.describe(&object)
		return v1alpha1.Orphan{Site: f.site.Name, Kind: k.name, ID: o.id, Name: o.name}
	}), err
}

// marked is a kind of objects of which a site has one with our name and mark, and a place in the state.
type marked[T any] struct {
	name string
	// places are removed from the state together with the object; the first one is the object's own.
	places []field
	// found selects the object in the observed state.
	found    func(*observed) **T
	list     func(context.Context, *flow, filter) ([]T, error)
	describe func(*T) object
	remove   func(ctx context.Context, f *flow, id string) error
	// optional means that some sites lack the service for the kind. Such sites have no objects, unless the state has one.
	optional bool

	// field and given are where the shoot owner specifies an existing object, and allowed whether the CloudProfile permits all shoots to use
	// it.
	field   string
	given   func(v1alpha1.OpenStackInfrastructure) string
	allowed func(v1alpha1.OpenStackProfile, *T) bool
	// check returns an error if the given object is not suitable.
	check func(*flow, *T) error

	// resource is the name of the kind in the tags API.
	resource string
	create   func(context.Context, *flow) (*T, error)
	// update brings our object to the desired state and returns the result.
	update func(context.Context, *flow, *T) (*T, error)
}

// filter selects objects by ID or by name.
type filter struct{ id, name string }

func (k *marked[T]) isOurs(f *flow, found *T) bool {
	o := k.describe(found)
	return f.owner.Owns(o.description, o.tags)
}

func (k *marked[T]) isForeign(f *flow, found *T) bool {
	o := k.describe(found)
	return f.owner.IsForeign(o.description, o.tags) && (k.allowed == nil || !k.allowed(f.profile(), found))
}

func (k *marked[T]) givenID(f *flow) string {
	if k.given == nil {
		return ""
	}
	return k.given(f.config())
}

// known returns the object in the state.
func (k *marked[T]) known(f *flow) *v1alpha1.OpenStackObject {
	state := f.State()
	return *k.places[0](&state)
}

// knownID prefers the given ID over that in the state.
func (k *marked[T]) knownID(f *flow) string {
	given, known := k.givenID(f), k.known(f)
	if given != "" || known == nil {
		return given
	}
	return known.ID
}

// observe finds the known object.
func (k *marked[T]) observe(ctx context.Context, f *flow) (err error) {
	*k.found(&f.observed), err = k.find(ctx, f, k.knownID(f))
	return err
}

// find returns the object with the ID or, if it does not exist, our object with the name.
func (k *marked[T]) find(ctx context.Context, f *flow, id string) (*T, error) {
	if id != "" {
		found, err := k.list(ctx, f, filter{id: id})
		if err != nil || len(found) > 0 {
			return first(found), err
		}
	}
	found, err := k.named(ctx, f)
	return first(found), err
}

func first[T any](objects []T) *T {
	if len(objects) == 0 {
		return nil
	}
	return &objects[0]
}

// named lists the objects with our name and mark.
func (k *marked[T]) named(ctx context.Context, f *flow) ([]T, error) {
	found, err := k.list(ctx, f, filter{name: f.owner.Name()})
	return slices.DeleteFunc(found, func(object T) bool { return !k.isOurs(f, &object) }), err
}

// own lists the objects with our name and mark, and the managed object in the state, which may have been renamed.
func (k *marked[T]) own(ctx context.Context, f *flow) ([]T, error) {
	known := k.known(f)
	found, err := k.named(ctx, f)
	if k.optional && known == nil && (errors.Is(err, client.ErrNoService) || platform.ClassOf(err) == platform.ClassForbidden) {
		return nil, nil
	}
	if err != nil || known == nil || !known.Managed || k.contains(found, known.ID) {
		return found, err
	}
	renamed, err := k.list(ctx, f, filter{id: known.ID})
	return append(found, renamed...), err
}

// used lists the objects that the site's nodes use: ours and the given one.
func (k *marked[T]) used(ctx context.Context, f *flow) ([]T, error) {
	own, err := k.own(ctx, f)
	if err != nil {
		return nil, err
	}
	id := k.knownID(f)
	if id == "" || k.contains(own, id) {
		return own, nil
	}
	given, err := k.list(ctx, f, filter{id: id})
	return append(own, given...), err
}

func (k *marked[T]) usedIDs(ctx context.Context, f *flow) ([]string, error) {
	found, err := k.used(ctx, f)
	return lists.Map(found, func(object T) string { return k.describe(&object).id }), err
}

func (k *marked[T]) contains(found []T, id string) bool {
	return slices.ContainsFunc(found, func(object T) bool { return k.describe(&object).id == id })
}

// ensure records the given object, or creates or updates ours.
func (k *marked[T]) ensure(ctx context.Context, f *flow) error {
	found := k.found(&f.observed)
	if given := k.givenID(f); given != "" {
		if err := k.checkGiven(f, *found, given); err != nil {
			return err
		}
		return f.recordObject(ctx, given, false, k.places[0])
	}
	var err error
	if *found == nil {
		*found, err = k.create(ctx, f)
	} else if k.update != nil {
		*found, err = k.update(ctx, f, *found)
	}
	if err != nil {
		return err
	}
	return k.adopt(ctx, f, k.describe(*found))
}

func (k *marked[T]) checkGiven(f *flow, found *T, id string) error {
	switch {
	case found == nil || k.describe(found).id != id:
		return platform.NewError(platform.ClassConfiguration, "openstack.%s: %q does not exist or is not visible to the credentials", k.field, id)
	case k.isForeign(f, found):
		return platform.NewError(platform.ClassConfiguration, "openstack.%s: %q %s", k.field, id, errForeign)
	case k.check != nil:
		return k.check(f, found)
	}
	return nil
}

// errForeign is the message about an object that bears the mark of another shoot. It does not name that shoot.
const errForeign = "was not made for this shoot and cannot be used"

// adopt records an object as ours and tags it.
func (k *marked[T]) adopt(ctx context.Context, f *flow, o object) error {
	if err := f.recordObject(ctx, o.id, true, k.places[0]); err != nil || k.resource == "" {
		return err
	}
	missing := slices.ContainsFunc(f.owner.Tags(), func(tag string) bool { return !slices.Contains(o.tags, tag) })
	if !missing {
		return nil
	}
	wanted := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(o.tags), f.owner.Tags()...))))
	_, err := attributestags.ReplaceAll(ctx, f.network, k.resource, o.id, attributestags.ReplaceAllOpts{Tags: wanted}).Extract()
	return client.Classify(err)
}

func (k *marked[T]) kind() kind[T] {
	return kind[T]{name: k.name, own: k.own, describe: k.describe, remove: k.remove}
}

// delete deletes all our objects and removes them from the state.
func (k *marked[T]) delete(ctx context.Context, f *flow) error {
	if err := k.kind().delete(ctx, f); err != nil {
		return err
	}
	return f.forget(ctx, k.places...)
}

func (k *marked[T]) orphans(ctx context.Context, f *flow) ([]v1alpha1.Orphan, error) {
	return k.kind().orphans(ctx, f)
}
