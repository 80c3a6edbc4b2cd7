// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package sitehealth tells how the sites of shoots are: in one condition for each site on the Infrastructure, and, the site's name
// first, in the conditions of the Infrastructure that Gardener's care controller copies to the Shoot.
package sitehealth
