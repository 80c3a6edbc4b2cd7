// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package toyapi is what the provider API has of the toy platform: its blocks, their scheme and their defaults. Install makes the
// documents of the provider API have the blocks, next to those of the real platforms.
//
// +k8s:deepcopy-gen=package
// +groupName=toy.hybrid.provider.extensions.gardener.cloud
package toyapi
