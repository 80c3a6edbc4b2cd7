// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// DNSTypeDesignate is the type of DNSRecords in OpenStack Designate.
	DNSTypeDesignate = "hybrid-designate"
	// DNSTypeRFC2136 is the type of DNSRecords on servers that accept dynamic updates with TSIG.
	DNSTypeRFC2136 = "hybrid-rfc2136"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// DNSRecordState is the state of a DNSRecord: what may have been written for it.
type DNSRecordState struct {
	metav1.TypeMeta `json:",inline"`

	// Zones are the zones that values may have been written to.
	// +optional
	Zones []DNSRecordZone `json:"zones,omitempty"`
}

// DNSRecordZone is a zone with the values of a DNSRecord in it.
type DNSRecordZone struct {
	// Zone is the zone as in status.zone of the DNSRecord.
	Zone string `json:"zone"`
	// Values are the values that may have been written, in the format of a zone file.
	Values []string `json:"values"`
}
