// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package netns makes network namespaces without names: they are gone with the processes in them and with this one, so that nothing
// is left to clean. It needs root and iproute2.
package netns
