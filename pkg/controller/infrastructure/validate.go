// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"errors"
	"strings"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// invalid are the problems of a configuration.
type invalid struct {
	// whole are problems that concern all sites.
	whole error
	// sites are problems of single sites by name. They stop no other site.
	sites map[string]error
}

// configPath is the path of the InfrastructureConfig.
var configPath = field.NewPath("spec", "providerConfig")

// validate checks the configuration before anything is made, in case that it did not pass the admission or that the
// CloudProfile changed since.
func validate(input shootsites.Input, infra *extensionsv1alpha1.Infrastructure, cluster *extensionscontroller.Cluster) invalid {
	var networking *gardencorev1beta1.Networking
	if cluster.Shoot != nil {
		networking = cluster.Shoot.Spec.Networking
	}
	var (
		problems = validation.ValidateInfrastructureConfig(input.Config, input.Profile, networking, infra.Spec.Region, configPath)
		result   = invalid{sites: map[string]error{}}
		whole    []error
		bySite   = map[string][]error{}
	)
	for _, problem := range problems {
		if name, ok := siteOf(problem, input.Config); ok {
			bySite[name] = append(bySite[name], problem)
		} else {
			whole = append(whole, problem)
		}
	}
	if len(whole) > 0 {
		result.whole = &platform.Error{Class: platform.ClassConfiguration, Err: errors.Join(whole...)}
	}
	for name, problems := range bySite {
		result.sites[name] = &platform.Error{Class: platform.ClassConfiguration, Err: errors.Join(problems...)}
	}
	return result
}

func siteOf(problem *field.Error, config *v1alpha1.InfrastructureConfig) (string, bool) {
	for i, s := range config.Sites {
		prefix := sitePath(i).String()
		if problem.Field == prefix || strings.HasPrefix(problem.Field, prefix+".") {
			return s.Name, true
		}
	}
	return "", false
}

// sitePath is the path of the site with the index in the configuration.
func sitePath(i int) *field.Path {
	return configPath.Child("sites").Index(i)
}
