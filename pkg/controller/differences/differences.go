// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package differences finds the fields that differ between two documents.
package differences

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Difference is a field that differs between two documents.
type Difference struct {
	// Steps lead to the field.
	Steps []Step
	// Before and After are its values, nil if a document does not have the field.
	Before, After json.RawMessage
}

// Step leads to a field of an object, or to the item of a list with the key.
type Step struct {
	// Name is the name of the field, or the key of the item.
	Name string
	// of is the field that identifies the items of a list, empty for a field of an object.
	of string
}

// keys are the fields that identify the items of lists. Items that have none of them are compared by their position in the list, which is
// one value.
var keys = []string{"name", "version"}

// Path returns the path of the field, with keys instead of positions.
func (d *Difference) Path() string {
	var path *field.Path
	for _, s := range d.Steps {
		switch {
		case s.of != "":
			path = path.Key(s.Name)
		case path == nil:
			path = field.NewPath(s.Name)
		default:
			path = path.Child(s.Name)
		}
	}
	return path.String()
}

// Between returns the fields that differ.
func Between(before, after json.RawMessage) []Difference {
	return compareValues(nil, before, after)
}

func compareValues(steps []Step, before, after json.RawMessage) []Difference {
	if bytes.Equal(before, after) {
		return nil
	}
	if b, a := fieldsOf(before), fieldsOf(after); b != nil && a != nil {
		return compareFields(steps, "", b, a)
	}
	if b, key := itemsOf(before); key != "" {
		if a, other := itemsOf(after); other == key {
			return compareFields(steps, key, b, a)
		}
	}
	// Values may be equal apart from white space and the order of fields.
	var b, a any
	if json.Unmarshal(before, &b) == nil && json.Unmarshal(after, &a) == nil && reflect.DeepEqual(b, a) {
		return nil
	}
	return []Difference{{Steps: steps, Before: before, After: after}}
}

func compareFields(steps []Step, of string, before, after map[string]json.RawMessage) []Difference {
	var found []Difference
	for _, name := range sets.List(sets.KeySet(before).Union(sets.KeySet(after))) {
		found = append(found, compareValues(append(slices.Clone(steps), Step{Name: name, of: of}), before[name], after[name])...)
	}
	return found
}

// fieldsOf returns the fields of an object, nil if the value is not an object.
func fieldsOf(value json.RawMessage) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(value, &fields) != nil {
		return nil
	}
	return fields
}

// itemsOf returns the items of a list by their keys, and the field with the keys. The field is empty if the value is
// not a list of items with different keys.
func itemsOf(value json.RawMessage) (map[string]json.RawMessage, string) {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil || len(list) == 0 {
		return nil, ""
	}
	for _, key := range keys {
		items := map[string]json.RawMessage{}
		for _, item := range list {
			if name := keyOf(item, key); name != "" {
				items[name] = item
			}
		}
		if len(items) == len(list) {
			return items, key
		}
	}
	return nil, ""
}

func keyOf(item json.RawMessage, key string) string {
	var name string
	if json.Unmarshal(fieldsOf(item)[key], &name) != nil {
		return ""
	}
	return name
}

// With returns the document with another value of a field, or without it if the value is nil.
func With(document json.RawMessage, steps []Step, value json.RawMessage) (json.RawMessage, error) {
	if len(steps) == 0 {
		return value, nil
	}
	if steps[0].of != "" {
		return withItem(document, steps, value)
	}
	fields := fieldsOf(document)
	if fields == nil {
		fields = map[string]json.RawMessage{}
	}
	changed, err := With(fields[steps[0].Name], steps[1:], value)
	if err != nil {
		return nil, err
	}
	if fields[steps[0].Name] = changed; changed == nil {
		delete(fields, steps[0].Name)
	}
	return json.Marshal(fields)
}

func withItem(document json.RawMessage, steps []Step, value json.RawMessage) (json.RawMessage, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(document, &list); err != nil {
		return nil, err
	}
	at := slices.IndexFunc(list, func(item json.RawMessage) bool { return keyOf(item, steps[0].of) == steps[0].Name })
	if at < 0 {
		at, list = len(list), append(list, nil)
	}
	changed, err := With(list[at], steps[1:], value)
	if err != nil {
		return nil, err
	}
	if list[at] = changed; changed == nil {
		list = slices.Delete(list, at, at+1)
	}
	return json.Marshal(list)
}
