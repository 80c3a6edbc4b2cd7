// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package validation checks documents of the provider API, after they were decoded and defaulted, and shoots' Secrets. Its
// functions do no I/O, accept nil and return the field and the reason of each mistake.
package validation
