// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstackstub

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"time"
)

// project holds the objects of a project.
type project struct {
	id, name  string
	bootDelay time.Duration
	flavors   []flavor
	images    []image

	mutex          sync.Mutex
	servers        []*server
	keyPairs       map[string]keyPair
	serverGroups   []serverGroup
	networks       collection[*network]
	subnets        collection[*subnet]
	routers        collection[*router]
	ports          collection[*port]
	securityGroups collection[*securityGroup]
	addresses      map[string]int
}

// publicSubnet is the ID of the subnet of the external network, which nobody may look at.
const publicSubnet = "00000000-0000-4000-8000-000000000001"

func (s *Stub) newProject(name string) *project {
	sum := sha256.Sum256([]byte(name))
	p := &project{
		id: hex.EncodeToString(sum[:16]), name: name, bootDelay: s.settings.BootDelay,
		keyPairs: map[string]keyPair{}, addresses: map[string]int{},
	}
	for _, flavorName := range s.settings.Flavors {
		p.flavors = append(p.flavors, newFlavor(flavorName))
	}
	for _, imageName := range s.settings.Images {
		p.images = append(p.images, newImage(imageName))
	}
	public := &network{Status: "ACTIVE", MTU: 1500, External: true, AdminStateUp: true, PortSecurityEnabled: true,
		Subnets: []string{publicSubnet}}
	public.Name = FloatingPool
	p.networks.add(public, p.id)

	for _, group := range s.settings.Servers {
		if group.Project == name {
			p.addServers(group)
		}
	}
	return p
}

// addServers adds servers that became active an hour ago, one after the other.
func (p *project) addServers(group Servers) {
	created := time.Now().Add(-time.Hour)
	for i := range group.Count {
		id := newID()
		p.servers = append(p.servers, &server{
			id: id, name: fmt.Sprintf("%s%05d", group.Prefix, i), created: created.Add(time.Duration(i) * time.Millisecond),
			metadata: group.Metadata, flavor: fixedID("flavor"), image: fixedID("image"), zone: "az1", keyName: group.Prefix,
			addresses: []address{{Version: 4, Address: fmt.Sprintf("10.250.%d.%d", i/256, i%256), Type: "fixed", MAC: macOf(id)}},
		})
	}
}

// fixedID is the ID of an object that all projects have.
func fixedID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

func macOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return fmt.Sprintf("fa:16:3e:%02x:%02x:%02x", sum[0], sum[1], sum[2])
}
