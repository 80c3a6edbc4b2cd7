// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package countproxy

import (
	"fmt"
	"net/http"
	"regexp"
	"time"
)

// Action is what a fault does.
type Action string

const (
	// ActionDelay waits before the request goes on.
	ActionDelay Action = "delay"
	// ActionStatus answers with a status.
	ActionStatus Action = "status"
	// ActionReset resets the connection.
	ActionReset Action = "reset"
	// ActionCall calls a function and then resets the connection.
	ActionCall Action = "call"
	// ActionHang does not answer until the client gives up.
	ActionHang Action = "hang"
	// ActionAnswer lets a function answer.
	ActionAnswer Action = "answer"
)

// Fault is a rule for requests. Empty matchers match everything. All matching delays add up; of the other actions the first
// one that matches and is not used up acts.
//
// Go's HTTP client silently repeats idempotent requests whose reused connection was reset: expect one request more then, not
// an error.
type Fault struct {
	// Name is the name of the fault in the log.
	Name string
	// Service, Method, Client and Kind match exactly.
	Service, Method, Client string
	Kind                    Kind
	// Path and Query are regular expressions for the path and the raw query.
	Path, Query string
	// FirstUse matches only the first request of a connection, to stand for handshakes.
	FirstUse bool
	// Skip lets so many matching requests pass first.
	Skip int
	// Times limits how often the fault acts; zero is no limit.
	Times int

	// Action is what the fault does.
	Action Action
	// Delay is the time that ActionDelay waits.
	Delay time.Duration
	// Status, Header and Body are the answer of ActionStatus.
	Status int
	Header http.Header
	Body   string
	// Call is what ActionCall calls with the request, whose answer is held back meanwhile.
	Call func(Request)
	// Answer is what ActionAnswer answers with.
	Answer http.HandlerFunc
	// After lets the service do its work before ActionStatus, ActionReset, ActionCall or ActionHang: only the answer is lost.
	After bool
}

type rule struct {
	Fault

	path, query    *regexp.Regexp
	matched, acted int
}

func newRule(fault Fault) (*rule, error) {
	switch fault.Action {
	case ActionDelay, ActionReset, ActionHang:
	case ActionStatus:
		if fault.Status < 100 || fault.Status > 599 {
			return nil, fmt.Errorf("fault %q: status %d is out of range", fault.Name, fault.Status)
		}
	case ActionCall:
		if fault.Call == nil {
			return nil, fmt.Errorf("fault %q: there is nothing to call", fault.Name)
		}
	case ActionAnswer:
		if fault.Answer == nil {
			return nil, fmt.Errorf("fault %q: there is no answer", fault.Name)
		}
	default:
		return nil, fmt.Errorf("fault %q: unknown action %q", fault.Name, fault.Action)
	}
	path, err := regexp.Compile(fault.Path)
	if err != nil {
		return nil, fmt.Errorf("fault %q: path: %w", fault.Name, err)
	}
	query, err := regexp.Compile(fault.Query)
	if err != nil {
		return nil, fmt.Errorf("fault %q: query: %w", fault.Name, err)
	}
	return &rule{Fault: fault, path: path, query: query}, nil
}

func (r *rule) matches(entry *Request) bool {
	return (r.Service == "" || r.Service == entry.Service) &&
		(r.Method == "" || r.Method == entry.Method) &&
		(r.Client == "" || r.Client == entry.Client) &&
		(r.Kind == "" || r.Kind == entry.Kind) &&
		(!r.FirstUse || entry.NewConnection) &&
		r.path.MatchString(entry.Path) &&
		r.query.MatchString(entry.Query)
}

// use counts a match and reports whether the rule acts.
func (r *rule) use() bool {
	r.matched++
	if r.matched <= r.Skip || r.Times > 0 && r.acted >= r.Times {
		return false
	}
	r.acted++
	return true
}

// SetFaults replaces all faults and zeroes their counters.
func (p *Proxy) SetFaults(faults ...Fault) error {
	rules := make([]*rule, 0, len(faults))
	for _, fault := range faults {
		r, err := newRule(fault)
		if err != nil {
			return err
		}
		rules = append(rules, r)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.rules = rules
	return nil
}

// Acted returns how often the faults with the name acted.
func (p *Proxy) Acted(name string) int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	acted := 0
	for _, r := range p.rules {
		if r.Name == name {
			acted += r.acted
		}
	}
	return acted
}

// decide is called with the mutex held. It returns how long the request waits, and the rule that answers it, if any.
func (p *Proxy) decide(entry *Request) (time.Duration, *rule) {
	var (
		delay  time.Duration
		answer *rule
	)
	for _, r := range p.rules {
		if !r.matches(entry) || (r.Action != ActionDelay && answer != nil) || !r.use() {
			continue
		}
		if r.Action == ActionDelay {
			delay += r.Delay
			continue
		}
		answer = r
		entry.Fault = r.Name
	}
	return delay, answer
}
