// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
)

// table is what happened, one row for each phase that was run.
type table struct {
	mutex sync.Mutex
	rows  []string
}

func (t *table) undisturbed(p *phase, extension, driver int, took time.Duration) {
	t.add(fmt.Sprintf("%-21s  %-43s writes: extension %d, driver %d; %.1f s", p.name, "-", extension, driver, took.Seconds()))
}

func (t *table) killed(p *phase, k kill, after countproxy.Request, took time.Duration) {
	t.add(fmt.Sprintf("%-21s  %-43s %2d: %s %s, %d; %.1f s", p.name, k.process, k.write, after.Service, after.Pattern, after.ServiceStatus,
		took.Seconds()))
}

func (t *table) add(row string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.rows = append(t.rows, row)
	GinkgoWriter.Println(row)
}

// String returns the rows in the order of phases and kills.
func (t *table) String() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return strings.Join(slices.Sorted(slices.Values(t.rows)), "\n")
}
