// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"slices"
	"strconv"
	"strings"

	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machines"
)

const (
	// minVersion is the first version of a vCenter that the CSI driver and the privileges of tags are for.
	minVersion = 7
	// minHardware is the first hardware version of virtual machines that the CSI driver attaches volumes to.
	minHardware = 15
)

// checkVersion sends no request.
func (v *validation) checkVersion(_ context.Context, result *platform.Result) error {
	version := v.vim.ServiceContent.About.Version
	major, _, _ := strings.Cut(version, ".")
	if number, err := strconv.Atoi(major); err != nil || number < minVersion {
		result.Warn(v.profile("server"), "the vCenter has version %s", platform.Printable(version)).Want = "7.0 or later"
	}
	return nil
}

// checkTopology finds tags that are missing and must not be created.
func (v *validation) checkTopology(ctx context.Context, result *platform.Result) error {
	if topology := v.site.Profile.VSphere.Topology; topology == nil || topology.Create {
		return nil
	}
	return report(result, v.profile("topology"), v.site.Name, v.ensureTopology(ctx, v.zones))
}

// report adds err to the result if it is one of the configuration, and returns it otherwise.
func report(result *platform.Result, path *field.Path, value string, err error) error {
	if err == nil || platform.ClassOf(err) != platform.ClassConfiguration {
		return err
	}
	result.Invalid(path, value, "%v", err)
	return nil
}

// ofPool returns the path of a field in the pool's vsphere block for the site.
func (v *validation) ofPool(demand *platform.Demand, name string) *field.Path {
	return demand.Path.Child("providerConfig", "sites").Key(v.site.Name).Child("vsphere", name)
}

// template is a template of a pool in a zone.
type template struct {
	demand *platform.Demand
	path   string
	*client.VirtualMachine
}

// checkTemplates looks up each template once.
func (v *validation) checkTemplates(ctx context.Context, result *platform.Result) error {
	for i := range v.demands {
		demand := &v.demands[i]
		if demand.Image == nil || demand.Image.VSphere == nil {
			continue
		}
		for _, z := range v.zonesOf(demand) {
			path := z.Template(demand.Image.VSphere)
			if slices.ContainsFunc(v.templates, func(t template) bool { return t.path == path && t.demand == demand }) {
				continue
			}
			var found *client.VirtualMachine
			if j := slices.IndexFunc(v.templates, func(t template) bool { return t.path == path }); j >= 0 {
				found = v.templates[j].VirtualMachine
			} else {
				var err error
				if found, err = machines.FindTemplate(ctx, v.session, path); err != nil {
					if err := report(result, demand.Path.Child("machine", "image"), path, err); err != nil {
						return err
					}
					continue
				}
			}
			v.templates = append(v.templates, template{demand, path, found})
		}
	}
	return nil
}

// zonesOf returns the zones of the pool.
func (v *validation) zonesOf(demand *platform.Demand) []inventory.Zone {
	return slices.DeleteFunc(inventory.ZonesOf(v.site.Profile), func(z inventory.Zone) bool {
		return !slices.ContainsFunc(demand.Zones, func(limits platform.ZoneDemand) bool { return limits.Name == z.Name })
	})
}

// checkTemplateDisks warns about volumes that are larger than the Shoot says.
func (v *validation) checkTemplateDisks(_ context.Context, result *platform.Result) error {
	for _, t := range v.templates {
		if size, wanted := machines.RootDiskGiB(t.VirtualMachine), int64(t.demand.VolumeSize); wanted > 0 && size > wanted {
			result.Warn(t.demand.Path.Child("volume", "size"), "volumes have %d GiB, as the disk of template %q, not %d", size, t.path, wanted)
		}
	}
	return nil
}

// checkTemplateVersions warns about machines that cannot have volumes.
func (v *validation) checkTemplateVersions(_ context.Context, result *platform.Result) error {
	if v.site.Profile.VSphere.Topology == nil {
		return nil // without a CSI driver
	}
	for _, t := range v.templates {
		version, err := strconv.Atoi(strings.TrimPrefix(t.Config.Version, "vmx-"))
		if err == nil && version < minHardware {
			result.Warn(t.demand.Path.Child("machine", "image"), "template %q has hardware version %d", t.path, version).Want = "15 or later"
		}
	}
	return nil
}

// wantedPolicy is a storage policy that something besides zones names.
type wantedPolicy struct {
	name string
	path *field.Path
	// pool is whether a pool needs it.
	pool bool
}

func (v *validation) wantedPolicies() []wantedPolicy {
	var wanted []wantedPolicy
	for _, demand := range v.demands {
		if demand.VolumeType != nil && demand.VolumeType.VSphere != nil {
			wanted = append(wanted, wantedPolicy{demand.VolumeType.VSphere.StoragePolicy, demand.Path.Child("volume", "type"), true})
		}
		for i, volume := range demand.DataVolumes {
			policy := volume.Settings.VSphere
			if policy == nil && volume.Type != nil {
				policy = volume.Type.VSphere
			}
			if policy != nil {
				wanted = append(wanted, wantedPolicy{policy.StoragePolicy, demand.Path.Child("dataVolumes").Index(i), true})
			}
		}
	}
	for _, class := range v.site.Profile.StorageClasses {
		if class.VSphere != nil {
			path := v.site.ProfilePath().Child("storageClasses").Key(class.Name).Child("vsphere", "storagePolicy")
			wanted = append(wanted, wantedPolicy{class.VSphere.StoragePolicy, path, false})
		}
	}
	return wanted
}

// checkPolicies looks up the storage policies of volume types, data volumes, and storage classes. Machines do not need the latter.
func (v *validation) checkPolicies(ctx context.Context, result *platform.Result) error {
	wanted := v.wantedPolicies()
	if len(wanted) == 0 {
		return nil
	}
	policies, err := v.session.StoragePolicies(ctx)
	if err != nil {
		return err
	}
	const message = "storage policy %q does not exist or is not visible to the credentials"
	for _, w := range wanted {
		switch {
		case slices.ContainsFunc(policies, func(p pbmtypes.BasePbmProfile) bool { return p.GetPbmProfile().Name == w.name }):
		case w.pool:
			result.Invalid(w.path, w.name, message, w.name)
		default:
			result.Warn(w.path, message, w.name)
		}
	}
	return nil
}

// checkPolicyDatastores requires a datastore for the policy of each zone.
func (v *validation) checkPolicyDatastores(ctx context.Context, result *platform.Result) error {
	for _, z := range v.zones {
		if z.storagePolicyID == "" {
			continue
		}
		hosts := v.places.usable(z.cluster)
		if len(hosts) == 0 {
			continue
		}
		datastores := hosts[0].Datastore
		for _, host := range hosts[1:] {
			for _, datastore := range host.Datastore {
				if !slices.Contains(datastores, datastore) {
					datastores = append(slices.Clip(datastores), datastore)
				}
			}
		}
		compatible, err := v.session.CompatibleDatastores(ctx, z.storagePolicyID, datastores)
		if err != nil {
			return err
		}
		if len(compatible) == 0 {
			result.Invalid(z.path.Child("storagePolicy"), z.name, "none of the %d datastores of the cluster complies with the storage policy",
				len(datastores))
		}
	}
	return nil
}

// checkTags looks up the tags that pools give to their machines.
func (v *validation) checkTags(ctx context.Context, result *platform.Result) error {
	for i := range v.demands {
		demand := &v.demands[i]
		if demand.Settings.VSphere == nil {
			continue
		}
		for _, name := range demand.Settings.VSphere.Tags {
			_, err := inventory.FindTags(ctx, v.session.Tags(), []string{name})
			if err := report(result, v.ofPool(demand, "tags"), name, err); err != nil {
				return err
			}
		}
	}
	return nil
}
