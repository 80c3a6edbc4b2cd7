// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package dnsrecord

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	kubernetesutils "github.com/gardener/gardener/pkg/utils/kubernetes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// maxErrors is the maximum number of reported errors of a Secret.
const maxErrors = 3

// open returns the provider for the credentials that the DNSRecord refers to.
func (a *actuator) open(ctx context.Context, record *extensionsv1alpha1.DNSRecord, cluster *extensionscontroller.Cluster) (dns.Provider,
	error) {
	service, err := a.services.For(record.Spec.Type)
	if err != nil {
		return nil, err
	}
	// The Secret is not read from the cache, because rotated credentials do not trigger another reconciliation.
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
	current := turnOf(ctx)
	if !current.at(identityOf(record.Spec.Type, access)) {
		return nil, errLater
	}
	result := timed{turn: current}
	err = current.use(ctx, func(ctx context.Context) error {
		result.Provider, err = service.Open(ctx, access)
		return err
	})
	return result, err
}

// identityOf returns an identity of the service and the credentials.
func identityOf(recordType string, access dns.Access) string {
	parts := []any{recordType, access.Region, access.Credentials}
	if access.Site != nil {
		parts = append(parts, access.Site.Name, access.Site.OpenStack)
	}
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q", parts)))
}

func accessOf(record *extensionsv1alpha1.DNSRecord, data map[string][]byte, cluster *extensionscontroller.Cluster) (dns.Access, error) {
	credentials, prefix := dns.ParseCredentials(data)
	errs := validation.ValidateDNSCredentials(record.Spec.Type, credentials, prefix, field.NewPath("data"))
	if err := secretError(record, errs); err != nil {
		return dns.Access{}, err
	}
	region := ptr.Deref(record.Spec.Region, credentials["region"])
	access := dns.Access{Credentials: credentials, Region: region, Refused: networksOf(cluster)}
	name, reused := credentials["site"]
	if !reused {
		return access, nil
	}
	var err error
	if access.Site, err = findSite(name, cluster); err != nil {
		return access, err
	}
	own := maps.Clone(data)
	maps.DeleteFunc(own, func(key string, _ []byte) bool { return !strings.HasPrefix(key, name+".") })
	errs = validation.ValidateCredentials(own, []validation.SiteCredentials{{Site: name, Platform: v1alpha1.PlatformOpenStack}},
		field.NewPath("data"))
	access.Credentials = dns.Credentials(site.CredentialsOf(name, data))
	return access, secretError(record, errs)
}

// secretError returns an error with the first errors of the DNSRecord's Secret, nil if there are none.
func secretError(record *extensionsv1alpha1.DNSRecord, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return platform.NewError(platform.ClassConfiguration, "Secret %s/%s: %w", record.Spec.SecretRef.Namespace,
		record.Spec.SecretRef.Name, errs[:min(len(errs), maxErrors)].ToAggregate())
}

// networksOf returns the networks of the seed and of the shoot.
func networksOf(cluster *extensionscontroller.Cluster) []netip.Prefix {
	if cluster == nil {
		return nil
	}
	var texts []string
	if seed := cluster.Seed; seed != nil {
		networks := seed.Spec.Networks
		texts = slices.Concat([]string{networks.Pods, networks.Services}, networks.BlockCIDRs, []string{ptr.Deref(networks.Nodes, "")})
		if defaults := networks.ShootDefaults; defaults != nil {
			texts = append(texts, ptr.Deref(defaults.Pods, ""), ptr.Deref(defaults.Services, ""))
		}
	}
	if shoot := cluster.Shoot; shoot != nil {
		if networking := shoot.Spec.Networking; networking != nil {
			texts = append(texts, ptr.Deref(networking.Nodes, ""), ptr.Deref(networking.Pods, ""), ptr.Deref(networking.Services, ""))
		}
		if networking := shoot.Status.Networking; networking != nil {
			texts = slices.Concat(texts, networking.Nodes, networking.Pods, networking.Services)
		}
	}
	var networks []netip.Prefix
	for _, text := range texts {
		if network, err := netip.ParsePrefix(text); err == nil {
			networks = append(networks, network.Masked())
		}
	}
	return networks
}

// findSite returns the site in the CloudProfile of the shoot.
func findSite(name string, cluster *extensionscontroller.Cluster) (*v1alpha1.CloudProfileSite, error) {
	if cluster == nil || cluster.CloudProfile == nil {
		return nil, platform.NewError(platform.ClassConfiguration, "credentials: key dns.site: there is no shoot, so there are no sites")
	}
	profile, err := shootsites.Profile(cluster)
	if err != nil {
		return nil, err
	}
	if found := helper.FindSite(profile, name); found != nil {
		return found, nil
	}
	return nil, platform.NewError(platform.ClassConfiguration, "credentials: key dns.site: the CloudProfile has no site %q", name)
}
