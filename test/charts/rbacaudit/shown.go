// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package rbacaudit

import (
	"slices"
)

// Suite is the folder of a suite that shows that permissions are used which the life of a shoot in test/e2e does not need. It says so
// itself: it fails if Missing is not empty.
type Suite string

// The suites, and what only happens there.
const (
	// Pools removes zones and pools, changes images, keeps zones whose image is missing, and has a machine-controller-manager that is stuck.
	Pools Suite = "test/integration/shoot"
	// Moves restores a Worker in another seed.
	Moves Suite = "test/integration/threeplatforms"
	// Partitions cuts sites off.
	Partitions Suite = "test/integration/partition"
	// Repairs has Secrets of the extension that somebody else changed, and a ControlPlane that cannot be decoded any more when it is deleted.
	Repairs Suite = "test/integration/controlplane"
	// Charts runs the extension as its chart says, with the backups of a control plane that moved, and the exposure of a self-hosted shoot.
	Charts Suite = "test/charts"
	// Webhooks has etcds with volumes that the Seed configures.
	Webhooks Suite = "test/integration/webhooks"
	// Reviews has bindings of all kinds, also some that the cache of the admission component does not have, and an old certificate of it.
	Reviews Suite = "test/integration/admission"
)

const (
	ofExtension = " of extensions.gardener.cloud:provider-hybrid"
	ofAdmission = " of extensions.gardener.cloud:admission-hybrid"
)

// shown are the permissions that suites show to be used, as Permission.String tells them.
var shown = map[Suite][]string{
	Pools: {
		"delete machineclasses.machine.sapcloud.io" + ofExtension,
		"delete machinedeployments.machine.sapcloud.io" + ofExtension,
		"list pods" + ofExtension,
		"watch pods" + ofExtension,
		"delete pods" + ofExtension,
	},
	Moves: {
		"create machines.machine.sapcloud.io" + ofExtension,
		"create machinesets.machine.sapcloud.io" + ofExtension,
	},
	Partitions: {
		"patch machinesets.machine.sapcloud.io" + ofExtension,
	},
	Repairs: {
		"get configmaps" + ofExtension,
		"update secrets" + ofExtension,
	},
	Charts: {
		"get backupentries.extensions.gardener.cloud" + ofExtension,
		"patch selfhostedshootexposures.extensions.gardener.cloud" + ofExtension,
		"patch selfhostedshootexposures/status.extensions.gardener.cloud" + ofExtension,
	},
	Webhooks: {
		"get namespaces" + ofExtension,
		"list persistentvolumeclaims" + ofExtension,
	},
	Reviews: {
		"get secretbindings.core.gardener.cloud" + ofAdmission,
		"get credentialsbindings.security.gardener.cloud" + ofAdmission,
		"get internalsecrets.core.gardener.cloud" + ofAdmission,
		"delete secrets of gardener-extension-admission-hybrid",
	},
}

// ShownBy is the suite that shows that a permission is used, empty if none does.
func ShownBy(p Permission) Suite {
	for suite, texts := range shown {
		if slices.Contains(texts, p.String()) {
			return suite
		}
	}
	return ""
}

// Missing are the permissions that a suite shows to be used and that are unused nevertheless.
func (s Suite) Missing(unused []Permission) []Permission {
	return slices.DeleteFunc(slices.Clone(unused), func(p Permission) bool { return !slices.Contains(shown[s], p.String()) })
}
