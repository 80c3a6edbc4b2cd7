// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the API of static hosts: hosts that already have an operating system, and that are reached by SSH.
// It is both the inventory of a bare-metal site and the contract between those who claim hosts and the operator that configures them.
// +k8s:deepcopy-gen=package
// +groupName=static.hybrid.provider.extensions.gardener.cloud
package v1alpha1
