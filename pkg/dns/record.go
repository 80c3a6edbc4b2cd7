// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// Type is the type of a record.
type Type string

const (
	// TypeA is the type of IPv4 addresses.
	TypeA Type = "A"
	// TypeAAAA is the type of IPv6 addresses.
	TypeAAAA Type = "AAAA"
	// TypeCNAME is the type of aliases.
	TypeCNAME Type = "CNAME"
	// TypeTXT is the type of texts.
	TypeTXT Type = "TXT"
)

const (
	// DefaultTTL is the default TTL in seconds.
	DefaultTTL = 120
	// maxTTL is the limit of RFC 2181.
	maxTTL = 1<<31 - 1
	// maxString limits a character string in zone file format: RFC 1035 permits 255 octets without quotes and escapes, Designate 255
	// characters with them. Readers of a text concatenate its strings.
	maxString = 253
	// maxText leaves room for the rest of a message.
	maxText = 60000
)

// label matches labels, which begin and end with a letter or digit. Underscores are not permitted in host names but in names of other
// records.
var label = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$`)

// Record is a set of values of one name and type.
type Record struct {
	// Name is the domain name in lower case, with a dot at its end.
	Name string
	// Type is the type of the values.
	Type Type
	// TTL is the TTL in seconds.
	TTL uint32
	// Values are the values in zone file format: canonical, sorted and unique.
	Values []string
}

// NewRecord returns the record of a DNSRecord. Errors are of ClassConfiguration and name the field.
func NewRecord(name string, recordType Type, values []string, ttl *int64) (Record, error) {
	record := Record{Name: Canonical(name), Type: recordType, TTL: DefaultTTL}
	if !isName(record.Name, true) {
		return record, platform.NewError(platform.ClassConfiguration, "spec.name: must be a domain name, got %q", name)
	}
	if ttl != nil {
		if *ttl < 1 || *ttl > maxTTL {
			return record, platform.NewError(platform.ClassConfiguration, "spec.ttl: must be between 1 and %d, got %d", maxTTL, *ttl)
		}
		record.TTL = uint32(*ttl)
	}
	for i, value := range values {
		data, err := format(recordType, value)
		if err != nil {
			return record, platform.NewError(platform.ClassConfiguration, "spec.values[%d]: %w", i, err)
		}
		if data, err = CanonicalValue(recordType, data); err != nil {
			return record, platform.NewError(platform.ClassConfiguration, "spec.values[%d]: %w", i, err)
		}
		record.Values = append(record.Values, data)
	}
	slices.Sort(record.Values)
	record.Values = slices.Compact(record.Values)
	switch {
	case len(record.Values) == 0:
		return record, platform.NewError(platform.ClassConfiguration, "spec.values: must not be empty")
	case recordType == TypeCNAME && len(record.Values) > 1:
		return record, platform.NewError(platform.ClassConfiguration, "spec.values: a CNAME record must have exactly one value")
	}
	return record, nil
}

// format converts a value of a DNSRecord to zone file format.
func format(recordType Type, value string) (string, error) {
	switch recordType {
	case TypeA, TypeAAAA:
		address, err := netip.ParseAddr(value)
		if err != nil || address.Zone() != "" || address.Is4() != (recordType == TypeA) || address.Is4In6() {
			return "", fmt.Errorf("must be an address for a record of type %s, got %q", recordType, value)
		}
		return address.String(), nil
	case TypeCNAME:
		if name := Canonical(value); isName(name, false) {
			return name, nil
		}
		return "", fmt.Errorf("must be a domain name, got %q", value)
	case TypeTXT:
		if len(value) > maxText {
			return "", fmt.Errorf("must be at most %d octets", maxText)
		}
		return quote(value), nil
	default:
		return "", fmt.Errorf("records of type %q are not supported", recordType)
	}
}

// quote converts a text to character strings.
func quote(text string) string {
	var quoted []string
	current := ""
	for _, octet := range []byte(text) {
		written := string(rune(octet))
		switch {
		case octet == '"' || octet == '\\':
			written = `\` + written
		case octet < ' ' || octet > '~':
			written = fmt.Sprintf(`\%03d`, octet)
		}
		if len(current)+len(written) > maxString {
			quoted, current = append(quoted, `"`+current+`"`), ""
		}
		current += written
	}
	return strings.Join(append(quoted, `"`+current+`"`), " ")
}

// CanonicalValue returns the canonical form of a value in zone file format.
func CanonicalValue(recordType Type, data string) (string, error) {
	rr, err := dns.NewRR(fmt.Sprintf(". %d IN %s %s", DefaultTTL, recordType, data))
	if err != nil || rr == nil {
		return "", fmt.Errorf("not a valid value for a record of type %s", recordType)
	}
	return ValueOf(rr), nil
}

// ValueOf returns the value of a resource record in canonical form.
func ValueOf(rr dns.RR) string {
	value := strings.TrimPrefix(rr.String(), rr.Header().String())
	if rr.Header().Rrtype == dns.TypeCNAME {
		return strings.ToLower(value)
	}
	return value
}

// RRs returns the resource records of the record.
func (r Record) RRs() ([]dns.RR, error) {
	rrs := make([]dns.RR, 0, len(r.Values))
	for _, value := range r.Values {
		rr, err := dns.NewRR(fmt.Sprintf("%s %d IN %s %s", r.Name, r.TTL, r.Type, value))
		if err != nil {
			return nil, platform.NewError(platform.ClassConfiguration, "record %s of type %s has an invalid value", r.Name, r.Type)
		}
		rrs = append(rrs, rr)
	}
	return rrs, nil
}

// SameValues reports whether the values equal those of the record, in any order.
func (r Record) SameValues(values []string) bool {
	sorted := slices.Sorted(slices.Values(values))
	return slices.Equal(r.Values, slices.Compact(sorted))
}

// Canonical returns the domain name in lower case with a trailing dot.
func Canonical(name string) string {
	return strings.ToLower(dns.Fqdn(name))
}

// isName reports whether the canonical name is a domain name below the root, whose first label may be a wildcard if permitted.
func isName(name string, wildcard bool) bool {
	if name == "." || len(name) > 254 {
		return false
	}
	for i, l := range strings.Split(strings.TrimSuffix(name, "."), ".") {
		if !label.MatchString(l) && (!wildcard || i > 0 || l != "*") {
			return false
		}
	}
	return true
}

// Accepted converts an error that occurred after the service accepted the record, so that its class never implies that nothing was written.
// The reason says what failed.
func (r Record) Accepted(service, reason string, err error) error {
	switch platform.ClassOf(err) {
	case platform.ClassTransient, platform.ClassConflict:
		return err
	default:
		return platform.NewError(platform.ClassTransient, "%s accepted record %s of type %s, but %s: %s", service, r.Name, r.Type, reason,
			err.Error())
	}
}
