// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package landscape starts what the project runs against and with on a developer's machine: etcd, kube-apiserver,
// machine-controller-manager, our driver and our extension, all of them real processes on loopback, and on demand also
// kube-controller-manager, kube-scheduler and gardener-resource-manager. Its sub-package openstack starts and inspects a real
// OpenStack, metal the inventory of bare-metal sites, vcenter a simulated vCenter; pods runs the pods of the seed.
//
// One kube-apiserver is the seed and the shoot: the machines and the nodes are in the same cluster.
package landscape
