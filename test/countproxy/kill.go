// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package countproxy

import (
	"errors"
	"fmt"
	"time"
)

// Process is what AfterEachWrite kills.
type Process interface {
	Kill()
	Start() error
}

// AfterEachWrite does something as it is, and then once more for each write of the client that this took: when the service has answered
// the kth of them, and before anybody gets the answer, the process is killed and started again. do is told k, 0 for the first time. The
// lines tell what the process was killed after. An empty client is any.
func (p *Proxy) AfterEachWrite(client string, process Process, do func(k int) error) (lines []string, err error) {
	const name = "kill"
	for k, writes := 0, 0; k <= writes; k++ {
		restarted := make(chan error, 1)
		var after Request
		if k > 0 {
			if err := p.SetFaults(Fault{
				Name: name, Client: client, Kind: KindWrite, Skip: k - 1, Times: 1, Action: ActionCall, After: true,
				Call: func(r Request) {
					after = r
					process.Kill()
					restarted <- process.Start()
				},
			}); err != nil {
				return lines, err
			}
		}
		label, start := fmt.Sprintf("%s %d %d", name, k, time.Now().UnixNano()), time.Now()
		p.SetLabel(label)
		err := do(k)
		p.SetLabel("")
		acted := p.Acted(name)
		if err := errors.Join(err, p.SetFaults()); err != nil {
			return lines, fmt.Errorf("killed after write %d: %w", k, err)
		}
		if k == 0 {
			for _, r := range p.Requests(label) {
				if r.Kind == KindWrite && (client == "" || r.Client == client) {
					writes++
				}
			}
			if writes == 0 {
				return lines, errors.New("nothing is written")
			}
			lines = append(lines, fmt.Sprintf("%d writes; %.1f s", writes, time.Since(start).Seconds()))
			continue
		}
		if acted != 1 {
			return lines, fmt.Errorf("there were no %d writes", k)
		}
		if err := <-restarted; err != nil {
			return lines, err
		}
		lines = append(lines,
			fmt.Sprintf("%d: %s %s, %d; %.1f s", k, after.Service, after.Pattern, after.ServiceStatus, time.Since(start).Seconds()))
	}
	return lines, nil
}
