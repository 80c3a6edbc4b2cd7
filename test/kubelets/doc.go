// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package kubelets plays the kubelets of machines whose servers boot no operating system: once a machine's server is active
// it registers the machine's node and keeps it ready as long as the server stays active. It also does the one thing of
// kube-controller-manager that machine-controller-manager relies on: the node of a server that is not active any more becomes
// unknown.
//
// Where a real kube-controller-manager finds out which nodes do not report, kubelets can be cut off.
//
// On demand it also plays the pods that are bound to the nodes: they become ready once their volumes can be mounted, and the pods of
// CSI drivers register those with their nodes. It ends the pods of nodes that are gone, as pod-garbage-collector does.
package kubelets
