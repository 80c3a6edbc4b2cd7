// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
)

var (
	uuidRegexp       = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	thumbprintRegexp = regexp.MustCompile(`^[0-9a-fA-F]{2}((:[0-9a-fA-F]{2}){19}|(:[0-9a-fA-F]{2}){31})$`)
)

// names is the set of names seen in a list.
type names map[string]bool

// add returns an error if the name was added before.
func (n names) add(name string, fldPath *field.Path) field.ErrorList {
	if n[name] {
		return field.ErrorList{field.Duplicate(fldPath, name)}
	}
	n[name] = true
	return nil
}

// addRequired is add for names that must not be empty.
func (n names) addRequired(name string, fldPath *field.Path) field.ErrorList {
	if errs := validateRequired(name, fldPath); len(errs) > 0 {
		return errs
	}
	return n.add(name, fldPath)
}

// addOneOf is add for names that must be among the allowed ones.
func (n names) addOneOf(name string, allowed []string, fldPath *field.Path) field.ErrorList {
	return append(validateOneOf(name, allowed, fldPath), n.add(name, fldPath)...)
}

func validateRequired(value string, fldPath *field.Path) field.ErrorList {
	if strings.TrimSpace(value) == "" {
		return field.ErrorList{field.Required(fldPath, "must not be empty")}
	}
	return nil
}

func validateOneOf[T ~string](value T, allowed []T, fldPath *field.Path) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(fldPath, fmt.Sprintf("must be one of %q", allowed))}
	}
	if !slices.Contains(allowed, value) {
		return field.ErrorList{field.NotSupported(fldPath, value, allowed)}
	}
	return nil
}

// validateAllowed accepts the values of a list of the CloudProfile, and any value if the list is nil.
func validateAllowed(value string, allowed []string, fldPath *field.Path) field.ErrorList {
	if allowed == nil || value == "" {
		return nil
	}
	return validateOneOf(value, allowed, fldPath)
}

func validateDNSLabel(value string, fldPath *field.Path) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(fldPath, "must be a DNS label")}
	}
	return validateFormat(value, validation.IsDNS1123Label, fldPath)
}

// validateFormat returns an error for each message of the check.
func validateFormat(value string, check func(string) []string, fldPath *field.Path) field.ErrorList {
	return lists.Map(check(value), func(message string) *field.Error { return field.Invalid(fldPath, value, message) })
}

func validateUUID(value string, fldPath *field.Path) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(fldPath, "must be a UUID")}
	}
	if !uuidRegexp.MatchString(value) {
		return field.ErrorList{field.Invalid(fldPath, value, "must be a UUID")}
	}
	return nil
}

// validateURL checks that the value is the address of an API: it has a host, no credentials, no query and no fragment.
func validateURL(value string, schemes []string, fldPath *field.Path) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(fldPath, fmt.Sprintf("must be a URL with the scheme %s", strings.Join(schemes, " or ")))}
	}
	parsed, err := url.Parse(value)
	switch {
	case err != nil:
		return field.ErrorList{field.Invalid(fldPath, "(hidden)", "must be a URL")}
	case parsed.User != nil:
		return field.ErrorList{field.Invalid(fldPath, parsed.Redacted(), "must not contain credentials")}
	case !slices.Contains(schemes, parsed.Scheme):
		return field.ErrorList{field.Invalid(fldPath, value, fmt.Sprintf("must have the scheme %s", strings.Join(schemes, " or ")))}
	case parsed.Hostname() == "":
		return field.ErrorList{field.Invalid(fldPath, value, "must have a host")}
	case parsed.RawQuery != "" || parsed.Fragment != "":
		return field.ErrorList{field.Invalid(fldPath, value, "must not have a query or a fragment")}
	}
	return nil
}

// validateCertificates checks a PEM bundle. Messages do not repeat it.
func validateCertificates(bundle string, fldPath *field.Path) field.ErrorList {
	invalid := func(message string) field.ErrorList {
		return field.ErrorList{field.Invalid(fldPath, "(hidden)", message)}
	}
	rest := []byte(strings.TrimSpace(bundle))
	for len(rest) > 0 {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return invalid("must consist of PEM blocks")
		}
		if block.Type != "CERTIFICATE" {
			return invalid(fmt.Sprintf("must consist of CERTIFICATE blocks, but has a block %s", block.Type))
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return invalid("must consist of valid X.509 certificates")
		}
	}
	return nil
}

func validatePositiveDuration(duration *metav1.Duration, fldPath *field.Path) field.ErrorList {
	if duration == nil || duration.Duration > 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(fldPath, duration.Duration.String(), "must be greater than zero")}
}

func validateNotNegative(value *int32, fldPath *field.Path) field.ErrorList {
	if value == nil || *value >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(fldPath, *value, "must not be negative")}
}

func validateNotNegativeDuration(duration *metav1.Duration, fldPath *field.Path) field.ErrorList {
	if duration == nil || duration.Duration >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(fldPath, duration.Duration.String(), "must not be negative")}
}

// validateShare checks that the value, if it is set, is a decimal number from 0 to 1.
func validateShare(value *string, fldPath *field.Path) field.ErrorList {
	if value == nil {
		return nil
	}
	if share, err := strconv.ParseFloat(*value, 64); err != nil || !(share >= 0 && share <= 1) {
		return field.ErrorList{field.Invalid(fldPath, *value, `must be a number from 0 to 1, such as "0.5"`)}
	}
	return nil
}

func validateResources(resources corev1.ResourceList, fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		if quantity := resources[name]; quantity.Sign() < 0 {
			allErrs = append(allErrs, field.Invalid(fldPath.Key(string(name)), quantity.String(), "must not be negative"))
		}
	}
	return allErrs
}

// Without returns the errors that are not in before. The lists of supported values are not compared.
func Without(errs, before field.ErrorList) field.ErrorList {
	if len(errs) == 0 || len(before) == 0 {
		return errs
	}
	key := func(err *field.Error) string {
		if err.Type == field.ErrorTypeNotSupported {
			return field.NotSupported(field.NewPath(err.Field), err.BadValue, []string{}).Error()
		}
		return err.Error()
	}
	known := sets.New[string]()
	for _, err := range before {
		known.Insert(key(err))
	}
	var result field.ErrorList
	for _, err := range errs {
		if !known.Has(key(err)) {
			result = append(result, err)
		}
	}
	return result
}
