// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const (
	networkTypeFlat = "flat"
	networkTypeVLAN = "vlan"

	// ovn is the Octavia provider without amphorae: packets reach the members with the source addresses of the clients.
	ovn = "ovn"
	// reservedMachineLabels is the prefix of the metadata that the driver writes.
	reservedMachineLabels = "gardener-"
	// maxMachineLabelValue is the compute API's limit for the values of metadata, in bytes.
	maxMachineLabelValue = 255

	// maxVolumesPerNode is the CSI driver's limit.
	maxVolumesPerNode = 256

	maxVLANID    = 4094
	maxTunnelKey = 1<<24 - 1
)

var (
	openStackEndpointTypes       = []string{"public", "internal", "admin"}
	openStackServerGroupPolicies = []string{"affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity"}
	openStackPurposes            = []string{"default", "private"}
	openStackNetworkTypes        = []string{networkTypeFlat, networkTypeVLAN, "vxlan", "gre", "geneve"}
	openStackCredentials         = [][]string{
		{"domainName", "tenantName", "username", "password"},
		{"applicationCredentialID", "applicationCredentialSecret"},
	}
	loadBalancerMembers = []v1alpha1.LoadBalancerMembers{v1alpha1.LoadBalancerMembersSite, v1alpha1.LoadBalancerMembersAll}

	// machineLabelRegexp matches the keys of metadata that the compute API accepts.
	machineLabelRegexp = regexp.MustCompile(`^[a-zA-Z0-9_:. -]{1,255}$`)
)

// openStack are the rules of OpenStack.
type openStack struct{ noRules }

func (openStack) credentials() [][]string { return openStackCredentials }

func (openStack) access(site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	allErrs := validateURL(site.OpenStack.AuthURL, []string{"http", "https"}, fldPath.Child("openstack", "authURL"))
	return append(allErrs, validateRequired(site.OpenStack.Region, fldPath.Child("openstack", "region"))...)
}

// encryption accepts http only for a site whose certificate would not be verified either. A site that was as insecure before stays allowed.
func (openStack) encryption(site, before *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	if !strings.HasPrefix(site.OpenStack.AuthURL, "http://") || site.TLS != nil && site.TLS.InsecureSkipVerify {
		return nil
	}
	if before != nil && before.OpenStack != nil && before.OpenStack.AuthURL == site.OpenStack.AuthURL {
		return nil
	}
	return field.ErrorList{field.Invalid(fldPath.Child("openstack", "authURL"), site.OpenStack.AuthURL, fmt.Sprintf(
		"site %q: must have the scheme https; http, which sends credentials in the clear, needs tls.insecureSkipVerify: true", site.Name))}
}

func (openStack) site(site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	profile := site.OpenStack
	fldPath = fldPath.Child("openstack")
	allErrs := validateOneOf(profile.EndpointType, openStackEndpointTypes, fldPath.Child("endpointType"))

	pools := names{}
	for i := range profile.FloatingPools {
		pool, idxPath := &profile.FloatingPools[i], fldPath.Child("floatingPools").Index(i)
		allErrs = append(allErrs, pools.addRequired(pool.Name, idxPath.Child("name"))...)
		allErrs = append(allErrs, validateOpenStackLoadBalancerClasses(pool.LoadBalancerClasses, idxPath.Child("loadBalancerClasses"))...)
	}
	providers := names{}
	for i, provider := range profile.LoadBalancerProviders {
		allErrs = append(allErrs, providers.addRequired(provider, fldPath.Child("loadBalancerProviders").Index(i))...)
	}
	for _, allowed := range []struct {
		name   string
		values []string
		ids    bool
	}{
		{"networks", profile.Networks, true},
		{"securityGroups", profile.SecurityGroups, false},
		{"floatingNetworks", profile.FloatingNetworks, true},
	} {
		seen := names{}
		for i, value := range allowed.values {
			idxPath := fldPath.Child(allowed.name).Index(i)
			allErrs = append(allErrs, seen.addRequired(value, idxPath)...)
			if allowed.ids && value != "" {
				allErrs = append(allErrs, validateUUID(value, idxPath)...)
			}
		}
	}
	if limit := profile.NodeVolumeAttachLimit; limit != nil && (*limit < 1 || *limit > maxVolumesPerNode) {
		allErrs = append(allErrs, field.Invalid(fldPath.Child("nodeVolumeAttachLimit"), *limit,
			fmt.Sprintf("must be from 1 to %d", maxVolumesPerNode)))
	}
	policies := names{}
	for i, policy := range profile.ServerGroupPolicies {
		idxPath := fldPath.Child("serverGroupPolicies").Index(i)
		allErrs = append(allErrs, policies.addOneOf(policy, openStackServerGroupPolicies, idxPath)...)
	}
	return allErrs
}

func validateOpenStackLoadBalancerClasses(classes []v1alpha1.OpenStackLoadBalancerClass, fldPath *field.Path) field.ErrorList {
	var (
		allErrs    field.ErrorList
		classNames = names{}
		purposes   = names{}
	)
	for i, class := range classes {
		idxPath := fldPath.Index(i)
		allErrs = append(allErrs, classNames.addRequired(class.Name, idxPath.Child("name"))...)
		if class.Purpose != "" {
			allErrs = append(allErrs, purposes.addOneOf(class.Purpose, openStackPurposes, idxPath.Child("purpose"))...)
		}
		for _, reference := range []struct{ name, id string }{
			{"floatingNetworkID", class.FloatingNetworkID},
			{"floatingSubnetID", class.FloatingSubnetID},
			{"networkID", class.NetworkID},
			{"subnetID", class.SubnetID},
		} {
			if reference.id != "" {
				allErrs = append(allErrs, validateUUID(reference.id, idxPath.Child(reference.name))...)
			}
		}
	}
	return allErrs
}

// floatingNetworks returns the external networks that load balancer classes of shoots may use, nil if they may use all.
func floatingNetworks(profile *v1alpha1.OpenStackProfile) []string {
	if profile.FloatingNetworks == nil {
		return nil
	}
	allowed := slices.Clone(profile.FloatingNetworks)
	for _, pool := range profile.FloatingPools {
		for _, class := range pool.LoadBalancerClasses {
			if class.FloatingNetworkID != "" {
				allowed = append(allowed, class.FloatingNetworkID)
			}
		}
	}
	return allowed
}

func (openStack) zone(zone *v1alpha1.SiteZone, _ *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	return validateRequired(zone.OpenStack.AvailabilityZone, fldPath.Child("openstack", "availabilityZone"))
}

func (openStack) storageClass(class *v1alpha1.StorageClass, fldPath *field.Path) field.ErrorList {
	return validateParameters(class.Parameters, map[string]string{"type": "openstack.type", "availability": "openstack.availabilityZone"},
		fldPath.Child("parameters"))
}

func (openStack) machineType(machineType *v1alpha1.SiteMachineType, _ *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	return validateRequired(machineType.OpenStack.Flavor, fldPath.Child("openstack", "flavor"))
}

func (openStack) volumeType(volumeType *v1alpha1.SiteVolumeType, fldPath *field.Path) field.ErrorList {
	return validateRequired(volumeType.OpenStack.Type, fldPath.Child("openstack", "type"))
}

func (openStack) image(image *v1alpha1.SiteMachineImage, _ *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	config, idPath := image.OpenStack, fldPath.Child("openstack", "imageID")
	switch {
	case config.ImageID == "" && config.ImageName == "":
		return field.ErrorList{field.Required(idPath, "either imageID or imageName must be set")}
	case config.ImageID != "" && config.ImageName != "":
		return field.ErrorList{field.Forbidden(fldPath.Child("openstack", "imageName"), "must not be set together with imageID")}
	case config.ImageID != "":
		return validateUUID(config.ImageID, idPath)
	default:
		return nil
	}
}

func (openStack) infrastructure(s *v1alpha1.InfrastructureSite, infrastructure *v1alpha1.InfrastructureConfig,
	site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	if site.OpenStack == nil {
		return nil
	}
	var (
		config  = ptr.Deref(s.OpenStack, v1alpha1.OpenStackInfrastructure{})
		profile = site.OpenStack
		allErrs field.ErrorList
	)
	if len(s.Nodes) > 1 || len(s.Nodes) == 0 && len(infrastructure.Networks.Nodes) > 1 {
		allErrs = append(allErrs, field.Forbidden(fldPath.Child("nodes"), "must be one range: an OpenStack site has one subnet"))
	}
	fldPath = fldPath.Child("openstack")

	poolPath := fldPath.Child("floatingPoolName")
	if config.FloatingPoolName == "" {
		if config.Router == nil {
			allErrs = append(allErrs, field.Required(poolPath, "must be set unless router.id is set"))
		}
	} else if len(profile.FloatingPools) > 0 {
		pools := lists.Map(profile.FloatingPools, func(p v1alpha1.OpenStackFloatingPool) string { return p.Name })
		allErrs = append(allErrs, validateOneOf(config.FloatingPoolName, pools, poolPath)...)
	}
	allErrs = append(allErrs, validateFloatingSubnet(&config, fldPath.Child("floatingSubnet"))...)

	networkPath := fldPath.Child("network")
	if config.Network != nil {
		allErrs = append(allErrs, validateOpenStackNetwork(config.Network, networkPath)...)
		allErrs = append(allErrs, validateAllowed(config.Network.ID, profile.Networks, networkPath.Child("id"))...)
		if config.Network.Provider != nil && !ptr.Deref(profile.ProviderNetworks, true) {
			allErrs = append(allErrs, field.Forbidden(networkPath.Child("provider"), "must not be set: the site does not allow provider networks"))
		}
	} else if infrastructure.Networks.Topology == v1alpha1.TopologyStretched && len(infrastructure.Sites) > 1 {
		allErrs = append(allErrs,
			field.Required(networkPath,
				"must have id or provider if the topology is Stretched over several sites: a tenant network exists at its own site only"))
	}

	if config.Subnet != nil && (config.Network == nil || config.Network.ID == "") {
		allErrs = append(allErrs, field.Forbidden(fldPath.Child("subnet"), "must not be set without network.id"))
	}
	for _, reference := range []struct {
		name  string
		value *v1alpha1.OpenStackReference
	}{
		{"subnet", config.Subnet},
		{"router", config.Router},
		{"securityGroup", config.SecurityGroup},
	} {
		if reference.value != nil {
			allErrs = append(allErrs, validateUUID(reference.value.ID, fldPath.Child(reference.name, "id"))...)
		}
	}
	if config.SecurityGroup != nil {
		allErrs = append(allErrs, validateAllowed(config.SecurityGroup.ID, profile.SecurityGroups, fldPath.Child("securityGroup", "id"))...)
	}
	return allErrs
}

// validateFloatingSubnet accepts a subnet only for a router that is created: an existing one keeps its gateway.
func validateFloatingSubnet(config *v1alpha1.OpenStackInfrastructure, fldPath *field.Path) field.ErrorList {
	subnet := config.FloatingSubnet
	switch {
	case subnet == nil:
		return nil
	case config.Router != nil:
		return field.ErrorList{field.Forbidden(fldPath, "must not be set together with router")}
	case config.FloatingPoolName == "":
		return field.ErrorList{field.Forbidden(fldPath, "must not be set without floatingPoolName")}
	case subnet.ID == "" && subnet.Name == "":
		return field.ErrorList{field.Required(fldPath, "must have either id or name")}
	case subnet.ID != "" && subnet.Name != "":
		return field.ErrorList{field.Forbidden(fldPath.Child("name"), "must not be set together with id")}
	case subnet.ID != "":
		return validateUUID(subnet.ID, fldPath.Child("id"))
	default:
		return nil
	}
}

func validateOpenStackNetwork(network *v1alpha1.OpenStackNetwork, fldPath *field.Path) field.ErrorList {
	switch {
	case network.ID == "" && network.Provider == nil:
		return field.ErrorList{field.Required(fldPath, "must have either id or provider")}
	case network.ID != "" && network.Provider != nil:
		return field.ErrorList{field.Forbidden(fldPath.Child("provider"), "must not be set together with id")}
	case network.ID != "":
		return validateUUID(network.ID, fldPath.Child("id"))
	}

	var (
		provider     = network.Provider
		providerPath = fldPath.Child("provider")
		allErrs      = validateOneOf(provider.NetworkType, openStackNetworkTypes, providerPath.Child("networkType"))
		physicalPath = providerPath.Child("physicalNetwork")
		idPath       = providerPath.Child("segmentationID")
		physical     = provider.NetworkType == networkTypeFlat || provider.NetworkType == networkTypeVLAN
	)
	if len(allErrs) > 0 {
		return allErrs
	}
	if physical {
		allErrs = append(allErrs, validateRequired(provider.PhysicalNetwork, physicalPath)...)
	} else if provider.PhysicalNetwork != "" {
		allErrs = append(allErrs, field.Forbidden(physicalPath, fmt.Sprintf("must not be set for network type %s", provider.NetworkType)))
	}

	if provider.SegmentationID == nil {
		return allErrs
	}
	maxID := int32(maxTunnelKey)
	switch provider.NetworkType {
	case networkTypeFlat:
		return append(allErrs, field.Forbidden(idPath, "must not be set for network type flat"))
	case networkTypeVLAN:
		maxID = maxVLANID
	}
	if *provider.SegmentationID < 1 || *provider.SegmentationID > maxID {
		allErrs = append(allErrs, field.Invalid(idPath, *provider.SegmentationID, fmt.Sprintf("must be between 1 and %d", maxID)))
	}
	return allErrs
}

// infrastructureUpdate refuses to move nodes between objects: what is given by ID stays given, and what is created stays created.
func (openStack) infrastructureUpdate(newSite, oldSite *v1alpha1.InfrastructureSite, fldPath *field.Path) field.ErrorList {
	var (
		newConfig = ptr.Deref(newSite.OpenStack, v1alpha1.OpenStackInfrastructure{})
		oldConfig = ptr.Deref(oldSite.OpenStack, v1alpha1.OpenStackInfrastructure{})
	)
	fldPath = fldPath.Child("openstack")
	allErrs := immutable(newConfig.FloatingPoolName, oldConfig.FloatingPoolName, fldPath.Child("floatingPoolName"))
	allErrs = append(allErrs, immutable(newConfig.Network, oldConfig.Network, fldPath.Child("network"))...)
	allErrs = append(allErrs, immutable(newConfig.Subnet, oldConfig.Subnet, fldPath.Child("subnet"))...)
	allErrs = append(allErrs, immutable(newConfig.Router, oldConfig.Router, fldPath.Child("router"))...)
	allErrs = append(allErrs, immutable(newConfig.SecurityGroup, oldConfig.SecurityGroup, fldPath.Child("securityGroup"))...)
	return allErrs
}

// loadBalancer checks the settings of Octavia. MetalLB is of no use, because Neutron only lets addresses of ports through.
func (openStack) loadBalancer(s *v1alpha1.ControlPlaneSite, site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	if s.LoadBalancer.MetalLB != nil && site != nil && site.OpenStack != nil {
		allErrs = append(allErrs, field.Forbidden(fldPath.Child("metalLB"),
			fmt.Sprintf("site %q is an OpenStack site, whose network only reaches addresses of ports", s.Name)))
	}
	config, configPath := s.LoadBalancer.OpenStack, fldPath.Child("openstack")
	switch {
	case config == nil:
		return allErrs
	case site == nil:
		return append(allErrs, validateOpenStackLoadBalancer(config, nil, configPath)...)
	case site.OpenStack == nil:
		return append(allErrs, field.Forbidden(configPath, fmt.Sprintf("site %q is not an OpenStack site", s.Name)))
	default:
		return append(allErrs, validateOpenStackLoadBalancer(config, site.OpenStack, configPath)...)
	}
}

// storage checks the settings of shares.
func (openStack) storage(config *v1alpha1.SiteStorage, s *v1alpha1.InfrastructureSite, site *v1alpha1.CloudProfileSite,
	fldPath *field.Path) field.ErrorList {
	shares := config.CSIManila
	fldPath = fldPath.Child("csiManila")
	switch {
	case shares == nil:
		return nil
	case site != nil && site.OpenStack == nil:
		return field.ErrorList{field.Forbidden(fldPath, fmt.Sprintf("site %q is not an OpenStack site", site.Name))}
	case shares.Enabled && s != nil && (s.OpenStack == nil || s.OpenStack.ShareNetwork == nil || !s.OpenStack.ShareNetwork.Enabled):
		return field.ErrorList{field.Forbidden(fldPath.Child("enabled"),
			"requires openstack.shareNetwork.enabled of the site in the infrastructureConfig")}
	}
	return nil
}

func validateOpenStackLoadBalancer(config *v1alpha1.OpenStackLoadBalancerConfig, profile *v1alpha1.OpenStackProfile,
	fldPath *field.Path) field.ErrorList {
	var (
		allErrs   field.ErrorList
		providers = []string{v1alpha1.DefaultOpenStackLoadBalancerProvider}
		provider  = config.Provider
	)
	if profile != nil && len(profile.LoadBalancerProviders) > 0 {
		providers = profile.LoadBalancerProviders
	}
	if provider == "" {
		provider = providers[0]
	} else if profile != nil {
		allErrs = append(allErrs, validateOneOf(provider, providers, fldPath.Child("provider"))...)
	}
	if config.Members != "" {
		allErrs = append(allErrs, validateOneOf(config.Members, loadBalancerMembers, fldPath.Child("members"))...)
	}
	if provider == ovn && config.Members == v1alpha1.LoadBalancerMembersAll {
		allErrs = append(allErrs,
			field.Forbidden(fldPath.Child("members"), "must be Site for the provider ovn, which needs the security groups of all members"))
	}
	if profile != nil {
		allowed := floatingNetworks(profile)
		for i, class := range config.Classes {
			allErrs = append(allErrs,
				validateAllowed(class.FloatingNetworkID, allowed, fldPath.Child("classes").Index(i).Child("floatingNetworkID"))...)
		}
	}
	return append(allErrs, validateOpenStackLoadBalancerClasses(config.Classes, fldPath.Child("classes"))...)
}

func (openStack) worker(s *v1alpha1.WorkerSite, site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	if site.OpenStack == nil {
		return nil
	}
	var allErrs field.ErrorList
	config, profile := s.OpenStack, site.OpenStack
	fldPath = fldPath.Child("openstack")
	if config.ServerGroup != nil {
		allErrs = append(allErrs,
			validateOneOf(config.ServerGroup.Policy, profile.ServerGroupPolicies, fldPath.Child("serverGroup", "policy"))...)
	}
	securityGroups := names{}
	for i, nameOrID := range config.AdditionalSecurityGroups {
		idxPath := fldPath.Child("additionalSecurityGroups").Index(i)
		allErrs = append(allErrs, securityGroups.addRequired(nameOrID, idxPath)...)
		allErrs = append(allErrs, validateAllowed(nameOrID, profile.SecurityGroups, idxPath)...)
	}
	labels := names{}
	for i, label := range config.MachineLabels {
		idxPath := fldPath.Child("machineLabels").Index(i)
		namePath := idxPath.Child("name")
		allErrs = append(allErrs, labels.addRequired(label.Name, namePath)...)
		switch {
		case strings.HasPrefix(label.Name, reservedMachineLabels):
			allErrs = append(allErrs, field.Forbidden(namePath, fmt.Sprintf("must not begin with %q, which is reserved", reservedMachineLabels)))
		case label.Name != "" && !machineLabelRegexp.MatchString(label.Name):
			allErrs = append(allErrs,
				field.Invalid(namePath, label.Name, "must have at most 255 characters, which are letters, digits, spaces and any of - _ : ."))
		}
		if len(label.Value) > maxMachineLabelValue {
			allErrs = append(allErrs, field.TooLong(idxPath.Child("value"), "", maxMachineLabelValue))
		}
	}
	return allErrs
}

func (openStack) inPlaceUpdate(newConfig, oldConfig *v1alpha1.WorkerSite, fldPath *field.Path) field.ErrorList {
	serverGroup := func(config *v1alpha1.WorkerSite) *v1alpha1.OpenStackServerGroup {
		if config == nil || config.OpenStack == nil {
			return nil
		}
		return config.OpenStack.ServerGroup
	}
	if newConfig != nil {
		fldPath = fldPath.Child("openstack", "serverGroup")
	}
	return immutable(serverGroup(newConfig), serverGroup(oldConfig), fldPath)
}

func (openStack) dataVolume(volume *v1alpha1.WorkerDataVolumeSite, _ *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	return validateRequired(volume.OpenStack.Type, fldPath.Child("openstack", "type"))
}
