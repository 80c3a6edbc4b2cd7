// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Discovery lists what a site offers, to write or to check its part of a CloudProfile. It is read-only.
type Discovery interface {
	// Discover returns what the site offers to the credentials. What they may not list is in Omitted. The site may have nothing but its
	// connection. It returns a classified error if nothing could be listed.
	Discover(ctx context.Context, s *site.Site) (Offer, error)
	// References returns the objects of the site that a part of the CloudProfile refers to. It sends no requests.
	References(part ProfilePart) []Reference
}

// ObjectKind is a kind of objects on sites, as it is called in messages.
type ObjectKind string

// Kinds of objects.
const (
	// KindZone are failure domains: availability zones or clusters.
	KindZone ObjectKind = "zone"
	// KindMachineType are sizes of machines that have a name on the site.
	KindMachineType ObjectKind = "machine type"
	// KindGroup are sizes of machines and groups of hosts that have no name on the site. CloudProfiles do not refer to them.
	KindGroup ObjectKind = "group"
	// KindHosts are hosts with equal labels and hardware.
	KindHosts ObjectKind = "hosts"
	// KindImage are images and templates of machines.
	KindImage ObjectKind = "image"
	// KindVolumeType are types of volumes and storage policies.
	KindVolumeType ObjectKind = "volume type"
	// KindExternalNetwork are networks of floating IPs.
	KindExternalNetwork ObjectKind = "external network"
	// KindNetwork are other networks.
	KindNetwork ObjectKind = "network"
	// KindLoadBalancerProvider are implementations of load balancers.
	KindLoadBalancerProvider ObjectKind = "load balancer provider"
	// KindDatacenter are datacenters.
	KindDatacenter ObjectKind = "datacenter"
	// KindResourcePool are resource pools below zones.
	KindResourcePool ObjectKind = "resource pool"
	// KindDatastore are datastores.
	KindDatastore ObjectKind = "datastore"
	// KindFolder are folders of machines.
	KindFolder ObjectKind = "folder"
	// KindQuota is the quota of the account.
	KindQuota ObjectKind = "quota"
)

// Offer is what a site offers.
type Offer struct {
	// Profile is the site of the CloudProfile, with the settings of its platform that were found out.
	Profile *v1alpha1.CloudProfileSite
	// Objects are the objects, ordered by kind and name.
	Objects []Object
	// Quotas are the quotas of the account.
	Quotas []Quota
	// Omitted are what was left out and why.
	Omitted []Omission

	counts map[counted]int
}

// Object is an object of a site. Most fields have a meaning for some kinds only, and are empty if the site does not tell.
type Object struct {
	Kind ObjectKind
	// Name is how a CloudProfile refers to the object.
	Name string
	// ID is another name of the object, empty if there is none.
	ID string
	// Labels are the labels of hosts.
	Labels map[string]string
	// Count is the number of hosts, and Free how many of them can be claimed.
	Count, Free int
	// CPUs, Memory in bytes, and GPUs are the size of machines.
	CPUs, Memory, GPUs int64
	// Architecture is amd64 or arm64.
	Architecture string
	// OS and Version are the operating system of an image. The version has as many parts as the site tells.
	OS, Version string
	// Unusable is why machines cannot use the object.
	Unusable string
	// Deprecated is how the site says that the object should no longer be used.
	Deprecated string
	// Default is true for what the site uses if nothing is requested.
	Default bool
	// Entries are how a CloudProfile could have the object.
	Entries Entries
}

// Entries are entries for a site in a CloudProfile. Those that are nil do not exist for the object.
type Entries struct {
	Zone        *v1alpha1.SiteZone
	MachineType *v1alpha1.SiteMachineType
	VolumeType  *v1alpha1.SiteVolumeType
	Image       *v1alpha1.SiteMachineImage
	// StorageClass has no name.
	StorageClass *v1alpha1.StorageClass
}

// Omission is something that was left out of an offer.
type Omission struct {
	Kind ObjectKind
	// Name is the name of the object. It is empty if objects of the kind may exist that are not known.
	Name string
	// Reason is why.
	Reason string
}

// String returns what was left out and why.
func (o Omission) String() string {
	if o.Name == "" {
		return fmt.Sprintf("%s: %s", o.Kind, o.Reason)
	}
	return fmt.Sprintf("%s %q: %s", o.Kind, o.Name, o.Reason)
}

// ProfilePart is a part of the CloudProfile that belongs to a site: the site itself, or the one other field that is set.
type ProfilePart struct {
	Site         *v1alpha1.CloudProfileSite
	Zone         *v1alpha1.SiteZone
	MachineType  *v1alpha1.SiteMachineType
	VolumeType   *v1alpha1.SiteVolumeType
	Image        *v1alpha1.SiteMachineImage
	StorageClass *v1alpha1.StorageClass
}

// Reference is how a part of a CloudProfile refers to objects.
type Reference struct {
	// Kinds are the possible kinds of the object.
	Kinds []ObjectKind
	// Field is the path of the field below the part.
	Field string
	// Name is the name or the ID of the object, empty if there is a selector.
	Name string
	// Selector selects hosts by their labels.
	Selector labels.Selector
	// Unique is true if only one usable object may have the name.
	Unique bool
}

// ReferenceTo returns the reference to an object of one of the kinds by its name or ID, none if that is empty.
func ReferenceTo(name, field string, kinds ...ObjectKind) []Reference {
	if name == "" {
		return nil
	}
	return []Reference{{Kinds: kinds, Field: field, Name: name}}
}

// Matches reports whether the reference is to the object.
func (r Reference) Matches(object *Object) bool {
	switch {
	case !slices.Contains(r.Kinds, object.Kind):
		return false
	case r.Selector != nil:
		return r.Selector.Matches(labels.Set(object.Labels))
	default:
		return r.Name == object.Name || object.ID != "" && r.Name == object.ID
	}
}

const (
	// maxObjects is the maximum number of objects of a kind.
	maxObjects = 5000
	// maxOmissions is the maximum number of omissions of objects of a kind.
	maxOmissions = 50
	// maxCPUs and maxMachineMemory limit the size of machines.
	maxCPUs          = 1 << 16
	maxMachineMemory = 1 << 50
)

// Add adds the object to the offer, or what is wrong with it to Omitted: a site may tell anything.
func (o *Offer) Add(object Object) {
	if problem := object.problem(); problem != "" {
		o.Omit(object.Kind, cmp.Or(Printable(object.Name), "(no name)"), "%s", problem)
		return
	}
	if count := o.count(object.Kind, true); count > maxObjects {
		if count == maxObjects+1 {
			o.Omit(object.Kind, "", "there are more than %d", maxObjects)
		}
		return
	}
	object.OS, object.Version = Printable(object.OS), Printable(object.Version)
	object.Unusable, object.Deprecated = Printable(object.Unusable), Printable(object.Deprecated)
	o.Objects = append(o.Objects, object)
}

// counted is what an offer counts: objects or omissions of a kind.
type counted struct {
	kind   ObjectKind
	object bool
}

// count counts another object or omission and returns how many there are now.
func (o *Offer) count(kind ObjectKind, object bool) int {
	if o.counts == nil {
		o.counts = map[counted]int{}
	}
	o.counts[counted{kind, object}]++
	return o.counts[counted{kind, object}]
}

// problem returns what is wrong with the object, empty if nothing is.
func (o *Object) problem() string {
	switch {
	case o.Name == "":
		return "it has no name"
	case Printable(o.Name) != o.Name || Printable(o.ID) != o.ID:
		return fmt.Sprintf("its name is longer than %d bytes, or has characters that cannot be printed", maxForeign)
	case o.CPUs < 0 || o.CPUs > maxCPUs || o.GPUs < 0 || o.GPUs > maxCPUs || o.Memory < 0 || o.Memory > maxMachineMemory:
		return "its size is impossible"
	default:
		return ""
	}
}

// Omit adds what was left out. The name is empty if objects of the kind may exist that are not known.
func (o *Offer) Omit(kind ObjectKind, name, format string, args ...any) {
	omitted := Omission{Kind: kind, Name: name, Reason: fmt.Sprintf(format, args...)}
	if name != "" {
		switch count := o.count(kind, false); {
		case count > maxOmissions+1:
			return
		case count > maxOmissions:
			omitted.Name, omitted.Reason = "others", "left out for such reasons, too"
		}
	}
	o.Omitted = append(o.Omitted, omitted)
}

// Incomplete reports whether objects of the kind may exist that are not known.
func (o *Offer) Incomplete(kind ObjectKind) bool {
	return slices.ContainsFunc(o.Omitted, func(omitted Omission) bool { return omitted.Kind == kind && omitted.Name == "" })
}

// Listing is one of the lists of a site.
type Listing struct {
	// Kinds are the kinds of the objects in the list.
	Kinds []ObjectKind
	// List adds the objects to an offer. Errors are classified.
	List func(ctx context.Context, offer *Offer) error
}

// Collect returns what the lists have together. They are requested concurrently. A list that fails is in Omitted; if all fail, it returns
// the error of the first.
func Collect(ctx context.Context, listings ...Listing) (Offer, error) {
	var (
		found    = make([]Offer, len(listings))
		errs     = Each(len(listings), func(i int) error { return listings[i].List(ctx, &found[i]) })
		together Offer
	)
	if len(errs) > 0 && !slices.Contains(errs, nil) {
		return Offer{}, errs[0]
	}
	if err := ctx.Err(); err != nil {
		return Offer{}, NewError(ClassTransient, "not all was listed in time: %w", err)
	}
	for i := range found {
		together.Objects = append(together.Objects, found[i].Objects...)
		together.Quotas = append(together.Quotas, found[i].Quotas...)
		together.Omitted = append(together.Omitted, found[i].Omitted...)
		if errs[i] != nil {
			for _, kind := range listings[i].Kinds {
				together.Omit(kind, "", "%s", Foreign(errs[i]))
			}
		}
	}
	slices.SortStableFunc(together.Objects, func(a, b Object) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return together, nil
}

// EntryName returns a name for an entry of a CloudProfile that the parts make up: lower case, at most 63 characters, usable as the value of
// a label and as a part of the name of an object. It is empty if nothing usable is left.
func EntryName(parts ...string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		default:
			return '-'
		}
	}, strings.Join(parts, "-"))
	for _, double := range []struct{ from, to string }{{"--", "-"}, {"..", "."}, {"-.", "."}, {".-", "."}} {
		for strings.Contains(name, double.from) {
			name = strings.ReplaceAll(name, double.from, double.to)
		}
	}
	return strings.Trim(name[:min(len(name), maxEntryName)], "-.")
}

const maxEntryName = 63

var imageName = regexp.MustCompile(`^(\D*?[A-Za-z])[ _-]*v?(\d+(?:\.\d+){0,2})`)

// SystemOf returns the operating system and its version that the name of an image tells, such as ubuntu and 24.04. They are empty if it
// tells none.
func SystemOf(name string) (system, version string) {
	parts := imageName.FindStringSubmatch(name)
	if parts == nil {
		return "", ""
	}
	return EntryName(parts[1]), parts[2]
}

// ArchitectureOf returns Gardener's name of an architecture, empty if it has none or is not known.
func ArchitectureOf(text string) string {
	switch strings.ToLower(text) {
	case "x86_64", "x86-64", "amd64":
		return "amd64"
	case "aarch64", "arm-a64", "arm64":
		return "arm64"
	default:
		return ""
	}
}

// SizeName returns a name for a machine type that has none on the site.
func SizeName(what string, cpus, memory int64) string {
	return EntryName(what, strconv.FormatInt(cpus, 10), resource.NewQuantity(memory, resource.BinarySI).String())
}
