// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package codec reads and writes documents of the provider API. It decodes strictly: unknown and duplicate fields are
// errors.
package codec

import (
	"bytes"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// ErrEmpty is the error of decoding a document that is not there.
var ErrEmpty = errors.New("it is empty")

var (
	scheme    = runtime.NewScheme()
	codecs    = serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	documents = codecs.CodecForVersions(
		json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{}), codecs.UniversalDeserializer(),
		v1alpha1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion)
)

func init() {
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
}

// Extend makes what wrap returns read and write all documents until undo is called, for platforms whose blocks are v1alpha1.Blocks. It
// must not run beside other functions of this package.
func Extend(wrap func(runtime.Codec) runtime.Codec) (undo func()) {
	before := documents
	documents = wrap(before)
	return func() { documents = before }
}

// Object is a pointer to a document type of the provider API.
type Object[T any] interface {
	*T
	runtime.Object
}

// Decode returns the document in raw with its defaults. The error names the kind that was expected and, if there is one, the
// field that is wrong. It wraps ErrEmpty if raw is nil or empty.
func Decode[T any, P Object[T]](raw *runtime.RawExtension) (P, error) {
	if raw == nil {
		return nil, fmt.Errorf("decoding %s: %w", kind[T, P](), ErrEmpty)
	}
	data, err := raw.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("decoding %s: %w", kind[T, P](), err)
	}
	return DecodeBytes[T, P](data)
}

// DecodeBytes is Decode for JSON or YAML.
func DecodeBytes[T any, P Object[T]](data []byte) (P, error) {
	if trimmed := bytes.TrimSpace(data); len(trimmed) == 0 || string(trimmed) == "null" {
		return nil, fmt.Errorf("decoding %s: %w", kind[T, P](), ErrEmpty)
	}
	obj, gvk, err := documents.Decode(data, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("decoding %s: %w", kind[T, P](), err)
	}
	document, ok := obj.(P)
	if !ok {
		return nil, fmt.Errorf("decoding %s: it is of kind %s", kind[T, P](), gvk.Kind)
	}
	return document, nil
}

// Encode returns the document as JSON with its apiVersion and kind. The same document gives the same bytes.
func Encode[T any, P Object[T]](document P) (*runtime.RawExtension, error) {
	if document == nil {
		return nil, fmt.Errorf("encoding %s: %w", kind[T, P](), ErrEmpty)
	}
	data, err := runtime.Encode(documents, document)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", kind[T, P](), err)
	}
	return &runtime.RawExtension{Raw: bytes.TrimSpace(data)}, nil
}

func kind[T any, P Object[T]]() string {
	kinds, _, err := scheme.ObjectKinds(P(new(T)))
	if err != nil {
		return fmt.Sprintf("%T", *new(T))
	}
	return kinds[0].Kind
}
