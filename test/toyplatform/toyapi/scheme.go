// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package toyapi

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// Platform is the toy platform.
const Platform v1alpha1.Platform = "toy"

const (
	// DefaultPlace is the place of a site that names none.
	DefaultPlace = "floor"
	// MediumMemory keeps volumes in memory.
	MediumMemory = "Memory"
	// MediumPaper keeps volumes on paper.
	MediumPaper = "Paper"
	// GroupTogether puts the machines of a pool together.
	GroupTogether = "Together"
	// GroupApart keeps the machines of a pool apart.
	GroupApart = "Apart"
)

var (
	// SchemeGroupVersion is the group and version of the blocks.
	SchemeGroupVersion = schema.GroupVersion{Group: "toy." + v1alpha1.GroupName, Version: "v1alpha1"}
	// Scheme has the blocks and their defaults. The kind of a block is the name of the type of the provider API that it is a block of; types
	// that are not here have no block of the platform.
	Scheme = runtime.NewScheme()
)

func init() {
	utilruntime.Must(AddToScheme(Scheme))
}

// AddToScheme adds the blocks and their defaults to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	for kind, block := range map[string]runtime.Object{
		"CloudControllerSite": &CloudController{},
		"CloudProfileSite":    &Profile{},
		"InfrastructureSite":  &Infrastructure{},
		"MachineProviderSpec": &MachineSpec{},
		"SiteMachineImage":    &Image{},
		"SiteMachineType":     &MachineType{},
		"SiteState":           &State{},
		"SiteStatus":          &Status{},
		"SiteZone":            &Zone{},
		"StorageClass":        &StorageClass{},
		"WorkerSite":          &Worker{},
	} {
		scheme.AddKnownTypeWithName(SchemeGroupVersion.WithKind(kind), block)
	}
	scheme.AddTypeDefaultingFunc(&MachineSpec{}, func(obj any) { setConnectionDefaults(&obj.(*MachineSpec).Connection) })
	scheme.AddTypeDefaultingFunc(&Profile{}, func(obj any) { setConnectionDefaults(&obj.(*Profile).Connection) })
	scheme.AddTypeDefaultingFunc(&State{}, func(obj any) { setConnectionDefaults(&obj.(*State).Connection) })
	scheme.AddTypeDefaultingFunc(&StorageClass{}, func(obj any) {
		if class := obj.(*StorageClass); class.Medium == "" {
			class.Medium = MediumMemory
		}
	})
	return nil
}

func setConnectionDefaults(connection *Connection) {
	if connection.Place == "" {
		connection.Place = DefaultPlace
	}
}

// Blocks returns the blocks of a type of the provider API that has the block.
func Blocks(block runtime.Object) v1alpha1.Blocks {
	return v1alpha1.Blocks{Platform: block}
}

// Of returns the platform's block, nil if it is not set. The block must be a *T.
func Of[T any](blocks v1alpha1.Blocks) *T {
	block, _ := any(blocks[Platform]).(*T)
	return block
}
