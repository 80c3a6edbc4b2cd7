// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"slices"
	"sync"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Reconcile reconciles the sites of the shoot and deletes those that it does not use any more, all at the same time. The
// status says what the healthy ones came to, whatever happens to the others.
func (a *actuator) Reconcile(ctx context.Context, log logr.Logger, infra *extensionsv1alpha1.Infrastructure, cluster *extensionscontroller.Cluster) error {
	input, err := a.read(ctx, infra, cluster)
	if err != nil {
		return errorcodes.WithCodes(err)
	}
	invalid := validate(input, infra, cluster)
	if invalid.whole != nil {
		return errorcodes.WithCodes(invalid.whole)
	}
	sites, resolveErr := site.Resolve(input)
	for i := range sites {
		sites[i].SSHPublicKey = infra.Spec.SSHPublicKey
	}

	var (
		writer  = &statusWriter{client: a.client, infra: infra, state: input.State}
		earlier = readStatus(infra)
		mutex   sync.Mutex
		results = map[string]*v1alpha1.SiteStatus{}
	)
	sitesErr := a.forEach(ctx, log, infra, sites, func(ctx context.Context, s *site.Site) error {
		if s.Removed() {
			return a.deleteSite(ctx, s, writer)
		}
		if err := invalid.sites[s.Name]; err != nil {
			return err
		}
		part, err := a.platforms.For(s.Platform)
		if err != nil {
			return err
		}
		status, err := part.Reconcile(ctx, s, writer.persist())
		if err != nil {
			return err
		}
		mutex.Lock()
		defer mutex.Unlock()
		results[s.Name] = status
		return nil
	})

	statusErr := writer.writeResult(ctx, input.Config, cluster, statusOf(input.Config, results, earlier))
	return errorcodes.WithCodes(errors.Join(unresolved(resolveErr), sitesErr, statusErr))
}

// unresolved is the error of sites that cannot be resolved.
func unresolved(err error) error {
	if err == nil {
		return nil
	}
	return platform.NewError(platform.ClassConfiguration, "%w", err)
}

// statusOf lists the sites in the order of the configuration. A site that failed keeps what it came to earlier.
func statusOf(config *v1alpha1.InfrastructureConfig, results map[string]*v1alpha1.SiteStatus, earlier *v1alpha1.InfrastructureStatus) []v1alpha1.SiteStatus {
	var statuses []v1alpha1.SiteStatus
	for _, s := range config.Sites {
		if status, ok := results[s.Name]; ok {
			statuses = append(statuses, *status)
		} else if status := findStatus(earlier, s.Name); status != nil {
			statuses = append(statuses, *status)
		}
	}
	return statuses
}

func findStatus(status *v1alpha1.InfrastructureStatus, name string) *v1alpha1.SiteStatus {
	if i := slices.IndexFunc(status.Sites, func(s v1alpha1.SiteStatus) bool { return s.Name == name }); i >= 0 {
		return &status.Sites[i]
	}
	return nil
}

// forEach does something with all sites at the same time, each with its own deadline, and joins their errors. An event tells
// of every site that failed.
func (a *actuator) forEach(ctx context.Context, log logr.Logger, infra *extensionsv1alpha1.Infrastructure, sites []site.Site, do func(context.Context, *site.Site) error) error {
	var (
		group sync.WaitGroup
		errs  = make([]error, len(sites))
	)
	for i := range sites {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, a.siteTimeout)
			defer cancel()

			s := &sites[i]
			if err := do(ctx, s); err != nil {
				errs[i] = platform.InSite(s.Name, err)
				log.Error(err, "Site failed", "site", s.Name, "class", platform.ClassOf(err))
			}
		})
	}
	group.Wait()

	for _, err := range errs {
		if err != nil {
			a.recorder.Eventf(infra, nil, corev1.EventTypeWarning, "SiteFailed", "Reconcile", "%v", err)
		}
	}
	return errors.Join(errs...)
}
