// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// ProviderType is the type of CloudProfiles, Shoots and extension objects, and the provider of machine classes.
const ProviderType = "hybrid"

// ExtensionName is the name of the extension.
const ExtensionName = "provider-hybrid"
