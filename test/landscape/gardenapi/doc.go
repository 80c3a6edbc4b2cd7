// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package gardenapi runs the API of a garden, which is a real etcd, kube-apiserver and gardener-apiserver with its admission plugins,
// and the admission component as a process beside it.
package gardenapi
