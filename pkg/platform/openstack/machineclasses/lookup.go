// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machineclasses

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/servergroup"
)

var uuidRegexp = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// lookup resolves names on one session. The zones of a reconciliation ask concurrently and share responses; nothing is cached afterwards,
// so that changes by an operator take effect at once.
type lookup struct {
	session *client.Session
	network func(context.Context) (*gophercloud.ServiceClient, error)
	group   platform.Shared[any]
}

type lookupKey struct{}

func lookupOf(session *client.Session) *lookup {
	return session.Value(lookupKey{}, func() any { return &lookup{session: session, network: session.Network} }).(*lookup)
}

func (l *lookup) flavor(ctx context.Context, name string) (string, error) {
	found, err := shared(ctx, l, "flavors", l.session.Compute, func(ctx context.Context, compute *gophercloud.ServiceClient) ([]flavors.Flavor,
		error) {
		return client.List(ctx, flavors.ListDetail(compute, flavors.ListOpts{}), flavors.ExtractFlavors)
	})
	if err != nil {
		return "", err
	}
	for _, flavor := range found {
		if flavor.Name == name {
			return flavor.ID, nil
		}
	}
	return "", platform.NewError(platform.ClassConfiguration, "flavor %q does not exist or is not visible to the credentials", name)
}

func (l *lookup) image(ctx context.Context, image *v1alpha1.OpenStackImage) (string, error) {
	options, description := images.ListOpts{Name: image.ImageName}, "name "+image.ImageName
	if image.ImageID != "" {
		options, description = images.ListOpts{ID: "in:" + image.ImageID}, "ID "+image.ImageID
	}
	found, err := shared(ctx, l, "image "+description, l.session.Image,
		func(ctx context.Context, service *gophercloud.ServiceClient) ([]images.Image, error) {
			return client.List(ctx, images.List(service, options), images.ExtractImages)
		})
	if err != nil {
		return "", err
	}
	active := slices.DeleteFunc(slices.Clone(found),
		func(i images.Image) bool { return i.Status != images.ImageStatusActive })
	if len(active) != 1 {
		return "", platform.NewError(platform.ClassConfiguration, "%d active images with the %s are visible to the credentials, want one",
			len(active), description)
	}
	return active[0].ID, nil
}

// securityGroups returns the IDs of the security groups with the names or IDs, in order. The error names all that cannot be resolved.
// Groups that bear the mark of another shoot must be in allowed.
func (l *lookup) securityGroups(ctx context.Context, o owner.Owner, allowed, namesOrIDs []string) ([]string, error) {
	var (
		ids  []string
		errs []error
	)
	for _, nameOrID := range namesOrIDs {
		group, err := l.securityGroup(ctx, nameOrID)
		if err == nil && o.IsForeign(group.Description, group.Tags) && !slices.Contains(allowed, nameOrID) {
			err = platform.NewError(platform.ClassConfiguration, "additionalSecurityGroups: %q was not made for this shoot and cannot be used",
				nameOrID)
		}
		ids, errs = append(ids, group.ID), append(errs, err)
	}
	return ids, errors.Join(errs...)
}

func (l *lookup) securityGroup(ctx context.Context, nameOrID string) (groups.SecGroup, error) {
	options := groups.ListOpts{Name: nameOrID}
	if uuidRegexp.MatchString(nameOrID) {
		options = groups.ListOpts{ID: nameOrID}
	}
	found, err := shared(ctx, l, "security group "+nameOrID, l.network,
		func(ctx context.Context, service *gophercloud.ServiceClient) ([]groups.SecGroup, error) {
			return client.List(ctx, groups.List(service, options), groups.ExtractGroups)
		})
	if err != nil {
		return groups.SecGroup{}, err
	}
	if len(found) != 1 {
		return groups.SecGroup{}, platform.NewError(platform.ClassConfiguration,
			"additionalSecurityGroups: %d security groups with the name or ID %q are visible to the credentials, want one", len(found), nameOrID)
	}
	return found[0], nil
}

// serverGroup returns the ID of the pool's server group, or an empty string if none is wanted. It creates a missing server group;
// concurrent zones get the same one.
func (l *lookup) serverGroup(ctx context.Context, o owner.Owner, pool string, wanted *v1alpha1.OpenStackServerGroup) (string, error) {
	if wanted == nil {
		return "", nil
	}
	group, err := shared(ctx, l, "server group "+o.ServerGroupName(pool, wanted.Policy), l.session.Compute,
		func(ctx context.Context, compute *gophercloud.ServiceClient) (servergroup.ServerGroup, error) {
			return servergroup.Ensure(ctx, compute, o, pool, wanted.Policy)
		})
	if err != nil {
		return "", fmt.Errorf("serverGroup with policy %q: %w", wanted.Policy, err)
	}
	return group.ID, nil
}

// shared sends one request for concurrent callers of the same key; each caller keeps its own deadline.
func shared[T any](ctx context.Context, l *lookup, key string, service func(context.Context) (*gophercloud.ServiceClient, error),
	request func(context.Context, *gophercloud.ServiceClient) (T, error)) (T, error) {
	value, err := l.group.Do(ctx, key, func(ctx context.Context) (any, error) {
		api, err := service(ctx)
		if err != nil {
			return nil, err
		}
		return request(ctx, api)
	})
	result, _ := value.(T)
	return result, client.Classify(err)
}
