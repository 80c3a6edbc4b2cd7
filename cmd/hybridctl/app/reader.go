// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"net/http"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// reading passes requests that read, and refuses those that write.
type reading struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r reading) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet && request.Method != http.MethodHead {
		return nil, fmt.Errorf("%s %s is refused, because %s changes nothing", request.Method, request.URL.Path, commandName)
	}
	return r.next.RoundTrip(request)
}

// readOnly returns a copy of the configuration whose clients only read.
func readOnly(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return reading{next} })
	return config
}

func newClient(config *rest.Config) (client.Client, error) {
	return client.New(config, client.Options{Scheme: scheme})
}

// objects are a reader of what manifests have.
type objects []client.Object

// client returns a client that reads the objects and cannot write.
func (o objects) client() (client.Client, error) {
	return client.New(&rest.Config{}, client.Options{Scheme: scheme, Mapper: meta.NewDefaultRESTMapper(nil),
		Cache: &client.CacheOptions{Reader: o, Unstructured: true}})
}

// Get implements client.Reader.
func (o objects) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kind, err := apiutil.GVKForObject(into, scheme)
	if err != nil {
		return err
	}
	for _, object := range o {
		if client.ObjectKeyFromObject(object) == key && isKind(object, kind) {
			reflect.ValueOf(into).Elem().Set(reflect.ValueOf(object.DeepCopyObject()).Elem())
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, key.String())
}

// List implements client.Reader.
func (o objects) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	kind, err := apiutil.GVKForObject(into, scheme)
	if err != nil {
		return err
	}
	options := (&client.ListOptions{}).ApplyOptions(opts)
	items := []runtime.Object{}
	for _, object := range o {
		listed, err := apiutil.GVKForObject(object, scheme)
		if err != nil {
			return err
		}
		if listed.GroupVersion().WithKind(listed.Kind+"List") == kind && isListed(object, options) {
			items = append(items, object.DeepCopyObject())
		}
	}
	return meta.SetList(into, items)
}

func isListed(object client.Object, options *client.ListOptions) bool {
	return (options.Namespace == "" || options.Namespace == object.GetNamespace()) &&
		(options.LabelSelector == nil || options.LabelSelector.Matches(labels.Set(object.GetLabels())))
}

func isKind(object client.Object, kind schema.GroupVersionKind) bool {
	own, err := apiutil.GVKForObject(object, scheme)
	return err == nil && own == kind
}

// get reads an object from the first reader that has it.
func get(ctx context.Context, readers []client.Reader, key client.ObjectKey, into client.Object) error {
	err := objects(nil).Get(ctx, key, into)
	for _, reader := range readers {
		if err = reader.Get(ctx, key, into); !apierrors.IsNotFound(err) {
			return err
		}
	}
	return err
}
