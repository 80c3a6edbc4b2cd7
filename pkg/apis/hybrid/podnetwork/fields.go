// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package podnetwork reads the providerConfig of a network of pods. It belongs to another extension, whose API this one does not
// link: fields that are not known here are left alone.
package podnetwork

import (
	"bytes"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Fields are those of a providerConfig. A field that is null is one that is not set.
type Fields map[string]any

// FieldError is the error of a field that cannot be read.
type FieldError struct {
	// Path leads to the field.
	Path []string
	// Allowed is what the field may be.
	Allowed string
}

// Error implements error.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s must be %s", strings.Join(e.Path, "."), e.Allowed)
}

// Read returns the fields of a providerConfig, nil if there is none.
func Read(raw *runtime.RawExtension) (Fields, error) {
	if raw == nil || len(bytes.TrimSpace(raw.Raw)) == 0 {
		return nil, nil
	}
	var fields map[string]any
	if err := utiljson.Unmarshal(raw.Raw, &fields); err != nil {
		return nil, fmt.Errorf("must be an object: %w", err)
	}
	return fields, nil
}

// Has returns whether a field is set.
func (f Fields) Has(path ...string) bool {
	value, err := f.lookUp(path)
	return err == nil && value != nil
}

// Flag returns whether a switch is on.
func (f Fields) Flag(path ...string) (bool, error) {
	return read[bool](f, "true or false", path)
}

// Text returns a text, which is empty if it is not set.
func (f Fields) Text(path ...string) (string, error) {
	return read[string](f, "a text", path)
}

func read[T any](f Fields, allowed string, path []string) (T, error) {
	var none T
	value, err := f.lookUp(path)
	if err != nil || value == nil {
		return none, err
	}
	typed, ok := value.(T)
	if !ok {
		return none, &FieldError{Path: path, Allowed: allowed}
	}
	return typed, nil
}

// lookUp returns the value of a field, nil if it is not set.
func (f Fields) lookUp(path []string) (any, error) {
	var value any = map[string]any(f)
	for i, name := range path {
		if value == nil {
			return nil, nil
		}
		object, ok := value.(map[string]any)
		if !ok {
			return nil, &FieldError{Path: path[:i], Allowed: "an object"}
		}
		value = object[name]
	}
	return value, nil
}
