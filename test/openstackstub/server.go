// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstackstub

import (
	"time"
)

// server is a server with what is needed to show it.
type server struct {
	id, name, flavor, image, zone, keyName string
	portID                                 string
	metadata                               map[string]string
	addresses                              []address
	created, deleted                       time.Time
	bootDelay                              time.Duration
}

type address struct {
	Version int    `json:"version"`
	Address string `json:"addr"`
	Type    string `json:"OS-EXT-IPS:type"`
	MAC     string `json:"OS-EXT-IPS-MAC:mac_addr"`
}

type reference struct {
	ID    string `json:"id,omitempty"`
	Name  string `json:"name,omitempty"`
	Links []link `json:"links,omitempty"`
}

// serverSummary is a server in the short list.
type serverSummary struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Links []link `json:"links"`
}

// serverDetail is a server in the long list.
type serverDetail struct {
	serverSummary

	Status           string               `json:"status"`
	TenantID         string               `json:"tenant_id"`
	UserID           string               `json:"user_id"`
	Metadata         map[string]string    `json:"metadata"`
	HostID           string               `json:"hostId"`
	Image            reference            `json:"image"`
	Flavor           reference            `json:"flavor"`
	Created          string               `json:"created"`
	Updated          string               `json:"updated"`
	Addresses        map[string][]address `json:"addresses"`
	AccessIPv4       string               `json:"accessIPv4"`
	AccessIPv6       string               `json:"accessIPv6"`
	DiskConfig       string               `json:"OS-DCF:diskConfig"`
	Progress         int                  `json:"progress"`
	AvailabilityZone string               `json:"OS-EXT-AZ:availability_zone"`
	ConfigDrive      string               `json:"config_drive"`
	KeyName          string               `json:"key_name"`
	LaunchedAt       *string              `json:"OS-SRV-USG:launched_at"`
	TerminatedAt     *string              `json:"OS-SRV-USG:terminated_at"`
	SecurityGroups   []reference          `json:"security_groups"`
	TaskState        *string              `json:"OS-EXT-STS:task_state"`
	VMState          string               `json:"OS-EXT-STS:vm_state"`
	PowerState       int                  `json:"OS-EXT-STS:power_state"`
	Volumes          []reference          `json:"os-extended-volumes:volumes_attached"`
}

// updated is when the server changed for the last time.
func (s *server) updated(now time.Time) time.Time {
	switch active := s.created.Add(s.bootDelay); {
	case !s.deleted.IsZero():
		return s.deleted
	case now.Before(active):
		return s.created
	default:
		return active
	}
}

func (s *server) status(now time.Time) string {
	switch {
	case !s.deleted.IsZero():
		return "DELETED"
	case now.Before(s.created.Add(s.bootDelay)):
		return "BUILD"
	default:
		return "ACTIVE"
	}
}

func (s *server) summary(base string) serverSummary {
	return serverSummary{ID: s.id, Name: s.name, Links: linksOf(base, "servers", s.id)}
}

func (s *server) detail(base string, p *project, now time.Time) serverDetail {
	d := serverDetail{
		serverSummary:    s.summary(base),
		Status:           s.status(now),
		TenantID:         p.id,
		UserID:           fixedID("user " + p.name),
		Metadata:         s.metadata,
		HostID:           fixedID("host"),
		Image:            reference{ID: s.image, Links: linksOf(base, "images", s.image)[1:]},
		Flavor:           reference{ID: s.flavor, Links: linksOf(base, "flavors", s.flavor)[1:]},
		Created:          timestamp(s.created),
		Updated:          timestamp(s.updated(now)),
		Addresses:        map[string][]address{},
		DiskConfig:       "MANUAL",
		AvailabilityZone: s.zone,
		KeyName:          s.keyName,
		SecurityGroups:   []reference{{Name: s.keyName}},
		VMState:          "building",
		Volumes:          []reference{},
	}
	if len(s.addresses) > 0 {
		d.Addresses["nodes"] = s.addresses
	}
	if d.Status == "ACTIVE" {
		launched := s.updated(now).UTC().Format("2006-01-02T15:04:05.000000")
		d.LaunchedAt, d.VMState, d.PowerState = &launched, "active", 1
	}
	return d
}

func linksOf(base, kind, id string) []link {
	return []link{{Rel: "self", Href: base + "/v2.1/" + kind + "/" + id}, {Rel: "bookmark", Href: base + "/" + kind + "/" + id}}
}
