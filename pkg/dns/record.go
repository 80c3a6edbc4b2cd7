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
	// TypeA is an IPv4 address.
	TypeA Type = "A"
	// TypeAAAA is an IPv6 address.
	TypeAAAA Type = "AAAA"
	// TypeCNAME is another name.
	TypeCNAME Type = "CNAME"
	// TypeTXT is a text.
	TypeTXT Type = "TXT"
)

const (
	// DefaultTTL is for how many seconds others may keep a record if nobody said.
	DefaultTTL = 120
	// maxTTL is that of RFC 2181.
	maxTTL = 1<<31 - 1
	// maxString is how long a character string is at most, as it stands in a zone file: RFC 1035 has 255 octets without quotes and
	// escapes, and Designate 255 characters with them. Who reads a text joins its strings.
	maxString = 253
	// maxText leaves room for the rest of a message.
	maxText = 60000
)

// labels begin and end with a letter or digit; an underscore is not in names of hosts, but of other records.
var label = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$`)

// Record is a set of values of one name and type.
type Record struct {
	// Name is the domain name in lower case, with a dot at its end.
	Name string
	// Type is the type of the values.
	Type Type
	// TTL is for how many seconds others may keep the record.
	TTL uint32
	// Values are the values as they stand in a zone file, in a canonical form, sorted, each once.
	Values []string
}

// NewRecord returns the record that a DNSRecord describes. The class of the error is ClassConfiguration, and it names the field.
func NewRecord(name string, recordType Type, values []string, ttl *int64) (Record, error) {
	record := Record{Name: Canonical(name), Type: recordType, TTL: DefaultTTL}
	if !isName(record.Name, true) {
		return record, platform.NewError(platform.ClassConfiguration, "spec.name: %q is no domain name", name)
	}
	if ttl != nil {
		if *ttl < 1 || *ttl > maxTTL {
			return record, platform.NewError(platform.ClassConfiguration, "spec.ttl: %d is not between 1 and %d", *ttl, maxTTL)
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
		return record, platform.NewError(platform.ClassConfiguration, "spec.values: there is none")
	case recordType == TypeCNAME && len(record.Values) > 1:
		return record, platform.NewError(platform.ClassConfiguration, "spec.values: a CNAME record has one value")
	}
	return record, nil
}

// format writes a value of a DNSRecord as it stands in a zone file.
func format(recordType Type, value string) (string, error) {
	switch recordType {
	case TypeA, TypeAAAA:
		address, err := netip.ParseAddr(value)
		if err != nil || address.Zone() != "" || address.Is4() != (recordType == TypeA) || address.Is4In6() {
			return "", fmt.Errorf("%q is no address for a record of type %s", value, recordType)
		}
		return address.String(), nil
	case TypeCNAME:
		if name := Canonical(value); isName(name, false) {
			return name, nil
		}
		return "", fmt.Errorf("%q is no domain name", value)
	case TypeTXT:
		if len(value) > maxText {
			return "", fmt.Errorf("it is longer than %d octets", maxText)
		}
		return quote(value), nil
	default:
		return "", fmt.Errorf("records of type %q are not supported", recordType)
	}
}

// quote writes a text as character strings.
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

// CanonicalValue returns a value as it stands in a zone file in the form that a Record has.
func CanonicalValue(recordType Type, data string) (string, error) {
	rr, err := dns.NewRR(fmt.Sprintf(". %d IN %s %s", DefaultTTL, recordType, data))
	if err != nil || rr == nil {
		return "", fmt.Errorf("it is no value of a record of type %s", recordType)
	}
	return ValueOf(rr), nil
}

// ValueOf returns the value of a resource record in the form that a Record has.
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
			return nil, platform.NewError(platform.ClassConfiguration, "record %s of type %s: it has a value that cannot be read", r.Name, r.Type)
		}
		rrs = append(rrs, rr)
	}
	return rrs, nil
}

// SameValues reports whether the values are those of the record, in any order.
func (r Record) SameValues(values []string) bool {
	sorted := slices.Sorted(slices.Values(values))
	return slices.Equal(r.Values, slices.Compact(sorted))
}

// Canonical returns the domain name in lower case with a dot at its end.
func Canonical(name string) string {
	return strings.ToLower(dns.Fqdn(name))
}

// isName reports whether the canonical name is a domain name below the root, whose first label may be a wildcard.
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

// Accepted returns what err means after the service accepted the record: it never says that nothing was written, as the class of a refused
// look or of an answer with a wrong signature would. but says what failed.
func (r Record) Accepted(service, but string, err error) error {
	switch platform.ClassOf(err) {
	case platform.ClassTransient, platform.ClassConflict:
		return err
	default:
		return platform.NewError(platform.ClassTransient, "%s accepted record %s of type %s, but %s: %s", service, r.Name, r.Type, but,
			err.Error())
	}
}
