// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package scaler scales the pools of a shoot as Gardener's cluster-autoscaler does, for pods that are only imagined.
//
// It sees what the cluster-autoscaler sees and nothing else: the machine deployments in the status of the Worker with their minima, maxima,
// priorities and annotations, the node templates of their machine classes, the error codes of machines, and nodes. It knows neither sites
// nor platforms. In each loop, in this order, it
//
//  1. removes machines whose node has not registered for too long,
//  2. does nothing else while too many nodes are unready,
//  3. removes machines that could not be created because their site is exhausted, and backs their deployment off,
//  4. raises the machine deployment with the highest priority that has room for pods,
//  5. removes nodes that have not been needed for long enough.
//
// docs/development/cluster-autoscaler.md has the rules and their sources. It does not schedule: pods are equal, stay on the oldest nodes,
// and leave a node at once when it becomes unready. It exists because the Go module proxy does not have the cluster-autoscaler.
package scaler
