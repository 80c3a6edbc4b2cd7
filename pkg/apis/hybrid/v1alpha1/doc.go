// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the provider API of provider-hybrid: the configuration that operators and shoot owners write into
// CloudProfiles and Shoots, and the documents that the extension writes into Infrastructures, Workers and MachineClasses.
// There is one version and no internal one: documents are decoded strictly, defaulted and validated as they are.
//
// +k8s:deepcopy-gen=package
// +groupName=hybrid.provider.extensions.gardener.cloud
package v1alpha1
