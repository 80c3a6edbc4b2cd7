// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package boot gives the hosts of an inventory hardware that boots. What the operators say that they did is done: an image is on the disk
// of a host that is provisioned, with the user data beside it, the machine is on while the operator says so, and the disk is wiped when the
// host was cleaned.
package boot
