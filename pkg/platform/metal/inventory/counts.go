// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// Obstacle is why a host cannot be claimed, in the terms of the inventory.
type Obstacle string

// ObstacleTaken is the obstacle of hosts in use.
const ObstacleTaken Obstacle = "taken"

// State returns the state of a host with the obstacle.
func (o Obstacle) State() State {
	switch o {
	case "":
		return Free
	case ObstacleTaken:
		return Taken
	default:
		return Unready
	}
}

// Counts is how many hosts match a selection, and how many of them have each obstacle.
type Counts struct {
	Total, Matching, Free int
	Obstacles             map[Obstacle]int
}

// Exhausted returns the error that no host is free. what is the inventory's term for hosts, and order is the order of the obstacles in the
// message. Free hosts count as taken, because others are claiming them.
func (c Counts) Exhausted(what string, order []Obstacle) error {
	text := fmt.Sprintf("%d of %d %s match, 0 are free", c.Matching, c.Total, what)
	var details []string
	for _, o := range order {
		number := c.Obstacles[o]
		if o == ObstacleTaken {
			number += c.Free
		}
		if number > 0 {
			details = append(details, fmt.Sprintf("%d %s", number, o))
		}
	}
	if len(details) > 0 {
		text += " (" + strings.Join(details, ", ") + ")"
	}
	return platform.NewError(platform.ClassExhausted, "%s", text)
}
