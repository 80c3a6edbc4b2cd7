// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/dns/v2/zones"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Nameserver is the host and port of the BIND that Designate brings its zones to.
const Nameserver = "127.0.0.1:5355"

const zoneTimeout = 2 * time.Minute

// Designate makes and deletes zones.
type Designate struct {
	api *gophercloud.ServiceClient
}

// NewDesignate signs in.
func NewDesignate(ctx context.Context, c Credentials) (*Designate, error) {
	provider, err := openstack.AuthenticatedClient(ctx, c.authOptions())
	if err != nil {
		return nil, fmt.Errorf("sign in to project %s: %w", c.Project, err)
	}
	api, err := openstack.NewDNSV2(provider, gophercloud.EndpointOpts{Region: c.Region})
	return &Designate{api: api}, err
}

// MakeZone makes a zone, waits until BIND has it, and returns its ID.
func (d *Designate) MakeZone(ctx context.Context, name string) (string, error) {
	zone, err := zones.Create(ctx, d.api, zones.CreateOpts{Name: name + ".", Email: "admin@" + name}).Extract()
	if err != nil {
		return "", fmt.Errorf("make zone %s: %w", name, err)
	}
	err = wait.PollUntilContextTimeout(ctx, 500*time.Millisecond, zoneTimeout, false, func(ctx context.Context) (bool, error) {
		current, err := zones.Get(ctx, d.api, zone.ID).Extract()
		return err == nil && current.Status == statusActive, err
	})
	if err != nil {
		return "", fmt.Errorf("zone %s is not active: %w", name, err)
	}
	return zone.ID, nil
}

// DeleteZone deletes a zone and waits until it is gone. One that is not there is deleted.
func (d *Designate) DeleteZone(ctx context.Context, id string) error {
	if _, err := zones.Delete(ctx, d.api, id).Extract(); err != nil && !gophercloud.ResponseCodeIs(err, 404) {
		return fmt.Errorf("delete zone %s: %w", id, err)
	}
	return wait.PollUntilContextTimeout(ctx, 500*time.Millisecond, zoneTimeout, true, func(ctx context.Context) (bool, error) {
		_, err := zones.Get(ctx, d.api, id).Extract()
		if gophercloud.ResponseCodeIs(err, 404) {
			return true, nil
		}
		return false, err
	})
}
