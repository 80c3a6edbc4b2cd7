// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"bytes"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateSecretUpdate is ValidateSecret for the new data of a Secret. Errors in the old data may stay where nothing changes, so that
// they do not keep the credentials of other sites from being rotated. fldPath is the path of the data.
func ValidateSecretUpdate(newData, oldData map[string][]byte, fldPath *field.Path) field.ErrorList {
	known := sets.New[string]()
	for _, err := range ValidateSecret(oldData, fldPath) {
		known.Insert(err.Error())
	}
	changed := changedKeys(newData, oldData)
	return slices.DeleteFunc(ValidateSecret(newData, fldPath), func(err *field.Error) bool {
		key := strings.TrimSuffix(strings.TrimPrefix(err.Field, fldPath.String()+"["), "]")
		return known.Has(err.Error()) && !isAffected(key, changed, newData)
	})
}

// changedKeys returns the keys whose values differ, and those that came or went.
func changedKeys(newData, oldData map[string][]byte) sets.Set[string] {
	changed := sets.New[string]()
	for key, value := range newData {
		if before, ok := oldData[key]; !ok || !bytes.Equal(before, value) {
			changed.Insert(key)
		}
	}
	return changed.Union(sets.KeySet(oldData).Difference(sets.KeySet(newData)))
}

// isAffected reports whether a change of the keys concerns an error about the key. That a key is missing depends on all keys of its
// site, and a certificate is checked together with its private key.
func isAffected(key string, changed sets.Set[string], data map[string][]byte) bool {
	prefix, name, _ := strings.Cut(key, ".")
	switch _, exists := data[key]; {
	case !exists:
		return slices.ContainsFunc(changed.UnsortedList(), func(other string) bool { return strings.HasPrefix(other, prefix+".") })
	case name == keyClientCertificate:
		return changed.HasAny(key, prefix+"."+keyClientKey)
	default:
		return changed.Has(key)
	}
}
