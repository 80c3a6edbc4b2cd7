// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstackstub

import (
	"net/http"
	"strconv"
)

type network struct {
	common

	AdminStateUp        bool     `json:"admin_state_up"`
	Status              string   `json:"status"`
	MTU                 int      `json:"mtu"`
	Subnets             []string `json:"subnets"`
	Shared              bool     `json:"shared"`
	External            bool     `json:"router:external"`
	PortSecurityEnabled bool     `json:"port_security_enabled"`
}

func (n *network) field(name string) ([]string, bool) {
	return []string{strconv.FormatBool(n.External)}, name == "router:external"
}

type allocationPool struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

type subnet struct {
	common

	NetworkID       string           `json:"network_id"`
	IPVersion       int              `json:"ip_version"`
	CIDR            string           `json:"cidr"`
	GatewayIP       string           `json:"gateway_ip"`
	EnableDHCP      bool             `json:"enable_dhcp"`
	AllocationPools []allocationPool `json:"allocation_pools"`
	DNSNameservers  []string         `json:"dns_nameservers"`
}

func (s *subnet) field(name string) ([]string, bool) {
	return []string{s.NetworkID}, name == "network_id"
}

type gatewayInfo struct {
	NetworkID        string    `json:"network_id"`
	EnableSNAT       bool      `json:"enable_snat"`
	ExternalFixedIPs []fixedIP `json:"external_fixed_ips"`
}

type router struct {
	common

	AdminStateUp bool         `json:"admin_state_up"`
	Status       string       `json:"status"`
	GatewayInfo  *gatewayInfo `json:"external_gateway_info"`
}

func (*router) field(string) ([]string, bool) {
	return nil, false
}

func (s *Stub) neutron() http.Handler {
	mux := http.NewServeMux()
	versions(mux, http.StatusOK, func() []version { return []version{s.versionOf("neutron", "v2.0", "/v2.0/")} })

	networks := kind[*network]{"network", "networks", func(p *project) *collection[*network] { return &p.networks }}
	subnets := kind[*subnet]{"subnet", "subnets", func(p *project) *collection[*subnet] { return &p.subnets }}
	routers := kind[*router]{"router", "routers", func(p *project) *collection[*router] { return &p.routers }}
	ports := kind[*port]{"port", "ports", func(p *project) *collection[*port] { return &p.ports }}
	groups := kind[*securityGroup]{"security_group", "security-groups",
		func(p *project) *collection[*securityGroup] { return &p.securityGroups }}
	serve(s, mux, networks)
	serve(s, mux, subnets)
	serve(s, mux, routers)
	serve(s, mux, ports)
	serve(s, mux, groups)

	s.handle(mux, "GET /v2.0/extensions", func(*project, *http.Request) answer {
		return encoded(http.StatusOK, named("extensions", []extension{
			{"allowed-address-pairs"}, {"external-net"}, {"router"}, {"security-group"}, {"standard-attr-tag"},
		}))
	})
	s.handle(mux, "GET /v2.0/quotas/{id}/details.json", func(p *project, _ *http.Request) answer {
		return encoded(http.StatusOK, named("quota", map[string]usage{
			"network":             usageOf(p.networks.objects),
			"subnet":              usageOf(p.subnets.objects),
			"port":                usageOf(p.ports.objects),
			"router":              usageOf(p.routers.objects),
			"security_group":      usageOf(p.securityGroups.objects),
			"floatingip":          {Limit: quotaLimit},
			"security_group_rule": {Limit: quotaLimit},
		}))
	})
	s.handle(mux, "POST /v2.0/networks", create(networks, (*project).newNetwork))
	s.handle(mux, "POST /v2.0/subnets", create(subnets, (*project).newSubnet))
	s.handle(mux, "POST /v2.0/routers", create(routers, (*project).newRouter))
	s.handle(mux, "POST /v2.0/ports", create(ports, (*project).newPort))
	s.handle(mux, "POST /v2.0/security-groups", create(groups, (*project).newSecurityGroup))
	s.handle(mux, "POST /v2.0/security-group-rules", createRules)
	s.handle(mux, "DELETE /v2.0/security-group-rules/{id}", deleteRule)
	s.handle(mux, "PUT /v2.0/routers/{id}/add_router_interface", addRouterInterface)
	return mux
}

// quotaLimit is so high that nothing is scarce.
const quotaLimit = 100000

type extension struct {
	Alias string `json:"alias"`
}

type usage struct {
	Limit    int `json:"limit"`
	Used     int `json:"used"`
	Reserved int `json:"reserved"`
}

func usageOf[T object](objects []T) usage {
	return usage{Limit: quotaLimit, Used: len(objects)}
}

// create makes an object from a request. What complete adds is what Neutron adds.
func create[T object](k kind[T], complete func(*project, *http.Request) (T, error)) func(*project, *http.Request) answer {
	return func(p *project, r *http.Request) answer {
		o, err := complete(p, r)
		if err != nil {
			return badRequest("%v", err)
		}
		k.of(p).add(o, p.id)
		return encoded(http.StatusCreated, named(k.singular, o))
	}
}

func (p *project) newNetwork(r *http.Request) (*network, error) {
	n := &network{Status: "ACTIVE", MTU: 1450, PortSecurityEnabled: true, Subnets: []string{}}
	return n, decode(r, "network", n)
}

func (p *project) newRouter(r *http.Request) (*router, error) {
	created := &router{Status: "ACTIVE"}
	if err := decode(r, "router", created); err != nil {
		return nil, err
	}
	if created.GatewayInfo != nil {
		created.GatewayInfo.EnableSNAT = true
		created.GatewayInfo.ExternalFixedIPs = []fixedIP{{SubnetID: fixedID("public"), Address: "172.24.1.2"}}
	}
	return created, nil
}
