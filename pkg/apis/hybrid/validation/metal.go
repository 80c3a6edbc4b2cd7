// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/networkdata"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const (
	// ociScheme is the scheme of the address of an OCI image.
	ociScheme = "oci://"
	// maxNetworkDataTemplate is the maximum size of a template of network data in bytes. It is copied into a Secret and machine classes.
	maxNetworkDataTemplate = 16 << 10
)

var (
	metalInventories   = append([]v1alpha1.MetalInventory{v1alpha1.MetalInventoryMetal3}, taintedInventories...)
	taintedInventories = []v1alpha1.MetalInventory{v1alpha1.MetalInventoryIronCore, v1alpha1.MetalInventoryStatic}
	metalCleanings     = []string{v1alpha1.MetalCleaningMetadata, v1alpha1.MetalCleaningDisabled}
	metalNodeNames     = []string{v1alpha1.MetalNodeNameMachine, v1alpha1.MetalNodeNameHost}
	metalChecksumTypes = []string{"md5", "sha256", "sha512"}
	metalImageFormats  = []string{"raw", "qcow2", "vmdk", v1alpha1.MetalImageFormatLiveISO}

	tolerationOperators = []corev1.TolerationOperator{corev1.TolerationOpEqual, corev1.TolerationOpExists}
	// tolerationEffects are those of the taints of hosts.
	tolerationEffects = []corev1.TaintEffect{"NoBind", "Evict"}

	// ociReferenceRegexp matches the reference of an OCI image with registry and repository, and with a tag, a digest or both.
	ociReferenceRegexp = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9.-]*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+` +
		`(:[\w][\w.-]{0,127})?(@[a-z0-9]+:[0-9a-fA-F]{32,})?$`)
	// osReleaseRegexp matches what os-release(5) allows as ID and VERSION_ID.
	osReleaseRegexp = regexp.MustCompile(`^[a-z0-9._-]{1,63}$`)
)

// metal are the rules of bare metal.
type metal struct{ noRules }

func (metal) credentials() [][]string {
	return kubernetesCredentials()
}

func (metal) noVolumes() string { return "does not support volumes: its hosts have their own disks" }

func (metal) noBastions() string { return "does not support bastions: each would take a whole host" }

func (metal) noExposures() string { return "has no load balancer for a control plane" }

func (metal) access(site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	profile := site.Metal
	fldPath = fldPath.Child("metal")
	allErrs := validateOneOf(profile.Inventory, metalInventories, fldPath.Child("inventory"))
	allErrs = append(allErrs, validateURL(profile.Server, []string{"https"}, fldPath.Child("server"))...)
	return append(allErrs, validateDNSLabel(profile.Namespace, fldPath.Child("namespace"))...)
}

func (metal) site(site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	profile := site.Metal
	fldPath = fldPath.Child("metal")
	allErrs := validateOneOf(profile.Cleaning, metalCleanings, fldPath.Child("cleaning"))
	if profile.Inventory == v1alpha1.MetalInventoryStatic && profile.Cleaning == v1alpha1.MetalCleaningDisabled {
		allErrs = append(allErrs, field.Forbidden(fldPath.Child("cleaning"), fmt.Sprintf("must be %q or empty for inventory %q: "+
			"the release of a host always removes what the machine has made, and never wipes the disks of its owner",
			v1alpha1.MetalCleaningMetadata, profile.Inventory)))
	}
	allErrs = append(allErrs, validateOneOf(profile.NodeName, metalNodeNames, fldPath.Child("nodeName"))...)
	allErrs = append(allErrs, validateHosts(nil, profile.PoolTolerations, profile, "poolTolerations", fldPath)...)
	return append(allErrs, validatePoolRefs(profile.AddressPools, fldPath.Child("addressPools"))...)
}

func (metal) zone(zone *v1alpha1.SiteZone, _ *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	return validateLabelSelector(zone.Metal.HostSelector, fldPath.Child("metal", "hostSelector"))
}

func (metal) storageClass(class *v1alpha1.StorageClass, fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	if len(class.Parameters) > 0 {
		allErrs = append(allErrs, field.Forbidden(fldPath.Child("parameters"), "local volumes have no parameters but metal.path"))
	}
	if class.Metal.Path == "" {
		return allErrs
	}
	return append(allErrs, validateVolumesPath(class.Metal.Path, fldPath.Child("metal", "path"))...)
}

func (metal) machineType(machineType *v1alpha1.SiteMachineType, site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	if site == nil || site.Metal == nil {
		return nil
	}
	return validateHosts(machineType.Metal.HostSelector, machineType.Metal.Tolerations, site.Metal, "tolerations", fldPath.Child("metal"))
}

// image checks an image. What is allowed depends on the inventory of the site.
func (metal) image(image *v1alpha1.SiteMachineImage, site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	if site == nil || site.Metal == nil {
		return nil
	}
	var (
		config    = image.Metal
		metalPath = fldPath.Child("metal")
	)
	if site.Metal.Inventory == v1alpha1.MetalInventoryStatic {
		return validateStaticImage(image, fldPath)
	}
	if config.OSRelease != nil {
		return field.ErrorList{field.Forbidden(metalPath.Child("osRelease"),
			fmt.Sprintf("must not be set for inventory %q, which writes the image in url; only inventory %q has it", site.Metal.Inventory,
				v1alpha1.MetalInventoryStatic))}
	}
	allErrs := validateOneOf(config.ChecksumType, metalChecksumTypes, metalPath.Child("checksumType"))
	allErrs = append(allErrs, validateOneOf(config.Format, metalImageFormats, metalPath.Child("format"))...)

	if site.Metal.Inventory != v1alpha1.MetalInventoryIronCore {
		allErrs = append(allErrs, validateURL(config.URL, []string{"http", "https", "oci"}, metalPath.Child("url"))...)
		if config.Format != v1alpha1.MetalImageFormatLiveISO && !strings.HasPrefix(config.URL, ociScheme) {
			allErrs = append(allErrs, validateRequired(config.Checksum, metalPath.Child("checksum"))...)
		}
		return allErrs
	}

	switch {
	case config.URL == "":
		allErrs = append(allErrs, field.Required(metalPath.Child("url"), "must be the reference of an OCI image"))
	case !ociReferenceRegexp.MatchString(strings.TrimPrefix(config.URL, ociScheme)):
		allErrs = append(allErrs,
			field.Invalid(metalPath.Child("url"), config.URL,
				"must be the reference of an OCI image with its registry, such as registry.example.com/images/linux:1.0"))
	}
	if config.Checksum != "" {
		allErrs = append(allErrs,
			field.Forbidden(metalPath.Child("checksum"), "must not be set for IronCore: the reference in url can have a digest"))
	}
	if image.UserData == nil || image.UserData.Format != v1alpha1.UserDataFormatIgnition {
		allErrs = append(allErrs,
			field.Required(fldPath.Child("userData", "format"), fmt.Sprintf("must be %q for IronCore", v1alpha1.UserDataFormatIgnition)))
	}
	return allErrs
}

// validateStaticImage checks an image of a site whose hosts have an operating system.
func validateStaticImage(image *v1alpha1.SiteMachineImage, fldPath *field.Path) field.ErrorList {
	var (
		allErrs   field.ErrorList
		config    = image.Metal
		metalPath = fldPath.Child("metal")
		osPath    = metalPath.Child("osRelease")
	)
	if format := image.UserData; format == nil || format.Format != v1alpha1.UserDataFormatScript {
		allErrs = append(allErrs, field.Required(fldPath.Child("userData", "format"),
			fmt.Sprintf("must be %q for inventory %q: nothing on its hosts reads other formats", v1alpha1.UserDataFormatScript,
				v1alpha1.MetalInventoryStatic)))
	}
	if config.OSRelease == nil {
		return append(allErrs, field.Required(osPath, fmt.Sprintf("must be the operating system that hosts have for inventory %q, "+
			"which writes no image: the ID and VERSION_ID in their /etc/os-release", v1alpha1.MetalInventoryStatic)))
	}
	for _, f := range []struct{ name, value string }{{"id", config.OSRelease.ID}, {"versionID", config.OSRelease.VersionID}} {
		switch path := osPath.Child(f.name); {
		case f.value == "":
			allErrs = append(allErrs, validateRequired(f.value, path)...)
		case !osReleaseRegexp.MatchString(f.value):
			allErrs = append(allErrs, field.Invalid(path, f.value, "must be at most 63 lower case letters, digits, and the characters . _ -, "+
				"as in the /etc/os-release of the hosts"))
		}
	}
	for _, f := range []struct{ name, value string }{
		{"url", config.URL}, {"checksum", config.Checksum}, {"checksumType", config.ChecksumType}, {"format", config.Format},
	} {
		if f.value != "" {
			allErrs = append(allErrs, field.Forbidden(metalPath.Child(f.name),
				fmt.Sprintf("must not be set for inventory %q: no image is written to its hosts", v1alpha1.MetalInventoryStatic)))
		}
	}
	return allErrs
}

// worker checks the settings of a pool. Taints by which the operator reserves servers are tolerated only if the CloudProfile allows it.
func (metal) worker(s *v1alpha1.WorkerSite, site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	config, profile := s.Metal, site.Metal
	if profile == nil {
		return nil
	}
	fldPath = fldPath.Child("metal")
	allErrs := validateHosts(config.HostSelector, config.Tolerations, profile, "tolerations", fldPath)
	if !slices.Contains(taintedInventories, profile.Inventory) {
		return allErrs
	}
	for i, toleration := range config.Tolerations {
		if !slices.ContainsFunc(profile.PoolTolerations, func(allowed corev1.Toleration) bool { return covers(allowed, toleration) }) {
			allErrs = append(allErrs,
				field.Forbidden(fldPath.Child("tolerations").Index(i), "must be one of poolTolerations of the site in the CloudProfile"))
		}
	}
	return allErrs
}

// rollingUpdate refuses another image where nothing writes it.
func (metal) rollingUpdate(newWorker, oldWorker *gardencorev1beta1.Worker, site *v1alpha1.CloudProfileSite,
	fldPath *field.Path) field.ErrorList {
	after, before := newWorker.Machine.Image, oldWorker.Machine.Image
	if site.Metal.Inventory != v1alpha1.MetalInventoryStatic || after == nil || before == nil ||
		after.Name == before.Name && ptr.Deref(after.Version, "") == ptr.Deref(before.Version, "") {
		return nil
	}
	imagePath := fldPath.Child("machine", "image")
	if after.Name == before.Name {
		imagePath = imagePath.Child("version")
	}
	return field.ErrorList{field.Forbidden(imagePath, fmt.Sprintf("must stay %s %s, because the pool is updated by replacing its machines, "+
		"and no image is written to the hosts of inventory %q of site %q; create another pool, with updateStrategy %q or %q if its hosts "+
		"are to be updated in place", before.Name, ptr.Deref(before.Version, ""), site.Metal.Inventory, site.Name,
		gardencorev1beta1.AutoInPlaceUpdate, gardencorev1beta1.ManualInPlaceUpdate))}
}

// covers reports whether allowed tolerates all taints that toleration tolerates.
func covers(allowed, toleration corev1.Toleration) bool {
	return allowed.Key == toleration.Key && (allowed.Effect == "" || allowed.Effect == toleration.Effect) &&
		(allowed.Operator == corev1.TolerationOpExists || toleration.Operator != corev1.TolerationOpExists && allowed.Value == toleration.Value)
}

// validateHosts checks what a machine type or a pool requires of the hosts of a site.
func validateHosts(selector *metav1.LabelSelector, tolerations []corev1.Toleration, profile *v1alpha1.MetalProfile, name string,
	fldPath *field.Path) field.ErrorList {
	allErrs := validateLabelSelector(selector, fldPath.Child("hostSelector"))
	tolerationsPath := fldPath.Child(name)
	if len(tolerations) > 0 && !slices.Contains(taintedInventories, profile.Inventory) {
		return append(allErrs,
			field.Forbidden(tolerationsPath, fmt.Sprintf("must not be set: hosts of the inventory %q have no taints", profile.Inventory)))
	}
	for i := range tolerations {
		allErrs = append(allErrs, validateToleration(&tolerations[i], tolerationsPath.Index(i))...)
	}
	return allErrs
}

func validateToleration(toleration *corev1.Toleration, fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	if toleration.Key == "" {
		allErrs = append(allErrs, field.Required(fldPath.Child("key"), "must be the key of a taint"))
	} else {
		allErrs = append(allErrs, validateFormat(toleration.Key, validation.IsQualifiedName, fldPath.Child("key"))...)
	}
	if toleration.Operator != "" {
		allErrs = append(allErrs, validateOneOf(toleration.Operator, tolerationOperators, fldPath.Child("operator"))...)
	}
	if toleration.Operator == corev1.TolerationOpExists && toleration.Value != "" {
		allErrs = append(allErrs,
			field.Forbidden(fldPath.Child("value"), fmt.Sprintf("must not be set with operator %q", corev1.TolerationOpExists)))
	}
	if toleration.Effect != "" {
		allErrs = append(allErrs, validateOneOf(toleration.Effect, tolerationEffects, fldPath.Child("effect"))...)
	}
	if toleration.TolerationSeconds != nil {
		allErrs = append(allErrs, field.Forbidden(fldPath.Child("tolerationSeconds"), "must not be set: it has no effect on servers"))
	}
	return allErrs
}

func (metal) infrastructure(s *v1alpha1.InfrastructureSite, _ *v1alpha1.InfrastructureConfig, site *v1alpha1.CloudProfileSite,
	fldPath *field.Path) field.ErrorList {
	config, profile := s.Metal, site.Metal
	if config == nil || profile == nil {
		return nil
	}
	fldPath = fldPath.Child("metal")
	var (
		allErrs      field.ErrorList
		templatePath = fldPath.Child("networkDataTemplate")
	)
	if profile.Inventory == v1alpha1.MetalInventoryStatic {
		const reason = "must not be set: hosts of inventory %q keep the addresses and the network configuration that they have"
		if config.IPAM != nil {
			allErrs = append(allErrs, field.Forbidden(fldPath.Child("ipam"), fmt.Sprintf(reason, profile.Inventory)))
		}
		if config.NetworkDataTemplate != "" {
			allErrs = append(allErrs, field.Forbidden(templatePath, fmt.Sprintf(reason, profile.Inventory)))
		}
		return allErrs
	}
	if ipam := config.IPAM; ipam != nil {
		allErrs = append(allErrs, validatePool(&ipam.PoolRef, profile.AddressPools, fldPath.Child("ipam", "poolRef"))...)
	}

	if len(config.NetworkDataTemplate) > maxNetworkDataTemplate {
		return append(allErrs, field.TooLong(templatePath, "", maxNetworkDataTemplate))
	}
	variables, err := networkdata.Parse(config.NetworkDataTemplate)
	if err != nil {
		return append(allErrs, field.Invalid(templatePath, "(hidden)", err.Error()))
	}
	hasAddress := slices.Contains(variables, networkdata.Address)
	switch {
	case config.IPAM != nil && !hasAddress:
		allErrs = append(allErrs,
			field.Required(templatePath, fmt.Sprintf("must have $%s with ipam: nothing else configures the address of a host", networkdata.Address)))
	case config.IPAM == nil && (hasAddress || slices.Contains(variables, networkdata.Prefix)):
		allErrs = append(allErrs,
			field.Required(fldPath.Child("ipam"),
				fmt.Sprintf("must be set because networkDataTemplate has $%s or $%s", networkdata.Address, networkdata.Prefix)))
	}
	return allErrs
}

// ValidateNetworkData checks that the templates of network data become what the inventory of the site accepts. Errors in variables are
// reported by ValidateInfrastructureConfig. fldPath is the path of the InfrastructureConfig.
func ValidateNetworkData(config *v1alpha1.InfrastructureConfig, profile *v1alpha1.CloudProfileConfig, fldPath *field.Path) field.ErrorList {
	if config == nil {
		return nil
	}
	var allErrs field.ErrorList
	for i := range config.Sites {
		s := &config.Sites[i]
		site := helper.FindSite(profile, s.Name)
		if site == nil || site.Metal == nil || s.Metal == nil || s.Metal.NetworkDataTemplate == "" {
			continue
		}
		if _, err := networkdata.Parse(s.Metal.NetworkDataTemplate); err != nil || len(s.Metal.NetworkDataTemplate) > maxNetworkDataTemplate {
			continue
		}
		known := networkdata.Values{DNSServers: s.DNSServers}
		if len(known.DNSServers) == 0 {
			known.DNSServers = site.DNSServers
		}
		if err := networkdata.CheckTemplate(site.Metal.Inventory, s.Metal.NetworkDataTemplate, known); err != nil {
			allErrs = append(allErrs, field.Invalid(fldPath.Child("sites").Index(i).Child("metal", "networkDataTemplate"), "(hidden)",
				fmt.Sprintf("must be what inventory %q of site %q accepts: %s", site.Metal.Inventory, s.Name, err)))
		}
	}
	return allErrs
}

// validateVolumesPath accepts paths that the provisioner of local volumes supports, which does not include the root.
func validateVolumesPath(folder string, fldPath *field.Path) field.ErrorList {
	if path.IsAbs(folder) && path.Clean(folder) == folder && folder != "/" {
		return nil
	}
	return field.ErrorList{field.Invalid(fldPath, folder, "must be the absolute path of a folder other than the root, without . and ..")}
}

func validateLabelSelector(selector *metav1.LabelSelector, fldPath *field.Path) field.ErrorList {
	return metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, fldPath)
}
