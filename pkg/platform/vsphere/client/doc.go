// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package client holds the sessions to vSphere sites that all parts of the platform share, and decides the class of every error
// that a vCenter returns.
package client
