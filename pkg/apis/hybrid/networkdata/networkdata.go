// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package networkdata fills the templates of the network data of bare-metal hosts.
package networkdata

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Variable is a name that a template has as $NAME or ${NAME}.
type Variable string

const (
	// Machine is the name of the machine.
	Machine Variable = "MACHINE"
	// Host is the name of the host.
	Host Variable = "HOST"
	// MAC is the address of the interface that the host boots from.
	MAC Variable = "MAC"
	// Address is the host's IP address.
	Address Variable = "ADDRESS"
	// Prefix is the length of the prefix of the host's network, in bits.
	Prefix Variable = "PREFIX"
	// Gateway is the default gateway.
	Gateway Variable = "GATEWAY"
	// DNSServers are the resolvers, separated by spaces.
	DNSServers Variable = "DNS_SERVERS"
	// DNSServersJSON are the resolvers as a JSON list.
	DNSServersJSON Variable = "DNS_SERVERS_JSON"
	// MTU is what the node network carries, in bytes.
	MTU Variable = "MTU"
)

// Variables are all names that a template can have.
var Variables = []Variable{Machine, Host, MAC, Address, Prefix, Gateway, DNSServers, DNSServersJSON, MTU}

// dollar is what os.Expand calls the second of two dollar signs.
const dollar = "$"

// token is a dollar sign with what os.Expand takes as the name behind it, at most.
var token = regexp.MustCompile(`\$(\$|\{[^}]*\}?|[A-Za-z_][A-Za-z0-9_]*)?`)

// Parse returns the variables that the template has, each once and in alphabetical order. The error says what is wrong with a
// dollar sign, and which names there are.
func Parse(template string) ([]Variable, error) {
	var found []Variable
	for _, match := range token.FindAllString(template, -1) {
		name := strings.TrimPrefix(match, dollar)
		switch {
		case name == dollar:
			continue
		case name == "":
			return nil, fmt.Errorf("a dollar sign must be doubled unless a name follows it")
		case strings.HasPrefix(name, "{"):
			if !strings.HasSuffix(name, "}") {
				return nil, fmt.Errorf("%q has no closing brace", match)
			}
			name = name[1 : len(name)-1]
		}
		if !slices.Contains(Variables, Variable(name)) {
			return nil, fmt.Errorf("unknown variable %q: must be one of %q", match, Variables)
		}
		found = append(found, Variable(name))
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// Values are what a template's variables stand for. Those that are empty and numbers that are zero are not known.
type Values struct {
	// Machine and Host are the names of the machine and its host.
	Machine, Host string
	// MAC is the address of the interface that the host boots from.
	MAC string
	// Address is the host's IP address, and Prefix the length of its network's prefix in bits.
	Address string
	Prefix  int
	// Gateway is the default gateway.
	Gateway string
	// DNSServers are the resolvers.
	DNSServers []string
	// MTU is what the node network carries, in bytes.
	MTU int32
}

// Expand fills the template. The error says what is wrong with the template, or which of its variables is not known.
func Expand(template string, values Values) (string, error) {
	variables, err := Parse(template)
	if err != nil {
		return "", err
	}
	known, err := values.known()
	if err != nil {
		return "", err
	}
	for _, variable := range variables {
		if _, ok := known[variable]; !ok {
			return "", fmt.Errorf("the template has %q, which is not known", variable)
		}
	}
	return os.Expand(template, func(name string) string {
		if name == dollar {
			return dollar
		}
		return known[Variable(name)]
	}), nil
}

// known returns what is known of the variables.
func (v Values) known() (map[Variable]string, error) {
	known := map[Variable]string{}
	for variable, value := range map[Variable]string{Machine: v.Machine, Host: v.Host, MAC: v.MAC, Address: v.Address, Gateway: v.Gateway} {
		if value != "" {
			known[variable] = value
		}
	}
	for variable, value := range map[Variable]int{Prefix: v.Prefix, MTU: int(v.MTU)} {
		if value != 0 {
			known[variable] = strconv.Itoa(value)
		}
	}
	if len(v.DNSServers) > 0 {
		list, err := json.Marshal(v.DNSServers)
		if err != nil {
			return nil, err
		}
		known[DNSServers] = strings.Join(v.DNSServers, " ")
		known[DNSServersJSON] = string(list)
	}
	return known, nil
}
