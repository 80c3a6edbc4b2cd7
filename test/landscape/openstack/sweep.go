// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servergroups"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/sharedfilesystems/v2/sharenetworks"
	"k8s.io/apimachinery/pkg/util/wait"
)

// sweepTimeout is how long Sweep waits for objects whose deletion takes time.
const sweepTimeout = 2 * time.Minute

// Sweep deletes everything that Objects returns, whoever made it, and returns when nothing is left. It is for what a run left
// that was killed, never for what is to be shown.
func (c *Client) Sweep(ctx context.Context, shoot string) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, time.Second, sweepTimeout, true, func(ctx context.Context) (bool, error) {
		objects, err := c.Objects(ctx, shoot)
		if err != nil {
			return false, err
		}
		// What others still use is refused now and deleted the next time.
		last = c.deleteAll(ctx, objects)
		return len(objects) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("sweep project %s: %w", c.project, errors.Join(err, last))
	}
	return nil
}

func (c *Client) deleteAll(ctx context.Context, objects []Object) error {
	var errs []error
	for _, o := range objects {
		err := c.deleteObject(ctx, o)
		if err != nil && !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			errs = append(errs, fmt.Errorf("%s: %w", o, err))
		}
	}
	return errors.Join(errs...)
}

func (c *Client) deleteObject(ctx context.Context, o Object) error {
	switch o.Kind {
	case kindServer:
		return servers.Delete(ctx, c.compute, o.ID).ExtractErr()
	case kindKeyPair:
		return keypairs.Delete(ctx, c.compute, o.Name, nil).ExtractErr()
	case kindServerGroup:
		return servergroups.Delete(ctx, c.compute, o.ID).ExtractErr()
	case kindVolume:
		return volumes.Delete(ctx, c.volume, o.ID, nil).ExtractErr()
	case kindFloatingIP:
		return floatingips.Delete(ctx, c.network, o.ID).ExtractErr()
	case kindSecurityGroup:
		return groups.Delete(ctx, c.network, o.ID).ExtractErr()
	case kindRouter:
		return routers.Delete(ctx, c.network, o.ID).ExtractErr()
	case kindNetwork:
		return networks.Delete(ctx, c.network, o.ID).ExtractErr()
	case kindLoadBalancer:
		return loadbalancers.Delete(ctx, c.balancing, o.ID, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr()
	case kindShareNetwork:
		return sharenetworks.Delete(ctx, c.share, o.ID).ExtractErr()
	case kindPort:
		return c.deletePort(ctx, o.ID)
	}
	return nil // subnets go with their network, rules with their security group
}

// deletePort deletes a port, or the router's interface that it is.
func (c *Client) deletePort(ctx context.Context, id string) error {
	port, err := ports.Get(ctx, c.network, id).Extract()
	if err != nil {
		return err
	}
	if port.DeviceOwner == "network:router_interface" {
		_, err := routers.RemoveInterface(ctx, c.network, port.DeviceID, routers.RemoveInterfaceOpts{PortID: id}).Extract()
		return err
	}
	return ports.Delete(ctx, c.network, id).ExtractErr()
}
