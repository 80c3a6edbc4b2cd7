// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package isolation runs tests in namespaces of their own: their networks, ports, and processes are not those of others, and end with them.
package isolation
