// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/profile"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

const (
	// indexAddressPools is the name of the index of the addresses of load balancers.
	indexAddressPools = "addressPools"
	// bucketBits4 and bucketBits6 are the lengths of the prefixes by which addresses are indexed.
	bucketBits4, bucketBits6 = 24, 112
	// maxBuckets is the maximum number of prefixes by which a Shoot is indexed.
	maxBuckets = 256
	// bucketAny is a value of all Shoots with addresses, and bucketLarge one of those whose addresses are in more than maxBuckets prefixes.
	bucketAny, bucketLarge = "any", "large"
)

// decodedAddresses caches addresses by the hash of their documents, for the Shoots of a large garden.
var decodedAddresses = lru.New(10000)

// siteAddresses is a range of addresses of load balancers at a site.
type siteAddresses struct {
	site      string
	addresses netipx.IPRange
}

// addressesOf returns the addresses of load balancers on nodes of a Shoot. It ignores other fields, so that it is fast and works for a
// controlPlaneConfig that can no longer be decoded.
func addressesOf(shoot *gardencorev1beta1.Shoot) []siteAddresses {
	raw := shoot.Spec.Provider.ControlPlaneConfig
	if shoot.Spec.Provider.Type != v1alpha1.ProviderType || raw == nil {
		return nil
	}
	hash := sha256.Sum256(raw.Raw)
	if known, ok := decodedAddresses.Get(hash); ok {
		return known.([]siteAddresses)
	}
	result := decodeAddresses(raw.Raw)
	decodedAddresses.Add(hash, result)
	return result
}

func decodeAddresses(raw []byte) []siteAddresses {
	config := struct {
		Sites []struct {
			Name         string `json:"name"`
			LoadBalancer struct {
				MetalLB struct {
					AddressPools []struct {
						CIDRs []string `json:"cidrs"`
					} `json:"addressPools"`
				} `json:"metalLB"`
			} `json:"loadBalancer"`
		} `json:"sites"`
	}{}
	if json.Unmarshal(raw, &config) != nil {
		return nil
	}
	var result []siteAddresses
	for _, site := range config.Sites {
		for _, pool := range site.LoadBalancer.MetalLB.AddressPools {
			for _, value := range pool.CIDRs {
				if addresses, ok := validation.ParseAddressRange(value); ok {
					result = append(result, siteAddresses{site.Name, addresses})
				}
			}
		}
	}
	return result
}

// indexedAddresses returns the values of a Shoot in the index of addresses.
func indexedAddresses(object client.Object) []string {
	addresses := addressesOf(object.(*gardencorev1beta1.Shoot))
	if len(addresses) == 0 {
		return nil
	}
	if buckets, ok := bucketsOf(addresses); ok {
		return append(buckets, bucketAny)
	}
	return []string{bucketAny, bucketLarge}
}

// bucketsOf returns the prefixes that contain the addresses, and false if there are too many.
func bucketsOf(addresses []siteAddresses) ([]string, bool) {
	buckets := sets.New[string]()
	for _, a := range addresses {
		bits := bucketBits6
		if a.addresses.From().Is4() {
			bits = bucketBits4
		}
		for next := a.addresses.From(); next.IsValid() && next.Compare(a.addresses.To()) <= 0; {
			if len(buckets) == maxBuckets {
				return nil, false
			}
			bucket := netip.PrefixFrom(next, bits).Masked()
			buckets.Insert(bucket.String())
			next = netipx.PrefixLastIP(bucket).Next()
		}
	}
	return sets.List(buckets), true
}

// usedAddresses are addresses of load balancers that other Shoots use.
type usedAddresses struct {
	cache client.Reader
	// profile is the CloudProfile of the Shoot that is reviewed.
	profile *profile.Profile
	others  []otherAddresses
}

// otherAddresses are addresses of another Shoot.
type otherAddresses struct {
	siteAddresses
	shoot *gardencorev1beta1.Shoot
}

// validateAddresses checks that no other Shoot uses the addresses of load balancers. Overlaps that the Shoot had before are tolerated, but
// recorded for a warning, because two Shoots that are written at the same time do not see each other.
func (v *shootValidator) validateAddresses(ctx context.Context, c *change) field.ErrorList {
	others, err := otherAddressesFor(ctx, v.cache, c.new.shoot)
	if err != nil {
		return field.ErrorList{field.InternalError(controlPlanePath, err)}
	}
	used := usedAddresses{cache: v.cache, profile: c.profile, others: others}
	validate := func(config *v1alpha1.ControlPlaneConfig) field.ErrorList {
		return validation.ValidateAddressesInUse(config, c.profile.Config, func(site string, addresses netipx.IPRange) bool {
			return used.overlap(ctx, site, addresses)
		}, controlPlanePath)
	}
	c.overlaps = validate(c.new.controlPlane)
	if compared := c.compared(); compared != nil && len(c.overlaps) > 0 {
		return c.added(c.overlaps, validate(compared.controlPlane))
	}
	return c.overlaps
}

// otherAddressesFor returns the addresses of other Shoots that are near those of the Shoot.
func otherAddressesFor(ctx context.Context, cache client.Reader, shoot *gardencorev1beta1.Shoot) ([]otherAddresses, error) {
	addresses := addressesOf(shoot)
	if len(addresses) == 0 {
		return nil, nil
	}
	values := []string{bucketAny}
	if buckets, ok := bucketsOf(addresses); ok {
		values = append(buckets, bucketLarge)
	}
	var (
		others []otherAddresses
		seen   = sets.New(client.ObjectKeyFromObject(shoot))
	)
	for _, value := range values {
		shoots := &gardencorev1beta1.ShootList{}
		// The Shoots are shared with the cache and must not be changed.
		if err := cache.List(ctx, shoots, client.MatchingFields{indexAddressPools: value}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("reading the addresses of other Shoots: %w", err)
		}
		for i := range shoots.Items {
			other := &shoots.Items[i]
			if key := client.ObjectKeyFromObject(other); !seen.Has(key) {
				seen.Insert(key)
				for _, used := range addressesOf(other) {
					others = append(others, otherAddresses{used, other})
				}
			}
		}
	}
	return others, nil
}

// overlap reports whether another Shoot uses some of the addresses at the site.
func (u *usedAddresses) overlap(ctx context.Context, site string, addresses netipx.IPRange) bool {
	mine := helper.FindSite(u.profile.Config, site)
	return mine != nil && slices.ContainsFunc(u.others, func(other otherAddresses) bool {
		return other.addresses.Overlaps(addresses) && u.isSameSite(ctx, mine, other.shoot, other.site)
	})
}

// isSameSite reports whether the site with the name of another Shoot is the same place. A CloudProfile that cannot be read is not compared.
func (u *usedAddresses) isSameSite(ctx context.Context, mine *v1alpha1.CloudProfileSite, other *gardencorev1beta1.Shoot, name string) bool {
	theirProfile, err := profile.Of(ctx, u.cache, other)
	if err != nil {
		logf.FromContext(ctx).Info("Skipping the addresses of a Shoot", "shoot", client.ObjectKeyFromObject(other), "error", err.Error())
		return false
	}
	theirs := helper.FindSite(theirProfile.Config, name)
	switch {
	case theirs == nil || apiOf(mine) != apiOf(theirs):
		return false
	case mine.Name == theirs.Name:
		return true
	default:
		// One vCenter counts as one place: its datacenters may share a network. A CloudProfile that has both names says that they are
		// different places.
		return maps.Equal(mine.Scope(), theirs.Scope()) &&
			helper.FindSite(u.profile.Config, theirs.Name) == nil && helper.FindSite(theirProfile.Config, mine.Name) == nil
	}
}

// apiOf identifies the API of a site by its platform, host and port. CloudProfiles may name the same API differently.
func apiOf(site *v1alpha1.CloudProfileSite) string {
	platform, _ := site.Platform()
	endpoint, err := url.Parse(site.Endpoint())
	if err != nil {
		return string(platform) + " " + site.Endpoint()
	}
	host := strings.TrimSuffix(strings.ToLower(endpoint.Hostname()), ".")
	port := cmp.Or(endpoint.Port(), map[string]string{"http": "80", "https": "443"}[endpoint.Scheme])
	return string(platform) + " " + net.JoinHostPort(host, port)
}
