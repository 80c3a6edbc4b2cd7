// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package hardware has machines that boot: a kernel, systemd, what the user data says, and a network card. They are processes of User
// Mode Linux, which needs no virtualization: a kernel of their own, one CPU, a disk that is a copy-on-write of an image with Debian and
// the programs of a node, and a second disk with the user data or, for virtual machines, a folder in place of the hypervisor. Cards are
// taps at a bridge in a network namespace.
//
// The hardware is bounded: so many machines run at the same time in all processes of the user together. Nothing of it outlives the
// process that made it, other than files in its folder. It needs root, and what hack/landscape/machines/build.sh builds.
package hardware
