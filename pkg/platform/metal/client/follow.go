// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// shortestWatch is how long a watch lasts at least at an API that works. One that ends earlier would be begun again without end.
const shortestWatch = time.Second

// Follow calls changed with all objects that the options select, by name: at the beginning, and whenever something about them changed.
// empty is an empty list of their kind. It returns nil when ctx ends, and a classified error when the objects cannot be watched. The map is
// the callee's.
func (s *Session) Follow(ctx context.Context, empty client.ObjectList, changed func(map[string]client.Object), options ...client.ListOption) error {
	for ctx.Err() == nil {
		begun := time.Now()
		if err := s.followOnce(ctx, empty.DeepCopyObject().(client.ObjectList), changed, options); err != nil && ctx.Err() == nil {
			return Classify(err)
		}
		if time.Since(begun) < shortestWatch && ctx.Err() == nil {
			return platform.NewError(platform.ClassTransient, "the API ended a watch at once")
		}
	}
	return nil
}

// followOnce lists the objects and watches them until the API ends the watch.
func (s *Session) followOnce(ctx context.Context, list client.ObjectList, changed func(map[string]client.Object), options []client.ListOption) error {
	watched := list.DeepCopyObject().(client.ObjectList)
	if err := s.client.List(ctx, list, options...); err != nil {
		return err
	}
	objects := map[string]client.Object{}
	if err := meta.EachListItem(list, func(item runtime.Object) error {
		object := item.(client.Object)
		objects[object.GetName()] = object
		return nil
	}); err != nil {
		return err
	}
	changed(maps.Clone(objects))

	stream, err := s.client.Watch(ctx, watched, append(options[:len(options):len(options)],
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}})...)
	if err != nil {
		return err
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		object, ok := event.Object.(client.Object)
		switch {
		case !ok:
			// The API tells that the watch cannot go on. The next list tells why, if that lasts.
			return nil
		case event.Type == watch.Deleted:
			delete(objects, object.GetName())
		default:
			objects[object.GetName()] = object
		}
		changed(maps.Clone(objects))
	}
	return nil
}
