// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package workerplan plans what the next reconciliation of a shoot does to its pools: it lets gardenlet's code write the Worker, and the
// Worker controller reconcile it, in a copy of what the seed has. Sites are read, and what is written to them is the matter of the sessions
// of the given platforms.
package workerplan
