// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	// reportVersion is the version of the format of reports.
	reportVersion = 1
	// maxReport is the maximum size of a report in bytes.
	maxReport = 256 << 10
	// maxElements is the maximum length of a list in a report.
	maxElements = 1024
)

// Answer says whether something works from the network of a site.
type Answer string

// Answers of probes.
const (
	AnswerOK      Answer = "ok"
	AnswerFailed  Answer = "failed"
	AnswerUnknown Answer = "unknown"
)

// Report is what a probe saw in the network of a site.
type Report struct {
	// Version is the version of the format.
	Version int `json:"version"`
	// Site is the name of the site.
	Site string `json:"site"`
	// Time is when the report was made, in seconds since 1970 by the clock of the probe.
	Time int64 `json:"time"`
	// Interfaces are the interfaces with addresses.
	Interfaces []Interface `json:"interfaces"`
	// Gateways are the default gateways.
	Gateways []string `json:"gateways"`
	// DHCP is what DHCP servers answered.
	DHCP DHCP `json:"dhcp"`
	// Clock is the time of a server, nil if none did.
	Clock *ClockReading `json:"clock"`
	// DNS are the answers of DNS servers.
	DNS []NameAnswer `json:"dns"`
	// Targets are what nodes connect to.
	Targets []Target `json:"targets"`
	// Paths are the ways to the gateways.
	Paths []Path `json:"paths"`
	// Peers are the ways to the probes of other sites.
	Peers []Path `json:"peers"`
}

// Interface is a network interface.
type Interface struct {
	Name      string   `json:"name"`
	MTU       int      `json:"mtu"`
	Addresses []string `json:"addresses"`
}

// DHCP is what DHCP servers answered. It is unknown if none could be asked.
type DHCP struct {
	State   Answer  `json:"state"`
	Answers []Offer `json:"answers"`
}

// Offer is the answer of a DHCP server. Source is the program that got it.
type Offer struct {
	Source     string   `json:"source"`
	Server     string   `json:"server"`
	Address    string   `json:"address"`
	MTU        int      `json:"mtu"`
	Routers    []string `json:"routers"`
	DNSServers []string `json:"dnsServers"`
}

// ClockReading is the Date of a response, and the time of the probe before and after the request, in seconds since 1970.
type ClockReading struct {
	From   string `json:"from"`
	Date   string `json:"date"`
	Before int64  `json:"before"`
	After  int64  `json:"after"`
}

// NameAnswer says whether a DNS server resolves a name.
type NameAnswer struct {
	Server string `json:"server"`
	Name   string `json:"name"`
	State  Answer `json:"state"`
}

// Target is a host and port that nodes connect to.
type Target struct {
	Role   string `json:"role"`
	Target string `json:"target"`
	State  Answer `json:"state"`
}

// Path is the way to another host. MTU is the largest packet that gets through, zero if it is not known.
type Path struct {
	To      string `json:"to"`
	Address string `json:"address"`
	State   Answer `json:"state"`
	MTU     int    `json:"mtu"`
}

// ReadReport reads the report of a probe. It takes nothing of it that it does not know, and makes all texts printable. The error is of
// ClassConfiguration.
func ReadReport(reader io.Reader) (*Report, error) {
	data, err := io.ReadAll(io.LimitReader(reader, maxReport+1))
	if err != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "the report cannot be read: %w", err)
	}
	if len(data) > maxReport {
		return nil, platform.NewError(platform.ClassConfiguration, "the report has more than %d bytes", maxReport)
	}
	var (
		report  = &Report{}
		decoder = json.NewDecoder(bytes.NewReader(data))
	)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(report); err != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "the report must be the JSON document that a probe prints: %s",
			platform.Printable(err.Error()))
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, platform.NewError(platform.ClassConfiguration, "the report must be one JSON document")
	}
	if report.Version != reportVersion {
		return nil, platform.NewError(platform.ClassConfiguration, "the report must have version %d, but has %d", reportVersion, report.Version)
	}
	if err := sanitize(reflect.ValueOf(report).Elem()); err != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "%w", err)
	}
	return report, nil
}

// sanitize makes all texts of the value printable, and checks its numbers, answers and lengths.
func sanitize(value reflect.Value) error {
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			return sanitize(value.Elem())
		}
	case reflect.Struct:
		for i := range value.NumField() {
			if err := sanitize(value.Field(i)); err != nil {
				return err
			}
		}
	case reflect.Slice:
		if value.Len() > maxElements {
			return fmt.Errorf("the report has a list with more than %d elements", maxElements)
		}
		for i := range value.Len() {
			if err := sanitize(value.Index(i)); err != nil {
				return err
			}
		}
	case reflect.String:
		value.SetString(platform.Printable(value.String()))
		switch answer, ok := value.Interface().(Answer); {
		case ok && answer != AnswerOK && answer != AnswerFailed && answer != AnswerUnknown:
			return fmt.Errorf("the report has state %q, which must be one of %q", answer, []Answer{AnswerOK, AnswerFailed, AnswerUnknown})
		}
	case reflect.Int, reflect.Int64:
		if value.Int() < 0 {
			return fmt.Errorf("the report has a negative number")
		}
	}
	return nil
}
