// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package pods plays the node of the seed on which the control plane of a shoot runs: containers of Deployments that a program is
// known for run as processes, with the arguments, environment, Secrets and ConfigMaps that their pods say, and all others are only
// reported to run. So tests and the demo run exactly what charts say.
//
// As all processes share one network and one file system, declared ports are replaced by free ones, and paths at which volumes are
// mounted by the folders that hold them, in arguments, environment variables and text files.
package pods
