// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// storageClassesValues are the values of the chart of storage classes.
type storageClassesValues struct {
	StorageClasses  []storageClass  `json:"storageClasses"`
	SnapshotClasses []snapshotClass `json:"snapshotClasses"`
}

type storageClass struct {
	platform.StorageClass

	// Default is true for the default storage class.
	Default bool `json:"default"`
}

type snapshotClass struct {
	platform.SnapshotClass

	// Default is true for the default snapshot class of its driver.
	Default bool `json:"default"`
}

func (p *plan) storageClassesValues() *storageClassesValues {
	values := &storageClassesValues{StorageClasses: []storageClass{}, SnapshotClasses: []snapshotClass{}}
	for _, s := range p.storages {
		for _, class := range s.Classes {
			values.StorageClasses = append(values.StorageClasses, storageClass{StorageClass: class})
		}
		hasDefault := false
		for _, class := range s.SnapshotClasses {
			isDefault := class.Site == p.defaultSite && !hasDefault
			hasDefault = hasDefault || isDefault
			values.SnapshotClasses = append(values.SnapshotClasses, snapshotClass{SnapshotClass: class, Default: isDefault})
		}
	}
	if class := p.defaultClass(values.StorageClasses); class != nil {
		class.Default = true
	}
	return values
}

// defaultClass returns the default class of the default site, which defaults to its first class, nil if it has none.
func (p *plan) defaultClass(classes []storageClass) *storageClass {
	var first *storageClass
	for i := range classes {
		class := &classes[i]
		if class.Site != p.defaultSite || class.NeverDefault {
			continue
		}
		if class.SiteDefault {
			return class
		}
		if first == nil {
			first = class
		}
	}
	return first
}
