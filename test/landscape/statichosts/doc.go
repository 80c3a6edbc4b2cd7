// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package statichosts has hosts that somebody installed with Debian, and that are reached by SSH. They are containers of systemd-nspawn:
// systemd is their first process, and they have an SSH server with keys of its own, containerd, a network card at a bridge, control
// groups of version 2, a machine ID, and a disk of limited size, which is in memory. They reboot, and get another boot ID.
//
// Kernel, kernel modules, sysctls other than those of the network, and clock are those of this machine; SetClock shifts what programs see.
// Nothing of it outlives the process that made it. It needs root, and what hack/landscape/statichosts/build.sh builds.
package statichosts
