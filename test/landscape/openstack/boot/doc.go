// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package boot gives the servers of an OpenStack hardware that boots. Nova's driver of the landscape asks for it at a socket: a machine has
// the config drive that Nova wrote, and its card is at the bridge of its port's network, which Neutron's agents connect and filter.
package boot
