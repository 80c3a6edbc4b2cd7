// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machineclasses

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"golang.org/x/sync/singleflight"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// lookup resolves names on one session. The zones of a reconciliation ask at the same time and share the answers; nothing
// is remembered afterwards, so that what an operator changes counts at once.
type lookup struct {
	session *client.Session
	group   singleflight.Group
}

type lookupKey struct{}

func lookupOf(session *client.Session) *lookup {
	return session.Value(lookupKey{}, func() any { return &lookup{session: session} }).(*lookup)
}

func (l *lookup) flavor(ctx context.Context, name string) (string, error) {
	value, err := l.shared(ctx, "flavors", func(ctx context.Context) (any, error) {
		compute, err := l.session.Compute()
		if err != nil {
			return nil, err
		}
		return client.List(ctx, flavors.ListDetail(compute, flavors.ListOpts{}), flavors.ExtractFlavors)
	})
	if err != nil {
		return "", err
	}
	for _, flavor := range value.([]flavors.Flavor) {
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
	value, err := l.shared(ctx, "image "+description, func(ctx context.Context) (any, error) {
		service, err := l.session.Image()
		if err != nil {
			return nil, err
		}
		return client.List(ctx, images.List(service, options), images.ExtractImages)
	})
	if err != nil {
		return "", err
	}
	active := slices.DeleteFunc(slices.Clone(value.([]images.Image)), func(i images.Image) bool { return i.Status != images.ImageStatusActive })
	if len(active) != 1 {
		return "", platform.NewError(platform.ClassConfiguration, "%d active images with the %s are visible to the credentials, want one", len(active), description)
	}
	return active[0].ID, nil
}

// shared lets callers of the same key share one request, each with its own deadline.
func (l *lookup) shared(ctx context.Context, key string, request func(context.Context) (any, error)) (any, error) {
	results := l.group.DoChan(key, func() (any, error) { return request(context.WithoutCancel(ctx)) })
	select {
	case result := <-results:
		return result.Val, client.Classify(result.Err)
	case <-ctx.Done():
		return nil, client.Classify(ctx.Err())
	}
}
