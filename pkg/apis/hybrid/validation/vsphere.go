// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/extraconfig"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/vspherecsi"
)

// ownerCategory is the category of the tags that mark the objects of a shoot.
const ownerCategory = "gardener-shoot"

// vSphere are the rules of vSphere.
type vSphere struct{ noRules }

func (vSphere) credentials() [][]string {
	return [][]string{{vspherecsi.KeyUsername, vspherecsi.KeyPassword}}
}

// options are the credentials for the API of the site's address pools.
func (vSphere) options() [][]string { return kubernetesCredentials() }

func (vSphere) needsOption(s *v1alpha1.InfrastructureSite) bool {
	return s.VSphere != nil && s.VSphere.IPAM != nil
}

func (vSphere) noExposures() string { return "has no load balancer for a control plane" }

func (vSphere) access(site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	fldPath = fldPath.Child("vsphere")
	allErrs := validateURL(site.VSphere.Server, []string{"https"}, fldPath.Child("server"))
	ipam := site.VSphere.IPAM
	if ipam == nil {
		return allErrs
	}
	fldPath = fldPath.Child("ipam")
	allErrs = append(allErrs, validateURL(ipam.Server, []string{"https"}, fldPath.Child("server"))...)
	allErrs = append(allErrs, validateDNSLabel(ipam.Namespace, fldPath.Child("namespace"))...)
	return append(allErrs, validateTLS(ipam.TLS, fldPath.Child("tls"))...)
}

func (vSphere) site(site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	profile := site.VSphere
	allErrs := vspherecsi.ValidateSite(site, fldPath)
	fldPath = fldPath.Child("vsphere")
	allErrs = append(allErrs, validateRequired(profile.Datacenter, fldPath.Child("datacenter"))...)
	if topology := profile.Topology; topology != nil {
		allErrs = append(allErrs, validateRequired(topology.RegionCategory, fldPath.Child("topology", "regionCategory"))...)
		allErrs = append(allErrs, validateRequired(topology.ZoneCategory, fldPath.Child("topology", "zoneCategory"))...)
		if topology.ZoneCategory != "" && topology.ZoneCategory == topology.RegionCategory {
			allErrs = append(allErrs, field.Duplicate(fldPath.Child("topology", "zoneCategory"), topology.ZoneCategory))
		}
	}
	if allowed := profile.Allowed; allowed != nil {
		for i, key := range allowed.ExtraConfig {
			if problem := extraconfig.Problem(key); problem != "" {
				allErrs = append(allErrs, field.Invalid(fldPath.Child("allowed", "extraConfig").Index(i), key, problem))
			}
		}
	}
	if ipam := profile.IPAM; ipam != nil {
		allErrs = append(allErrs, validatePoolRefs(ipam.AddressPools, fldPath.Child("ipam", "addressPools"))...)
	}
	return allErrs
}

func (vSphere) zone(z *v1alpha1.SiteZone, site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	zone := z.VSphere
	fldPath = fldPath.Child("vsphere")
	allErrs := validateRequired(zone.ComputeCluster, fldPath.Child("computeCluster"))
	switch {
	case zone.Datastore == "" && zone.StoragePolicy == "":
		allErrs = append(allErrs, field.Required(fldPath.Child("datastore"), "either datastore or storagePolicy must be set"))
	case zone.Datastore != "" && zone.StoragePolicy != "":
		allErrs = append(allErrs, field.Forbidden(fldPath.Child("storagePolicy"), "must not be set together with datastore"))
	}
	if site.VSphere != nil && site.VSphere.Topology == nil && zone.TopologyTag != "" {
		allErrs = append(allErrs, field.Forbidden(fldPath.Child("topologyTag"), "must not be set unless the site has topology"))
	}
	return allErrs
}

func (vSphere) storageClass(class *v1alpha1.StorageClass, fldPath *field.Path) field.ErrorList {
	allErrs := validateRequired(class.VSphere.StoragePolicy, fldPath.Child("vsphere", "storagePolicy"))
	return append(allErrs, validateParameters(class.Parameters, map[string]string{"storagepolicyname": "vsphere.storagePolicy",
		"storagepolicyid": "vsphere.storagePolicy", "datastoreurl": "vsphere.storagePolicy", "datastore": "vsphere.storagePolicy"},
		fldPath.Child("parameters"))...)
}

func (vSphere) machineType(machineType *v1alpha1.SiteMachineType, _ *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	return validateExtraConfig(machineType.VSphere.ExtraConfig, fldPath.Child("vsphere", "extraConfig"))
}

func (vSphere) volumeType(volumeType *v1alpha1.SiteVolumeType, fldPath *field.Path) field.ErrorList {
	return validateRequired(volumeType.VSphere.StoragePolicy, fldPath.Child("vsphere", "storagePolicy"))
}

// image accepts templates for zones of the site only. Another zone's template would never be used.
func (vSphere) image(siteImage *v1alpha1.SiteMachineImage, site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	image := siteImage.VSphere
	fldPath = fldPath.Child("vsphere")
	var (
		allErrs = validateRequired(image.Template, fldPath.Child("template"))
		seen    = names{}
	)
	for i, zone := range image.Zones {
		idxPath := fldPath.Child("zones").Index(i)
		allErrs = append(allErrs, seen.addRequired(zone.Name, idxPath.Child("name"))...)
		allErrs = append(allErrs, validateRequired(zone.Template, idxPath.Child("template"))...)
		if zone.Name != "" && site != nil && site.VSphere != nil {
			zones := lists.Map(site.Zones, func(z v1alpha1.SiteZone) string { return z.Name })
			allErrs = append(allErrs, validateOneOf(zone.Name, zones, idxPath.Child("name"))...)
		}
	}
	return allErrs
}

// infrastructure checks the address pool, and that each zone has a network: that of the shoot or its own.
func (vSphere) infrastructure(s *v1alpha1.InfrastructureSite, _ *v1alpha1.InfrastructureConfig, site *v1alpha1.CloudProfileSite,
	fldPath *field.Path) field.ErrorList {
	if site.VSphere == nil {
		return nil
	}
	allErrs := validateVSphereIPAM(s, site, fldPath)
	if s.VSphere != nil && s.VSphere.Network != "" {
		return allErrs
	}
	for _, zone := range site.Zones {
		if zone.VSphere != nil && zone.VSphere.Network == "" {
			return append(allErrs, field.Required(fldPath.Child("vsphere", "network"),
				fmt.Sprintf("must be set because zone %q has no network in the CloudProfile", zone.Name)))
		}
	}
	return allErrs
}

// validateVSphereIPAM checks the address pool of a site. Machines without DHCP know no resolver but those of the site.
func validateVSphereIPAM(s *v1alpha1.InfrastructureSite, site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	if s.VSphere == nil || s.VSphere.IPAM == nil {
		return nil
	}
	ipamPath := fldPath.Child("vsphere", "ipam")
	if site.VSphere.IPAM == nil {
		return field.ErrorList{field.Forbidden(ipamPath, "must not be set: the site has no ipam in the CloudProfile")}
	}
	allErrs := validatePool(&s.VSphere.IPAM.PoolRef, site.VSphere.IPAM.AddressPools, ipamPath.Child("poolRef"))
	if len(s.DNSServers)+len(site.DNSServers) == 0 {
		allErrs = append(allErrs, field.Required(fldPath.Child("dnsServers"),
			"must be set with vsphere.ipam, because neither DHCP nor the CloudProfile gives the machines a resolver"))
	}
	return allErrs
}

func (vSphere) worker(s *v1alpha1.WorkerSite, site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	config := s.VSphere
	if site.VSphere == nil {
		return nil
	}
	fldPath = fldPath.Child("vsphere")
	var (
		allowed = ptr.Deref(site.VSphere.Allowed, v1alpha1.VSphereAllowed{})
		allErrs = validateExtraConfig(config.ExtraConfig, fldPath.Child("extraConfig"))
		seen    = names{}
	)
	for _, key := range slices.Sorted(maps.Keys(config.ExtraConfig)) {
		if extraconfig.Problem(key) == "" &&
			!slices.ContainsFunc(allowed.ExtraConfig, func(other string) bool { return strings.EqualFold(other, key) }) {
			// The error contains the value, so that a change of the value is a new error.
			allErrs = append(allErrs,
				field.Invalid(fldPath.Child("extraConfig").Key(key), config.ExtraConfig[key],
					fmt.Sprintf("must be one of the keys that the site allows: %q", allowed.ExtraConfig)))
		}
	}
	for i, tag := range config.Tags {
		idxPath := fldPath.Child("tags").Index(i)
		if category, name, ok := strings.Cut(tag, "/"); !ok || category == "" || name == "" {
			allErrs = append(allErrs, field.Invalid(idxPath, tag, "must be <category>/<tag>"))
			continue
		} else if category == ownerCategory {
			allErrs = append(allErrs, field.Forbidden(idxPath, fmt.Sprintf("must not be in the reserved category %q", category)))
		} else if allowed.Tags != nil {
			allErrs = append(allErrs, validateOneOf(tag, allowed.Tags, idxPath)...)
		}
		allErrs = append(allErrs, seen.add(tag, idxPath)...)
	}
	return allErrs
}

func validateExtraConfig(extraConfig map[string]string, fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(extraConfig)) {
		if problem := extraconfig.Problem(key); problem != "" {
			allErrs = append(allErrs, field.Forbidden(fldPath.Key(key), problem))
		}
	}
	return allErrs
}

func (vSphere) dataVolume(volume *v1alpha1.WorkerDataVolumeSite, site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	var (
		policyPath = fldPath.Child("vsphere", "storagePolicy")
		allErrs    = validateRequired(volume.VSphere.StoragePolicy, policyPath)
	)
	if site.VSphere != nil && site.VSphere.Allowed != nil && site.VSphere.Allowed.StoragePolicies != nil {
		allErrs = append(allErrs, validateOneOf(volume.VSphere.StoragePolicy, site.VSphere.Allowed.StoragePolicies, policyPath)...)
	}
	return allErrs
}

func (vSphere) allowed(s *v1alpha1.InfrastructureSite, site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	if site == nil || site.VSphere == nil || site.VSphere.Allowed == nil {
		return nil
	}
	return validateAllowed(s.VSphere.Network, site.VSphere.Allowed.Networks, fldPath.Child("vsphere", "network"))
}

// together checks that one CSI driver can serve the vSphere sites among those of a shoot.
func (vSphere) together(sites []v1alpha1.InfrastructureSite, profile *v1alpha1.CloudProfileConfig, fldPath *field.Path) field.ErrorList {
	var (
		allErrs field.ErrorList
		served  []*v1alpha1.CloudProfileSite
		paths   = map[string]*field.Path{}
	)
	for i := range sites {
		if site := helper.FindSite(profile, sites[i].Name); site != nil && site.VSphere != nil {
			served = append(served, site)
			paths[site.Name] = fldPath.Index(i).Child("name")
		}
	}
	for _, conflict := range vspherecsi.Conflicts(served) {
		allErrs = append(allErrs, field.Invalid(paths[conflict.Site], conflict.Site, conflict.Message))
	}
	return allErrs
}

// ValidateVCenterLogins checks that the CSI driver can log in at the vCenters of the named sites that have vsphere.topology. Sites with
// incomplete credentials are left out. Messages name keys, never values. fldPath is the path of the data.
func ValidateVCenterLogins(data map[string][]byte, sites []string, profile *v1alpha1.CloudProfileConfig,
	fldPath *field.Path) field.ErrorList {
	var logins []vspherecsi.Login
	for _, name := range sites {
		site := helper.FindSite(profile, name)
		if site == nil || site.VSphere == nil || site.VSphere.Topology == nil {
			continue
		}
		username, password := data[name+"."+vspherecsi.KeyUsername], data[name+"."+vspherecsi.KeyPassword]
		if len(username) > 0 && len(password) > 0 {
			logins = append(logins, vspherecsi.Login{Site: site, Username: string(username), Password: string(password)})
		}
	}
	var allErrs field.ErrorList
	for _, conflict := range vspherecsi.LoginConflicts(logins) {
		allErrs = append(allErrs, field.Invalid(fldPath.Key(conflict.Site+"."+conflict.Key), "(hidden)", conflict.Message))
	}
	return allErrs
}

// namespaced checks that templates are below the site's templateFolder. Templates of the configuration before the update stay allowed.
func (vSphere) namespaced(profile NamespacedProfile, fldPath *field.Path) field.ErrorList {
	var (
		allErrs field.ErrorList
		known   = map[string]bool{}
		visit   = func(config *v1alpha1.CloudProfileConfig, do func(site, template string, fldPath *field.Path)) {
			forEachImage(config, fldPath, func(image *v1alpha1.SiteMachineImage, imagePath *field.Path) {
				if image.VSphere == nil {
					return
				}
				vspherePath := imagePath.Child("vsphere")
				do(image.Name, image.VSphere.Template, vspherePath.Child("template"))
				for i, zone := range image.VSphere.Zones {
					do(image.Name, zone.Template, vspherePath.Child("zones").Index(i).Child("template"))
				}
			})
		}
	)
	if profile.OldConfig != nil {
		visit(profile.OldConfig, func(site, template string, _ *field.Path) { known[site+" "+template] = true })
	}
	visit(profile.Config, func(name, template string, templatePath *field.Path) {
		site := helper.FindSite(profile.ParentConfig, name)
		if template == "" || known[name+" "+template] || site == nil || site.VSphere == nil {
			return
		}
		folder := strings.TrimSuffix(site.VSphere.TemplateFolder, "/")
		switch {
		case strings.HasPrefix(template, "/") || slices.Contains(strings.Split(template, "/"), ".."):
			allErrs = append(allErrs,
				field.Forbidden(templatePath, "must be a path below the VM folder of the zone's datacenter in a NamespacedCloudProfile"))
		case folder != "" && !strings.HasPrefix(template, folder+"/"):
			allErrs = append(allErrs,
				field.Invalid(templatePath, template,
					fmt.Sprintf("must begin with %q, where the site has the templates of NamespacedCloudProfiles", folder+"/")))
		}
	})
	return allErrs
}

// forEachImage calls do for each site of each variant of an image, with its path.
func forEachImage(config *v1alpha1.CloudProfileConfig, fldPath *field.Path, do func(*v1alpha1.SiteMachineImage, *field.Path)) {
	for i := range config.MachineImages {
		for j := range config.MachineImages[i].Versions {
			for k := range config.MachineImages[i].Versions[j].CapabilityFlavors {
				sites := config.MachineImages[i].Versions[j].CapabilityFlavors[k].Sites
				sitesPath := fldPath.Child("machineImages").Index(i).Child("versions").Index(j).Child("capabilityFlavors").Index(k).Child("sites")
				for l := range sites {
					do(&sites[l], sitesPath.Index(l))
				}
			}
		}
	}
}
