// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package skip skips specs and says why, which Ginkgo does not do in its short report.
package skip

import (
	"fmt"
	"os"

	"github.com/onsi/ginkgo/v2"
)

// Because skips the current spec, or all of them in a BeforeSuite. The reason is in the output of hack/testtotals.
func Because(reason string) {
	fmt.Fprintf(os.Stdout, "\n[SKIPPED] %s\n", reason)
	ginkgo.Skip(reason, 1)
}
