// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import (
	"context"
	"errors"
)

// quantityCreated is the time from the creation of a Shoot to gardenlet's word that it has succeeded, in seconds.
const quantityCreated = "created"

func measureGarden(context.Context, *Bed) (Measurement, error) {
	return Measurement{}, errors.New("a garden needs Linux")
}
