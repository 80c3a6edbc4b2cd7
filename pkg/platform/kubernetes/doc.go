// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package kubernetes connects to Kubernetes APIs that sites have, and decides the class of every error that they return.
package kubernetes
