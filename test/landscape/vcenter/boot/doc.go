// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package boot gives the virtual machines of a vCenter hardware that boots. What is powered on there boots with the guestinfo of its extra
// configuration, in the network that its card is in. What is powered off, reset or deleted there loses its power, and its disk when it is
// deleted. The vCenter knows of a guest what its tools report, and that it has switched itself off. What cannot boot is powered off.
package boot
