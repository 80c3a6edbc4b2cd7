// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package client holds the authenticated sessions to OpenStack sites that all parts of the platform share, and decides the
// class of every error that an OpenStack API returns.
package client
