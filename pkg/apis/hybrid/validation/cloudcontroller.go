// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const (
	// ovn is the Octavia provider that has no amphorae, so that packets reach the members with the addresses of the clients.
	ovn = "ovn"
	// maxCSIDriverName is the most characters that Kubernetes allows in the name of a CSI driver.
	maxCSIDriverName = 63
)

var (
	loadBalancerMembers = []v1alpha1.LoadBalancerMembers{v1alpha1.LoadBalancerMembersSite, v1alpha1.LoadBalancerMembersAll}
	managedObjectRegexp = regexp.MustCompile(`^[a-z]+-[A-Za-z0-9-]+$`)
)

// ValidateCloudControllerManagerConfiguration validates what the sites of the configuration of the cloud-controller-manager have
// in common. ValidateCloudControllerSite validates each of them.
func ValidateCloudControllerManagerConfiguration(config *v1alpha1.CloudControllerManagerConfiguration) field.ErrorList {
	allErrs := validateRequired(config.Shoot, field.NewPath("shoot"))
	allErrs = append(allErrs, validateRequired(config.Region, field.NewPath("region"))...)

	var (
		sites     []string
		siteNames = names{}
		zoneNames = names{}
	)
	for i := range config.Sites {
		site, idxPath := &config.Sites[i], field.NewPath("sites").Index(i)
		sites = append(sites, site.Name)
		allErrs = append(allErrs, validateSiteName(site.Name, siteNames, idxPath.Child("name"))...)
		for _, zone := range cloudControllerZones(site) {
			allErrs = append(allErrs, zoneNames.addRequired(zone, idxPath.Child("zones"))...)
		}
	}
	if config.DefaultSite != "" {
		allErrs = append(allErrs, validateOneOf(config.DefaultSite, sites, field.NewPath("defaultSite"))...)
	}
	return allErrs
}

func cloudControllerZones(site *v1alpha1.CloudControllerSite) []string {
	var zones []string
	if site.OpenStack != nil {
		for _, zone := range site.OpenStack.Zones {
			zones = append(zones, zone.Name)
		}
	}
	if site.VSphere != nil {
		for _, zone := range site.VSphere.Zones {
			zones = append(zones, zone.Name)
		}
	}
	if site.Metal != nil {
		for _, zone := range site.Metal.Zones {
			zones = append(zones, zone.Name)
		}
	}
	return zones
}

// ValidateCloudControllerSite validates a site of the configuration of the cloud-controller-manager. fldPath is the path of the
// site.
func ValidateCloudControllerSite(site *v1alpha1.CloudControllerSite, fldPath *field.Path) field.ErrorList {
	if _, ok := site.Platform(); !ok {
		return field.ErrorList{field.Required(fldPath, fmt.Sprintf("must have the block of exactly one platform, and has %q", site.Platforms()))}
	}
	allErrs := validateCSIDrivers(site.CSIDrivers, fldPath.Child("csiDrivers"))
	switch {
	case site.OpenStack != nil:
		return append(allErrs, validateOpenStackCloudController(site.OpenStack, fldPath.Child(string(v1alpha1.PlatformOpenStack)))...)
	case site.VSphere != nil:
		return append(allErrs, validateVSphereCloudController(site.VSphere, fldPath.Child(string(v1alpha1.PlatformVSphere)))...)
	default:
		return append(allErrs, validateMetalCloudController(site.Metal, fldPath.Child(string(v1alpha1.PlatformMetal)))...)
	}
}

// validateCSIDrivers checks that the names are such as Kubernetes allows for CSIDrivers.
func validateCSIDrivers(drivers []string, fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	seen := names{}
	for i, driver := range drivers {
		idxPath := fldPath.Index(i)
		if allErrs = append(allErrs, seen.addRequired(driver, idxPath)...); driver == "" {
			continue
		}
		if len(driver) > maxCSIDriverName {
			allErrs = append(allErrs, field.TooLong(idxPath, "", maxCSIDriverName))
		}
		for _, message := range validation.IsDNS1123Subdomain(strings.ToLower(driver)) {
			allErrs = append(allErrs, field.Invalid(idxPath, driver, message))
		}
	}
	return allErrs
}

func validateOpenStackCloudController(config *v1alpha1.OpenStackCloudController, fldPath *field.Path) field.ErrorList {
	connection, connectionPath := &config.Connection, fldPath.Child("connection")
	allErrs := validateURL(connection.AuthURL, []string{"http", "https"}, connectionPath.Child("authURL"))
	allErrs = append(allErrs, validateRequired(connection.Region, connectionPath.Child("region"))...)
	allErrs = append(allErrs, validateConnectionSettings(connection.TLS, connection.Proxy, connection.RequestTimeout, connectionPath)...)

	if len(config.Zones) == 0 {
		allErrs = append(allErrs, field.Required(fldPath.Child("zones"), "must have at least one zone"))
	}
	for i, zone := range config.Zones {
		allErrs = append(allErrs, validateRequired(zone.AvailabilityZone, fldPath.Child("zones").Index(i).Child("availabilityZone"))...)
	}

	if balancer := config.LoadBalancer; balancer != nil {
		balancerPath := fldPath.Child("loadBalancer")
		allErrs = append(allErrs, validateOneOf(balancer.Members, loadBalancerMembers, balancerPath.Child("members"))...)
		if balancer.Provider == ovn && balancer.Members == v1alpha1.LoadBalancerMembersAll {
			allErrs = append(allErrs,
				field.Forbidden(balancerPath.Child("members"),
					"the provider ovn needs the security groups of all members, so they must be of the site"))
		}
		allErrs = append(allErrs, validateUUID(balancer.SubnetID, balancerPath.Child("subnetID"))...)
		for _, optional := range []struct{ name, value string }{
			{"floatingNetworkID", balancer.FloatingNetworkID},
			{"floatingSubnetID", balancer.FloatingSubnetID},
		} {
			if optional.value != "" {
				allErrs = append(allErrs, validateUUID(optional.value, balancerPath.Child(optional.name))...)
			}
		}
		allErrs = append(allErrs, validateOpenStackLoadBalancerClasses(balancer.Classes, balancerPath.Child("classes"))...)
	}
	return allErrs
}

func validateVSphereCloudController(config *v1alpha1.VSphereCloudController, fldPath *field.Path) field.ErrorList {
	connection, connectionPath := &config.Connection, fldPath.Child("connection")
	allErrs := validateRequired(connection.Server, connectionPath.Child("server"))
	allErrs = append(allErrs, validateConnectionSettings(connection.TLS, connection.Proxy, connection.RequestTimeout, connectionPath)...)

	if len(config.Zones) == 0 {
		allErrs = append(allErrs, field.Required(fldPath.Child("zones"), "must have at least one zone"))
	}
	for i, zone := range config.Zones {
		idxPath := fldPath.Child("zones").Index(i)
		allErrs = append(allErrs, validateManagedObject(zone.ComputeCluster, idxPath.Child("computeCluster"))...)
		if zone.ResourcePool != "" {
			allErrs = append(allErrs, validateManagedObject(zone.ResourcePool, idxPath.Child("resourcePool"))...)
		}
		if zone.Folder != "" {
			allErrs = append(allErrs, validateManagedObject(zone.Folder, idxPath.Child("folder"))...)
		}
	}
	return allErrs
}

func validateMetalCloudController(config *v1alpha1.MetalCloudController, fldPath *field.Path) field.ErrorList {
	connection, connectionPath := &config.Connection, fldPath.Child("connection")
	allErrs := validateOneOf(connection.Inventory, metalInventories, connectionPath.Child("inventory"))
	allErrs = append(allErrs, validateURL(connection.Server, []string{"https"}, connectionPath.Child("server"))...)
	allErrs = append(allErrs, validateDNSLabel(connection.Namespace, connectionPath.Child("namespace"))...)
	allErrs = append(allErrs, validateConnectionSettings(connection.TLS, connection.Proxy, connection.RequestTimeout, connectionPath)...)

	if len(config.Zones) == 0 {
		allErrs = append(allErrs, field.Required(fldPath.Child("zones"), "must have at least one zone"))
	}
	for i, zone := range config.Zones {
		allErrs = append(allErrs, validateLabelSelector(zone.HostSelector, fldPath.Child("zones").Index(i).Child("hostSelector"))...)
	}
	return allErrs
}

func validateConnectionSettings(tls *v1alpha1.TLS, proxy *v1alpha1.Proxy, requestTimeout *metav1.Duration,
	fldPath *field.Path) field.ErrorList {
	allErrs := validateTLS(tls, fldPath.Child("tls"))
	allErrs = append(allErrs, validateProxy(proxy, fldPath.Child("proxy"))...)
	allErrs = append(allErrs, validatePositiveDuration(requestTimeout, fldPath.Child("requestTimeout"))...)
	return allErrs
}

func validateManagedObject(id string, fldPath *field.Path) field.ErrorList {
	if id == "" {
		return field.ErrorList{field.Required(fldPath, "must be a managed object ID")}
	}
	if !managedObjectRegexp.MatchString(id) {
		return field.ErrorList{field.Invalid(fldPath, id, "must be a managed object ID such as domain-c7")}
	}
	return nil
}
