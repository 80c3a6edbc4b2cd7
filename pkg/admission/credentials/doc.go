// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package credentials finds the credentials of Shoots and the Shoots of credentials in the garden, and tells which of them a Shoot
// needs.
package credentials
