// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package kubelets plays the kubelets of machines whose servers boot no operating system: once a machine's server is active
// it registers the machine's node and keeps it ready as long as the server stays active. It also does the one thing of
// kube-controller-manager that machine-controller-manager relies on: the node of a server that is not active any more becomes
// unknown.
package kubelets
