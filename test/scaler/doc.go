// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package scaler scales the pools of a shoot as Gardener's cluster-autoscaler does, for pods that are only imagined.
//
// It sees what the cluster-autoscaler sees and nothing else: the machine deployments in the status of the Worker with their
// minima, maxima and priorities, the node templates of their machine classes, and the error codes of machines. It knows neither
// sites nor platforms. As the priority expander does, it raises the machine deployment with the highest priority that has room
// for the pods; machines that cannot be created because their site is exhausted are taken back, and the deployment is left alone
// for a while.
//
// It does not schedule: pods are equal, and which nodes nothing needs any more is said to it. It is there because Gardener's
// cluster-autoscaler is no module that the Go module proxy has.
package scaler
