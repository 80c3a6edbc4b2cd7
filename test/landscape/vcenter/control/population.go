// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package control

// PathPopulation takes a Population.
const PathPopulation = "/population"

// Population are virtual machines that are put into the inventory at once. They can be looked at, but neither run nor be changed:
// making thousands one after the other takes the simulator minutes.
type Population struct {
	// Folder is the managed object ID of their folder.
	Folder string
	// Template is the managed object ID of the virtual machine that they resemble.
	Template string
	// Prefix is what their names begin with; a number follows.
	Prefix string
	// Count is how many they are.
	Count int
	// ExtraConfig is that of each of them. Their UUIDs are those of machines of the shoot and site in it.
	ExtraConfig map[string]string
}
