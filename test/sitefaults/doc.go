// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package sitefaults disturbs the sites of one shoot on OpenStack, vSphere and bare metal, and looks at what is told about them.
package sitefaults
