// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/go-logr/logr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Delete deletes all sites of the shoot at the same time.
func (a *actuator) Delete(ctx context.Context, log logr.Logger, infra *extensionsv1alpha1.Infrastructure, cluster *extensionscontroller.Cluster) error {
	input, err := a.readForDeletion(ctx, infra, cluster)
	if err != nil {
		return errorcodes.WithCodes(err)
	}
	sites, resolveErr := site.Resolve(input)
	if resolveErr != nil {
		// What exists stands in the state; a configuration that cannot be resolved does not keep it.
		log.Error(resolveErr, "Deleting the sites of the state only")
		input.Config = nil
		if sites, resolveErr = site.Resolve(input); resolveErr != nil {
			return errorcodes.WithCodes(resolveErr)
		}
	}

	writer := &statusWriter{client: a.client, infra: infra, state: input.State}
	return errorcodes.WithCodes(a.forEach(ctx, log, infra, sites, func(ctx context.Context, part platform.Infrastructure, s *site.Site) error {
		err := a.deleteSite(ctx, part, s, writer)
		if err != nil && s.State == nil && platform.ClassOf(err) == platform.ClassUnauthenticated {
			// The state is written before the first object is made.
			log.Info("Nothing was made in the site, as it never accepted the credentials", "site", s.Name)
			return nil
		}
		return err
	}))
}

func (a *actuator) deleteSite(ctx context.Context, part platform.Infrastructure, s *site.Site, writer *statusWriter) error {
	if err := part.Delete(ctx, s, writer.persist()); err != nil {
		return err
	}
	return writer.forget(ctx, s.Name)
}
