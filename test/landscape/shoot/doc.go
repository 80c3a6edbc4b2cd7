// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package shoot runs a shoot in the landscape: the objects of example/ on projects of OpenStack, or on one and a vCenter, with all
// processes that work on them.
package shoot
