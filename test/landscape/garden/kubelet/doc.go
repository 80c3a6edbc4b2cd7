// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package kubelet plays the node of a seed: it binds all pods to itself, runs the containers whose images it knows a program for as
// processes, and only reports that all others run. Each pod with a process has a network namespace and an address, each process a root
// folder that has nothing of this machine but what programs are linked with. It mounts the pod's volumes where the container says, among
// them the token of its service account, and runs as the user that the pod says.
//
// It also plays kube-proxy in user space, and the DNS by a file with the names of Services. Liveness probes are not played.
package kubelet
