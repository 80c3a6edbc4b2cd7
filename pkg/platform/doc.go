// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package platform has the small interfaces that a platform implements, one per consumer, and the classes of its errors.
//
// A platform is a folder below this one that holds everything special about it. The packages in registry/<binary> name
// the platforms that a binary links; nothing else names a platform. A method that only one platform needs is an optional interface.
package platform
