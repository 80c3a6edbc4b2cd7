// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package toyapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubejson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// blocks reads blocks.
var blocks = kubejson.NewSerializerWithOptions(kubejson.DefaultMetaFactory, Scheme, Scheme, kubejson.SerializerOptions{Strict: true})

// Install lets the documents of the provider API have the blocks of the platform, in members with its name, until undo is called.
func Install() (undo func()) {
	return codec.Extend(func(documents runtime.Codec) runtime.Codec { return &toyCodec{Codec: documents} })
}

// toyCodec reads and writes the blocks of the platform, and leaves all else to the codec of the provider API.
type toyCodec struct{ runtime.Codec }

// Decode implements runtime.Decoder. To the codec of the provider API, the members with blocks are unknown fields.
func (c *toyCodec) Decode(data []byte, kind *schema.GroupVersionKind, into runtime.Object) (
	runtime.Object, *schema.GroupVersionKind, error,
) {
	document, found, err := c.Codec.Decode(data, kind, into)
	strict, ok := runtime.AsStrictDecodingError(err)
	if !ok || document == nil {
		return document, found, err
	}
	var tree any
	if err := yaml.Unmarshal(data, &tree); err != nil {
		return nil, found, err
	}
	problems := strict.Errors()
	err = visit(reflect.ValueOf(document), tree, "", func(place *v1alpha1.Blocks, kind string, members map[string]any, path string) error {
		unknown := func(err error) bool { return err.Error() == fmt.Sprintf("unknown field %q", path) }
		if members[string(Platform)] == nil || !Scheme.Recognizes(SchemeGroupVersion.WithKind(kind)) || !slices.ContainsFunc(problems, unknown) {
			return nil
		}
		problems = slices.DeleteFunc(problems, unknown)
		block, unknownFields, err := decodeBlock(kind, members[string(Platform)])
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, problem := range unknownFields {
			if field, ok := problem.(interface {
				FieldPath() string
				SetFieldPath(path string)
			}); ok {
				field.SetFieldPath(path + "." + field.FieldPath())
			}
			problems = append(problems, problem)
		}
		*place = Blocks(block)
		return nil
	})
	switch {
	case err != nil:
		return nil, found, err
	case len(problems) > 0:
		return document, found, runtime.NewStrictDecodingError(problems)
	default:
		return document, found, nil
	}
}

// decodeBlock returns the block with its defaults, and what is in the member but not in the type.
func decodeBlock(kind string, member any) (runtime.Object, []error, error) {
	data, err := json.Marshal(member)
	if err != nil {
		return nil, nil, err
	}
	gvk := SchemeGroupVersion.WithKind(kind)
	block, _, err := blocks.Decode(data, &gvk, nil)
	strict, ok := runtime.AsStrictDecodingError(err)
	if err != nil && !ok {
		return nil, nil, err
	}
	var unknownFields []error
	if ok {
		unknownFields = strict.Errors()
	}
	Scheme.Default(block)
	return block, unknownFields, nil
}

// Encode implements runtime.Encoder.
func (c *toyCodec) Encode(document runtime.Object, w io.Writer) error {
	var plain bytes.Buffer
	if err := c.Codec.Encode(document, &plain); err != nil {
		return err
	}
	var (
		tree  any
		found bool
	)
	if err := json.Unmarshal(plain.Bytes(), &tree); err != nil {
		return err
	}
	if err := visit(reflect.ValueOf(document), tree, "",
		func(place *v1alpha1.Blocks, _ string, members map[string]any, _ string) error {
			if block, ok := (*place)[Platform]; ok {
				members[string(Platform)], found = block, true
			}
			return nil
		}); err != nil {
		return err
	}
	if !found {
		_, err := plain.WriteTo(w)
		return err
	}
	return json.NewEncoder(w).Encode(tree)
}

// visit calls f for each struct in the value that has blocks, with the name of its type, its members in the JSON of the value, and the path
// of the platform's block.
func visit(value reflect.Value, tree any, path string, f func(*v1alpha1.Blocks, string, map[string]any, string) error) error {
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			return visit(value.Elem(), tree, path, f)
		}
	case reflect.Slice:
		items, _ := tree.([]any)
		for i := range min(len(items), value.Len()) {
			if err := visit(value.Index(i), items[i], fmt.Sprintf("%s[%d]", path, i), f); err != nil {
				return err
			}
		}
	case reflect.Struct:
		members, ok := tree.(map[string]any)
		if !ok {
			return nil
		}
		for i := range value.NumField() {
			field := value.Type().Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if place, ok := value.Field(i).Addr().Interface().(*v1alpha1.Blocks); ok {
				if err := f(place, value.Type().Name(), members, strings.TrimPrefix(path+"."+string(Platform), ".")); err != nil {
					return err
				}
				continue
			}
			if err := visit(value.Field(i), members[name], strings.TrimPrefix(path+"."+name, "."), f); err != nil {
				return err
			}
		}
	}
	return nil
}
