// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstackstub

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"

	"go4.org/netipx"
)

const routerInterface = "network:router_interface"

type fixedIP struct {
	SubnetID string `json:"subnet_id"`
	Address  string `json:"ip_address"`
}

type addressPair struct {
	Address string `json:"ip_address"`
	MAC     string `json:"mac_address,omitempty"`
}

type port struct {
	common

	NetworkID           string        `json:"network_id"`
	MAC                 string        `json:"mac_address"`
	AdminStateUp        bool          `json:"admin_state_up"`
	Status              string        `json:"status"`
	DeviceID            string        `json:"device_id"`
	DeviceOwner         string        `json:"device_owner"`
	FixedIPs            []fixedIP     `json:"fixed_ips"`
	AllowedAddressPairs []addressPair `json:"allowed_address_pairs"`
	SecurityGroups      []string      `json:"security_groups"`
}

func (p *port) field(name string) ([]string, bool) {
	switch name {
	case "network_id":
		return []string{p.NetworkID}, true
	case "device_id":
		return []string{p.DeviceID}, true
	case "device_owner":
		return []string{p.DeviceOwner}, true
	case "fixed_ips":
		var subnets []string
		for _, ip := range p.FixedIPs {
			subnets = append(subnets, "subnet_id="+ip.SubnetID)
		}
		return subnets, true
	default:
		return nil, false
	}
}

func (p *project) newSubnet(r *http.Request) (*subnet, error) {
	created := &subnet{IPVersion: 4, DNSNameservers: []string{}}
	if err := decode(r, "subnet", created); err != nil {
		return nil, err
	}
	prefix, err := netip.ParsePrefix(created.CIDR)
	if err != nil {
		return nil, err
	}
	parent := p.networks.get(created.NetworkID)
	if parent == nil {
		return nil, fmt.Errorf("network %q does not exist", created.NetworkID)
	}
	created.ID = newID()
	parent.Subnets = append(parent.Subnets, created.ID)
	if created.GatewayIP == "" {
		created.GatewayIP = prefix.Masked().Addr().Next().String()
	}
	if created.AllocationPools == nil {
		first, last := prefix.Masked().Addr().Next().Next(), netipx.PrefixLastIP(prefix).Prev()
		created.AllocationPools = []allocationPool{{Start: first.String(), End: last.String()}}
	}
	return created, nil
}

func (p *project) newPort(r *http.Request) (*port, error) {
	created := &port{Status: "DOWN", AdminStateUp: true, AllowedAddressPairs: []addressPair{}, SecurityGroups: []string{}}
	if err := decode(r, "port", created); err != nil {
		return nil, err
	}
	created.MAC = macOf(newID())
	for i, ip := range created.FixedIPs {
		if ip.Address == "" {
			var err error
			if created.FixedIPs[i].Address, err = p.nextAddress(ip.SubnetID); err != nil {
				return nil, err
			}
		}
	}
	return created, nil
}

// nextAddress never gives an address twice.
func (p *project) nextAddress(subnetID string) (string, error) {
	s := p.subnets.get(subnetID)
	if s == nil {
		return "", fmt.Errorf("subnet %q does not exist", subnetID)
	}
	next, err := netip.ParseAddr(s.AllocationPools[0].Start)
	if err != nil {
		return "", err
	}
	for range p.addresses[subnetID] {
		next = next.Next()
	}
	p.addresses[subnetID]++
	return next.String(), nil
}

func addRouterInterface(p *project, r *http.Request) answer {
	var request struct {
		SubnetID string `json:"subnet_id"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		return badRequest("%v", err)
	}
	to, in := p.routers.get(r.PathValue("id")), p.subnets.get(request.SubnetID)
	if to == nil || in == nil {
		return notFoundNeutron(r)
	}
	created := &port{
		NetworkID: in.NetworkID, Status: "ACTIVE", AdminStateUp: true, DeviceID: to.ID, DeviceOwner: routerInterface, MAC: macOf(to.ID),
		FixedIPs: []fixedIP{{SubnetID: in.ID, Address: in.GatewayIP}}, AllowedAddressPairs: []addressPair{}, SecurityGroups: []string{},
	}
	p.ports.add(created, p.id)
	return encoded(http.StatusOK, struct {
		ID        string `json:"id"`
		PortID    string `json:"port_id"`
		SubnetID  string `json:"subnet_id"`
		NetworkID string `json:"network_id"`
		TenantID  string `json:"tenant_id"`
	}{to.ID, created.ID, in.ID, in.NetworkID, p.id})
}
