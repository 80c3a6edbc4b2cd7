// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// maxUnused is the maximum number of unused objects of a kind that are named.
const maxUnused = 20

// Difference is a difference between a CloudProfile and a site.
type Difference = v1alpha1.CloudProfileDifference

// HasDrift reports whether one of the differences is drift. What the CloudProfile does not use, what it already calls deprecated, and
// what is not known are not.
func HasDrift(differences []Difference) bool {
	return slices.ContainsFunc(differences, func(d Difference) bool { return d.Drift })
}

// Text returns a difference as a part of a sentence.
func Text(d Difference) string {
	text := fmt.Sprintf("%s: %s %q is %s", d.Entry, d.Kind, d.Name, d.Is)
	if d.Want != "" {
		text += ", should be " + d.Want
	}
	return text
}

// Compare returns the differences between what the CloudProfile says about a site and what the site offers, the most important first. It
// sends no requests.
func Compare(references func(platform.ProfilePart) []platform.Reference, spec *gardencorev1beta1.CloudProfileSpec,
	config *v1alpha1.CloudProfileConfig, name string, offer *platform.Offer) []Difference {
	c := &comparison{name: name, offer: offer, references: references, used: make([]uses, len(offer.Objects))}
	c.parts(spec, config)
	c.unused()
	slices.SortStableFunc(c.found, func(a, b Difference) int {
		return cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State))
	})
	return slices.CompactFunc(c.found, func(a, b Difference) bool { return a == b })
}

// order is the order of differences.
var order = []v1alpha1.DifferenceState{
	v1alpha1.DifferenceMissing, v1alpha1.DifferenceChanged, v1alpha1.DifferenceDeprecated, v1alpha1.DifferenceUnknown,
	v1alpha1.DifferenceUnused,
}

// uses are the parts of a CloudProfile that refer to an object.
type uses struct{ byZone, byOther bool }

// comparison compares a CloudProfile with a site.
type comparison struct {
	name       string
	offer      *platform.Offer
	references func(platform.ProfilePart) []platform.Reference
	// used are the uses of the objects of the offer.
	used  []uses
	found []Difference
}

// wanted is what the CloudProfile says about the objects that a part refers to. Empty fields are not compared.
type wanted struct {
	size          *size
	architectures []string
	image         string
	version       string
	images        []string
	// retired is true if the CloudProfile says itself that the part should no longer be used.
	retired bool
}

// size is the size of machines.
type size struct{ cpus, memory, gpus int64 }

// String returns the size as in a CloudProfile.
func (s size) String() string {
	text := fmt.Sprintf("%d CPUs, %s", s.cpus, resource.NewQuantity(s.memory, resource.BinarySI))
	if s.gpus > 0 {
		text += fmt.Sprintf(", %d GPUs", s.gpus)
	}
	return text
}

// part compares what a part of the CloudProfile refers to. field is its path, and what is how messages call it.
func (c *comparison) part(part platform.ProfilePart, field, what string, want wanted) {
	for _, reference := range c.references(part) {
		difference := Difference{Site: c.name, Kind: string(reference.Kinds[0]), Name: reference.Name, Field: field + "." + reference.Field,
			Entry: what, Drift: true}
		matches := c.matches(reference, part.Zone != nil)
		object := best(matches)
		switch problem := c.problem(reference, matches, object, want); {
		case object == nil && c.incomplete(reference):
			difference.State, difference.Drift = v1alpha1.DifferenceUnknown, false
			difference.Is = "not known, because not all could be listed"
		case object == nil:
			difference.State = v1alpha1.DifferenceMissing
			difference.Is = "not found"
		case problem != nil:
			difference.State, difference.Is, difference.Want = v1alpha1.DifferenceChanged, problem.is, problem.want
		case object.Deprecated != "":
			difference.State, difference.Is, difference.Drift = v1alpha1.DifferenceDeprecated, object.Deprecated, !want.retired
		case want.retired:
			difference.State, difference.Drift = v1alpha1.DifferenceDeprecated, false
			difference.Is = "still there, while the CloudProfile calls the version deprecated or expired"
		default:
			continue
		}
		c.found = append(c.found, difference)
	}
}

// matches returns the objects that the reference is to, and notes that they are used.
func (c *comparison) matches(reference platform.Reference, byZone bool) []*platform.Object {
	var matches []*platform.Object
	for i := range c.offer.Objects {
		if object := &c.offer.Objects[i]; reference.Matches(object) {
			matches = append(matches, object)
			c.used[i].byZone = c.used[i].byZone || byZone
			c.used[i].byOther = c.used[i].byOther || !byZone
		}
	}
	return matches
}

// best returns the first object that is usable, or else the first.
func best(objects []*platform.Object) *platform.Object {
	if index := slices.IndexFunc(objects, isUsable); index >= 0 {
		return objects[index]
	}
	if len(objects) > 0 {
		return objects[0]
	}
	return nil
}

func isUsable(object *platform.Object) bool { return object.Unusable == "" }

func (c *comparison) incomplete(reference platform.Reference) bool {
	return slices.ContainsFunc(reference.Kinds, c.offer.Incomplete)
}

// mismatch is what an object is and what it should be.
type mismatch struct{ is, want string }

// problem returns what is wrong with the object, nil if nothing is.
func (c *comparison) problem(reference platform.Reference, matches []*platform.Object, object *platform.Object, want wanted) *mismatch {
	if object == nil {
		return nil
	}
	usable := 0
	for _, match := range matches {
		if isUsable(match) {
			usable++
		}
	}
	switch {
	case usable == 0:
		return &mismatch{is: object.Unusable, want: "usable"}
	case reference.Unique && usable > 1:
		return &mismatch{is: fmt.Sprintf("%d have the name", usable), want: "one"}
	case object.Kind == platform.KindHosts:
		return problemOfHosts(matches, want)
	case object.Kind == platform.KindMachineType && want.size != nil:
		if is := sizeOf(object, want.size); is != *want.size {
			return &mismatch{is: is.String(), want: want.size.String()}
		}
	case object.Kind == platform.KindImage:
		if problem := problemOfImage(object, want); problem != nil {
			return problem
		}
	}
	if object.Architecture != "" && len(want.architectures) > 0 && !slices.Contains(want.architectures, object.Architecture) {
		return &mismatch{is: object.Architecture, want: strings.Join(want.architectures, ", ")}
	}
	return nil
}

// sizeOf returns the size of the object, with the wanted number of GPUs if the site does not tell it.
func sizeOf(object *platform.Object, wanted *size) size {
	is := size{object.CPUs, object.Memory, object.GPUs}
	if is.gpus == 0 {
		is.gpus = wanted.gpus
	}
	return is
}

// problemOfHosts returns what is wrong if hosts are smaller than the machine type. What inventories do not know is not compared.
func problemOfHosts(hosts []*platform.Object, want wanted) *mismatch {
	if want.size == nil {
		return nil
	}
	var (
		total, small int
		smallest     size
	)
	for _, group := range hosts {
		total += group.Count
		is := size{cpus: group.CPUs, memory: group.Memory}
		if is.cpus > 0 && is.cpus < want.size.cpus || is.memory > 0 && is.memory < want.size.memory {
			small += group.Count
			smallest = is
		}
	}
	if small == 0 {
		return nil
	}
	return &mismatch{is: fmt.Sprintf("%d of %d hosts have less, such as %s", small, total, smallest), want: "at least " + want.size.String()}
}

// problemOfImage returns what is wrong if the name of the image says that it is another one: another version of the same operating system,
// or another image of the CloudProfile. Images of other names are believed.
func problemOfImage(object *platform.Object, want wanted) *mismatch {
	if object.OS == "" || object.Version == "" || want.version == "" {
		return nil
	}
	same := object.OS == platform.EntryName(want.image)
	if !same && !slices.Contains(want.images, object.OS) || same && sameVersion(object.Version, want.version) {
		return nil
	}
	return &mismatch{is: fmt.Sprintf("%s %s (%s)", object.OS, object.Version, object.Name), want: want.image + " " + want.version}
}

// sameVersion reports whether a version is that of the CloudProfile, as far as the site tells it: 24.04 is 24.4.20250101.
func sameVersion(is, want string) bool {
	parts, wantedParts := strings.Split(is, "."), strings.Split(want, ".")
	for i, part := range parts {
		if i >= len(wantedParts) {
			return true
		}
		if number, ok := numberOf(part); !ok || strings.SplitN(wantedParts[i], "-", 2)[0] != number {
			return !ok
		}
	}
	return true
}

// unused adds what the site offers and the CloudProfile does not use. Lists that are empty in the CloudProfile do not count.
func (c *comparison) unused() {
	counts, listed := map[platform.ObjectKind]int{}, map[platform.ObjectKind]bool{}
	for i := range c.offer.Objects {
		if c.used[i] != (uses{}) {
			listed[c.offer.Objects[i].Kind] = true
		}
	}
	for i := range c.offer.Objects {
		object, used := &c.offer.Objects[i], c.used[i]
		if object.Unusable != "" || object.Deprecated != "" {
			continue
		}
		switch object.Kind {
		case platform.KindHosts:
			if used.byZone && used.byOther {
				continue
			}
		case platform.KindExternalNetwork, platform.KindLoadBalancerProvider:
			if used != (uses{}) || !listed[object.Kind] {
				continue
			}
		case platform.KindZone, platform.KindMachineType, platform.KindImage, platform.KindVolumeType:
			if used != (uses{}) {
				continue
			}
		default:
			continue
		}
		if counts[object.Kind]++; counts[object.Kind] <= maxUnused {
			c.found = append(c.found, Difference{Site: c.name, State: v1alpha1.DifferenceUnused, Kind: string(object.Kind), Name: object.Name,
				Is: describe(object)})
		}
	}
	for kind, count := range counts {
		if count > maxUnused {
			c.found = append(c.found, Difference{Site: c.name, State: v1alpha1.DifferenceUnused, Kind: string(kind),
				Name: fmt.Sprintf("%d others", count-maxUnused)})
		}
	}
}

// describe returns what an object is besides its name.
func describe(object *platform.Object) string {
	var parts []string
	if object.Count > 0 {
		parts = append(parts, fmt.Sprintf("%d hosts, %d free", object.Count, object.Free))
	}
	if object.CPUs > 0 {
		parts = append(parts, size{object.CPUs, object.Memory, object.GPUs}.String())
	}
	if object.OS != "" {
		parts = append(parts, strings.TrimSpace(object.OS+" "+object.Version))
	}
	if object.Architecture != "" {
		parts = append(parts, object.Architecture)
	}
	return strings.Join(parts, ", ")
}

// numberOf returns a number without leading zeros, and false if the text is not a number.
func numberOf(text string) (string, bool) {
	number, err := strconv.ParseUint(text, 10, 64)
	return strconv.FormatUint(number, 10), err == nil
}
