// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstackstub

import (
	"net/http"
	"slices"
)

type rule struct {
	ID              string  `json:"id"`
	SecurityGroupID string  `json:"security_group_id"`
	Direction       string  `json:"direction"`
	EtherType       string  `json:"ethertype"`
	Protocol        *string `json:"protocol"`
	PortRangeMin    *int    `json:"port_range_min"`
	PortRangeMax    *int    `json:"port_range_max"`
	RemoteGroupID   *string `json:"remote_group_id"`
	RemoteIPPrefix  *string `json:"remote_ip_prefix"`
	Description     string  `json:"description"`
	ProjectID       string  `json:"project_id"`
}

type securityGroup struct {
	common

	Stateful bool   `json:"stateful"`
	Rules    []rule `json:"security_group_rules"`
}

func (*securityGroup) field(string) ([]string, bool) {
	return nil, false
}

// newSecurityGroup allows what goes out, as Neutron does.
func (p *project) newSecurityGroup(r *http.Request) (*securityGroup, error) {
	created := &securityGroup{Stateful: true}
	if err := decode(r, "security_group", created); err != nil {
		return nil, err
	}
	created.ID = newID()
	for _, etherType := range []string{"IPv4", "IPv6"} {
		created.Rules = append(created.Rules,
			rule{ID: newID(), SecurityGroupID: created.ID, Direction: "egress", EtherType: etherType, ProjectID: p.id})
	}
	return created, nil
}

func createRules(p *project, r *http.Request) answer {
	var rules []rule
	if err := decode(r, "security_group_rules", &rules); err != nil {
		return badRequest("%v", err)
	}
	for i := range rules {
		group := p.securityGroups.get(rules[i].SecurityGroupID)
		if group == nil {
			return notFoundNeutron(r)
		}
		rules[i].ID, rules[i].ProjectID = newID(), p.id
		group.Rules = append(group.Rules, rules[i])
	}
	return encoded(http.StatusCreated, named("security_group_rules", rules))
}

func deleteRule(p *project, r *http.Request) answer {
	for _, group := range p.securityGroups.objects {
		count := len(group.Rules)
		group.Rules = slices.DeleteFunc(group.Rules, func(existing rule) bool { return existing.ID == r.PathValue("id") })
		if len(group.Rules) < count {
			return answer{status: http.StatusNoContent}
		}
	}
	return notFoundNeutron(r)
}
