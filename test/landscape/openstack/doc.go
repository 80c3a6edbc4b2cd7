// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package openstack starts the landscape's OpenStack, reads its credentials and lists what is in its projects.
package openstack
