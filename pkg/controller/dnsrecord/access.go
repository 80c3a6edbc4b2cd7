// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package dnsrecord

import (
	"context"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	kubernetesutils "github.com/gardener/gardener/pkg/utils/kubernetes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// open returns what changes records with the credentials that the DNSRecord refers to.
func (a *actuator) open(ctx context.Context, record *extensionsv1alpha1.DNSRecord, cluster *extensionscontroller.Cluster) (dns.Provider, error) {
	service, err := a.services.For(record.Spec.Type)
	if err != nil {
		return nil, err
	}
	// The API server is asked and no cache: nothing starts another reconciliation when a cache has what was just rotated.
	secret, err := kubernetesutils.GetSecretByReference(ctx, a.reader, &record.Spec.SecretRef)
	if apierrors.IsNotFound(err) {
		return nil, platform.NewError(platform.ClassNotFound, "spec.secretRef: %w", err)
	}
	if err != nil {
		return nil, platform.NewError(platform.ClassTransient, "spec.secretRef: %w", err)
	}
	access, err := accessOf(record, secret.Data, cluster)
	if err != nil {
		return nil, err
	}
	return service.Open(ctx, access)
}

func accessOf(record *extensionsv1alpha1.DNSRecord, data map[string][]byte, cluster *extensionscontroller.Cluster) (dns.Access, error) {
	credentials, prefix := dns.ParseCredentials(data)
	if err := validation.ValidateDNSCredentials(record.Spec.Type, credentials, prefix, field.NewPath("data")).ToAggregate(); err != nil {
		return dns.Access{}, platform.NewError(platform.ClassConfiguration, "Secret %s/%s: %w", record.Spec.SecretRef.Namespace, record.Spec.SecretRef.Name, err)
	}
	access := dns.Access{Credentials: credentials, Region: credentials["region"]}
	if record.Spec.Region != nil {
		access.Region = *record.Spec.Region
	}
	name, reused := credentials["site"]
	if !reused {
		return access, nil
	}
	var err error
	if access.Site, err = findSite(name, cluster); err != nil {
		return access, err
	}
	access.Credentials = dns.Credentials(site.CredentialsOf(name, data))
	return access, nil
}

// findSite returns the site in the CloudProfile of the shoot.
func findSite(name string, cluster *extensionscontroller.Cluster) (*v1alpha1.CloudProfileSite, error) {
	if cluster == nil || cluster.CloudProfile == nil {
		return nil, platform.NewError(platform.ClassConfiguration, "credentials: key dns.site: there is no shoot, so there are no sites")
	}
	profile, err := codec.Decode[v1alpha1.CloudProfileConfig](cluster.CloudProfile.Spec.ProviderConfig)
	if err != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "CloudProfile spec.providerConfig: %w", err)
	}
	if found := helper.FindSite(profile, name); found != nil {
		return found, nil
	}
	return nil, platform.NewError(platform.ClassConfiguration, "credentials: key dns.site: the CloudProfile has no site %q", name)
}
