// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package partitions cuts sites of shoots off and counts what is lost: machine-controller-manager, the driver, the extension, the node
// lifecycle controller of kube-controller-manager, and the operators of bare-metal hosts are real, the vCenter is simulated, and kubelets
// are played. Each shoot has proxies of its own between its processes and the APIs of its sites.
package partitions
