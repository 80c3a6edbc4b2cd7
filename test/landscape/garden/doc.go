// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package garden runs a real Gardener as processes of this machine: a virtual garden (kube-apiserver, gardener-apiserver,
// gardener-controller-manager and gardener-scheduler), a seed (another kube-apiserver) and a gardenlet, all unmodified. What gardenlet
// deploys in the seed runs too: the extension from its ControllerRegistration, and the control planes of shoots with their
// kube-apiserver, kube-controller-manager, kube-scheduler, gardener-resource-manager, machine-controller-manager and cloud controllers.
//
// Sub-packages play what is not there: kubelet the node of the seed, machines what runs in the machines of shoots, and played the
// operators of others.
//
// All is in a network namespace of its own, which is gone with this process. It needs root and iproute2.
package garden
