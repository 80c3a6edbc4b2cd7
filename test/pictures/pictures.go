// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import "context"

// picture is a picture of the terminal.
type picture struct {
	// name is the name of the file, without its extension.
	name string
	// before changes the landscape before. It may be nil.
	before func(context.Context, *lab) error
	// alone is true if the command starts what it needs itself, and draws on a terminal.
	alone bool
	// command is what a user types; without alone in a folder with cloudprofile.yaml, shoot.yaml and secret.yaml of a shoot that exists,
	// another.yaml, a shoot that does not, and seed.kubeconfig. The variable METRICS has the URL of the extension's metrics.
	command string
}

// pictures are the pictures in the order in which they are made.
var pictures = []picture{
	{
		name:    "hybridctl-preflight",
		command: "hybridctl preflight -f another.yaml -f cloudprofile.yaml -f secret.yaml",
	},
	{
		name:    "hybridctl-plan",
		command: "hybridctl plan -f another.yaml -f cloudprofile.yaml -f secret.yaml",
	},
	{
		name:    "hybridctl-discover",
		command: "hybridctl discover --against cloudprofile.yaml -f secret.yaml",
	},
	{
		name:    "hybridctl-status",
		before:  func(ctx context.Context, l *lab) error { return l.takeDownVCenter(ctx) },
		command: "hybridctl status --seed-kubeconfig seed.kubeconfig -n " + shootName + " --metrics-url $METRICS",
	},
	{
		name:    "demo",
		alone:   true,
		command: "make demo",
	},
}
