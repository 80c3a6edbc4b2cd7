// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package cinder serves CSI for the volumes of all OpenStack sites of a shoot. What is done with volumes is the work of
// cloud-provider-openstack's driver, used as a library. This package decides which site a request is for, opens sites when they
// are needed, and tells what can pass from what cannot.
package cinder
