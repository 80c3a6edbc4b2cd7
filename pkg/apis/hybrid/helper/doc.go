// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package helper has look-ups in documents of the provider API. They do no I/O and return nil for what is not there.
package helper
