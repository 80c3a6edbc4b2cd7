// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

// pageSize is the number of objects per request. A host with its hardware details and managed fields has 30 KiB.
const pageSize = 100

// paged reads lists page by page, so that no response exceeds the limit of the transport. It rejects responses in JSON that are neither a
// list nor an object, because they would be decoded to empty ones.
type paged struct {
	client.WithWatch
}

// Get implements client.Reader.
func (p paged) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	err := p.WithWatch.Get(ctx, key, object, options...)
	if err == nil && (object.GetUID() == "" || object.GetName() != key.Name) {
		err = platform.NewError(platform.ClassTransient, "the response of the API is not the object %q", key.Name)
	}
	return err
}

// List implements client.Reader.
func (p paged) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if (&client.ListOptions{}).ApplyOptions(options).Limit > 0 {
		return p.page(ctx, list, options)
	}
	var (
		items []runtime.Object
		empty = list.DeepCopyObject()
	)
	ctx = transport.OneList(ctx)
	strip := stripOf(options)
	for token := ""; ; token = list.GetContinue() {
		page, before := empty.DeepCopyObject().(client.ObjectList), transport.ListState(ctx)
		if err := p.page(ctx, page, append(options[:len(options):len(options)], client.Limit(pageSize), client.Continue(token))); err != nil {
			return err
		}
		found, err := meta.ExtractList(page)
		if err != nil {
			return err
		}
		if strip != nil {
			length, err := stripAll(found, strip)
			if err != nil {
				return err
			}
			transport.Keep(ctx, before, length)
		}
		items = append(items, found...)
		list.SetResourceVersion(page.GetResourceVersion())
		list.SetContinue(page.GetContinue())
		if page.GetContinue() == "" {
			return meta.SetList(list, items)
		}
	}
}

func (p paged) page(ctx context.Context, list client.ObjectList, options []client.ListOption) error {
	err := p.WithWatch.List(ctx, list, options...)
	if err == nil && list.GetResourceVersion() == "" {
		err = platform.NewError(platform.ClassTransient, "the response of the API is not a list")
	}
	return err
}

// Stripped is an option for a list of many objects. It is applied to each of them, to remove what is not read.
type Stripped toolscache.TransformFunc

// ApplyToList implements client.ListOption.
func (Stripped) ApplyToList(*client.ListOptions) {}

func stripOf(options []client.ListOption) Stripped {
	for _, option := range options {
		if strip, ok := option.(Stripped); ok {
			return strip
		}
	}
	return nil
}

// stripAll strips the objects in place, and returns how long they are then.
func stripAll(objects []runtime.Object, strip Stripped) (int, error) {
	length := 0
	for _, object := range objects {
		if _, err := strip(object); err != nil {
			return 0, err
		}
		raw, err := json.Marshal(object)
		if err != nil {
			return 0, err
		}
		length += len(raw)
	}
	return length, nil
}
