// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Poll calls look at once and then after each interval until it reports true or the time is over, and returns what it reported last.
// A request in flight is not canceled when the time is over. Errors are classified.
func Poll(ctx context.Context, interval, duration time.Duration, look func() (bool, error)) (bool, error) {
	end, done := time.Now().Add(duration), false
	err := wait.PollUntilContextCancel(ctx, interval, true, func(context.Context) (bool, error) {
		var err error
		done, err = look()
		return done || time.Now().After(end), err
	})
	return done, Classify(err)
}
