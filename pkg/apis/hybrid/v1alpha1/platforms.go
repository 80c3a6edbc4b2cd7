// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// Blocks are those of platforms that a type has no field for, which are platforms that only tests know. They are not part of the documents
// of this version: who registers their types reads and writes them, with codec.Extend.
type Blocks map[Platform]runtime.Object

func (b Blocks) others() Blocks { return b }

// union is a pointer to a type with a block for each platform. A platform of this API has a field with its name.
type union interface{ others() Blocks }

// AllPlatforms returns all platforms of this API.
func AllPlatforms() []Platform {
	return []Platform{PlatformOpenStack, PlatformVSphere, PlatformMetal}
}

// Platform returns the platform whose block is set, and false unless exactly one is.
func (s *CloudProfileSite) Platform() (Platform, bool) { return platformOf(s) }

// Endpoint returns the address of the site's API, empty if the site has no platform.
func (s *CloudProfileSite) Endpoint() string {
	if profile, ok := blockWith[interface{ Endpoint() string }](s); ok {
		return profile.Endpoint()
	}
	return ""
}

// Scope returns the fields, by their paths below the site, that say where the objects of shoots are: none is found elsewhere. The address
// is not among them, because another address may lead to the same objects.
func (s *CloudProfileSite) Scope() map[string]string { return scopeOf(s) }

// Scope returns what Scope of the site of the CloudProfile was when the objects of the shoot were created.
func (s *SiteState) Scope() map[string]string { return scopeOf(s) }

func scopeOf(object union) map[string]string {
	if block, ok := blockWith[interface{ Scope() map[string]string }](object); ok {
		return block.Scope()
	}
	return nil
}

// Platform returns the platform whose block is set, and false unless exactly one is.
func (s *SiteState) Platform() (Platform, bool) { return platformOf(s) }

// Platform returns the platform whose block is set, and false unless exactly one is.
func (s *MachineProviderSpec) Platform() (Platform, bool) { return platformOf(s) }

// Platform returns the platform whose block is set, and false unless exactly one is.
func (s *CloudControllerSite) Platform() (Platform, bool) { return platformOf(s) }

// HasZones reports whether the site has at least one zone.
func (s *CloudControllerSite) HasZones() bool {
	block, ok := blockWith[interface{ HasZones() bool }](s)
	return ok && block.HasZones()
}

// block is one that is set.
type block struct {
	platform Platform
	value    any
}

// blocksOf returns the blocks that are set in the object.
func blocksOf(object union) []block {
	var (
		value  = reflect.ValueOf(object).Elem()
		blocks []block
	)
	for _, platform := range AllPlatforms() {
		field := fieldOf(value, platform)
		if field.IsValid() && !field.IsNil() {
			blocks = append(blocks, block{platform, field.Interface()})
		}
	}
	others := object.others()
	for _, platform := range slices.Sorted(maps.Keys(others)) {
		blocks = append(blocks, block{platform, others[platform]})
	}
	return blocks
}

// setBlock sets an empty block of the platform in an object without blocks, if it has a field for it.
func setBlock(object union, platform Platform) {
	if len(blocksOf(object)) > 0 {
		return
	}
	field := fieldOf(reflect.ValueOf(object).Elem(), platform)
	if field.IsValid() {
		field.Set(reflect.New(field.Type().Elem()))
	}
}

// fieldOf returns the field for the block of a platform, an invalid one if there is none.
func fieldOf(value reflect.Value, platform Platform) reflect.Value {
	return value.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, string(platform)) })
}

// blockWith returns the first block of the object that has the methods of T.
func blockWith[T any](object union) (T, bool) {
	for _, b := range blocksOf(object) {
		if value, ok := b.value.(T); ok {
			return value, true
		}
	}
	return *new(T), false
}

// PlatformsOf returns the platforms whose blocks are set in a type with a block for each platform.
func PlatformsOf(object union) []Platform {
	var platforms []Platform
	for _, b := range blocksOf(object) {
		platforms = append(platforms, b.platform)
	}
	return platforms
}

func platformOf(object union) (Platform, bool) {
	platforms := PlatformsOf(object)
	if len(platforms) != 1 {
		return "", false
	}
	return platforms[0], true
}
