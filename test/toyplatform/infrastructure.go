// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package toyplatform

import (
	"context"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform/toyapi"
)

type infrastructure struct{ cloud *Cloud }

// NewInfrastructure returns the platform's part for the Infrastructure controller.
func NewInfrastructure(cloud *Cloud) platform.Infrastructure { return &infrastructure{cloud} }

var checks = platform.Checks[func() error]{{
	Check: platform.Check{ID: "toy-api", Title: "The API of the toy cloud answers.", Remedy: "Start the toy cloud."},
	Run:   func(request func() error, _ context.Context, _ *platform.Result) error { return request() },
}}

// Checks implements platform.Infrastructure.
func (i *infrastructure) Checks() []platform.Check { return checks.List() }

// Validate implements platform.Infrastructure.
func (i *infrastructure) Validate(ctx context.Context, s *site.Site, request platform.ValidationRequest) (platform.Findings, error) {
	return checks.Run(ctx, func() error { return i.cloud.request(ctx, s.Name) }, request.Skip)
}

// Reconcile implements platform.Infrastructure.
func (i *infrastructure) Reconcile(ctx context.Context, s *site.Site, persist platform.Persist) (*v1alpha1.SiteStatus, error) {
	if err := i.cloud.request(ctx, s.Name); err != nil {
		return nil, err
	}
	state := &toyapi.State{Connection: toyapi.Of[toyapi.Profile](s.Profile.Blocks).Connection}
	if err := persist(ctx, &v1alpha1.SiteState{Name: s.Name, Blocks: toyapi.Blocks(state)}); err != nil {
		return nil, err
	}
	return &v1alpha1.SiteStatus{Name: s.Name, Blocks: toyapi.Blocks(&toyapi.Status{Network: s.Shoot})}, nil
}

// Delete implements platform.Infrastructure.
func (i *infrastructure) Delete(ctx context.Context, s *site.Site, _ platform.Persist) error {
	return i.cloud.request(ctx, s.Name)
}

// Orphans implements platform.Infrastructure.
func (i *infrastructure) Orphans(ctx context.Context, s *site.Site) ([]v1alpha1.Orphan, error) {
	return nil, i.cloud.request(ctx, s.Name)
}
