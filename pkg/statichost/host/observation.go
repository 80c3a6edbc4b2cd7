// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
)

// State is how far a task is.
type State string

const (
	// StateNone means that the task was not started since it can have an effect.
	StateNone State = "none"
	// StateRunning means that the unit of the task runs.
	StateRunning State = "running"
	// StateDone means that the task has succeeded.
	StateDone State = "done"
	// StateEnded means that the user data has ended with an exit code.
	StateEnded State = "ended"
	// StateFailed means that a step of the task has failed.
	StateFailed State = "failed"
)

// Progress is how far a task is.
type Progress struct {
	// State is how far the task is.
	State State
	// Step is the step that failed.
	Step string
	// Path is the first path that is not as in the baseline, if the step is a comparison that knows it.
	Path string
	// Value is the hash of the baseline that is done, the boot in which the release was done, or the hash of the user data that ended.
	Value string
	// ExitCode is that of the user data that ended.
	ExitCode int
}

// Observation is what a host says.
type Observation struct {
	// Facts are what the host is.
	Facts v1alpha1.Facts
	// Missing are tools that the host does not have.
	Missing []string
	// ClockOffset is how far the clock of the host is ahead.
	ClockOffset time.Duration
	// HasBaseline says whether the host has a baseline or a part of one, and Claim whose it is.
	HasBaseline bool
	Claim       string
	// Tasks are how far tasks are.
	Tasks map[Task]Progress
}

const (
	header = "static-host 1"
	// unknown stands for what a machine can have written in the place of a claim or a step. A release overwrites it, or fails.
	unknown    = "Unknown"
	maxPath    = 200
	maxList    = 64
	sectorsGiB = 1 << 21
)

var (
	word       = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+~:@/!-]{0,63}$`)
	identifier = regexp.MustCompile(`^[0-9a-f]{32}$`)
	uuid       = regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)
	hash       = regexp.MustCompile(`^[0-9a-f]{64}$`)
	stepName   = regexp.MustCompile(`^[A-Z][A-Za-z]{0,31}$`)

	architectures = map[string]string{"x86_64": "amd64", "aarch64": "arm64"}
)

// parse reads an answer to a question between start and end. Everything that is not as it should be is an error without its text.
func parse(answer []byte, start, end time.Time) (*Observation, error) {
	lines := strings.Split(strings.TrimSuffix(string(answer), "\n"), "\n")
	// What the user's shell runs at its start, such as ~/.bashrc, may say something before.
	lines = lines[max(0, slices.Index(lines, header)):]
	if len(lines) < 2 || lines[0] != header || lines[len(lines)-1] != "end" {
		return nil, fmt.Errorf("%w: the answer is not complete", ErrAnswer)
	}
	o := &Observation{Tasks: map[Task]Progress{}}
	for _, line := range lines[1 : len(lines)-1] {
		key, value, _ := strings.Cut(line, " ")
		if !o.set(key, strings.TrimSpace(value), start, end) {
			if !word.MatchString(key) {
				key = "?"
			}
			return nil, fmt.Errorf("%w: %s is not understood", ErrAnswer, key)
		}
	}
	f := o.Facts
	if f.Architecture == "" || f.CPUs == 0 || f.MemoryMiB == 0 || f.MachineID == "" || f.BootID == "" || len(o.Tasks) != 4 {
		return nil, fmt.Errorf("%w: something is not said", ErrAnswer)
	}
	return o, nil
}

// set reports whether the host can say this.
func (o *Observation) set(key, value string, start, end time.Time) bool {
	f := &o.Facts
	switch key {
	case "architecture":
		f.Architecture = cmp.Or(architectures[value], value)
		return word.MatchString(value)
	case "cpus":
		return number(value, 1<<16, &f.CPUs)
	case "memory":
		ok := number(value, 1<<40, &f.MemoryMiB)
		f.MemoryMiB >>= 10
		return ok
	case "os":
		return optional(word, value, &f.OSRelease.ID)
	case "version":
		return optional(word, value, &f.OSRelease.VersionID)
	case "kernel":
		return optional(word, value, &f.Kernel)
	case "machine-id":
		f.MachineID = value
		return identifier.MatchString(value)
	case "boot-id":
		f.BootID = value
		return uuid.MatchString(value)
	case "uuid":
		if uuid.MatchString(value) { // some firmware says something else
			f.SystemUUID = value
		}
		return true
	case "clock":
		var seconds int64
		ok := number(value, 1<<40, &seconds)
		o.ClockOffset = offset(time.Unix(seconds, 0), start, end)
		return ok
	case "systemd":
		return optional(word, value, &f.Systemd)
	case "containerd":
		return optional(word, value, &f.Containerd)
	case "cgroup":
		f.Cgroup = "v1"
		if value == "cgroup2fs" {
			f.Cgroup = "v2"
		}
		return true
	case "missing":
		o.Missing = strings.Fields(value)
		return len(o.Missing) <= maxList && all(word, o.Missing)
	case "address":
		address, err := netip.ParseAddr(value)
		f.Addresses = append(f.Addresses, address.String())
		return err == nil && address.Zone() == "" && len(f.Addresses) <= maxList
	case "disk":
		name, size, _ := strings.Cut(value, " ")
		var sectors int64
		ok := number(size, 1<<50, &sectors)
		f.Disks = append(f.Disks, v1alpha1.Disk{Name: name, SizeGiB: sectors / sectorsGiB})
		return ok && word.MatchString(name) && len(f.Disks) <= maxList
	case "claim":
		o.HasBaseline = true
		if !optional(hash, value, &o.Claim) {
			o.Claim = unknown
		}
		return true
	case string(TaskBaseline), string(TaskProvision), string(TaskRelease), string(TaskProof):
		progress, ok := parseProgress(value)
		if !ok {
			progress = Progress{State: StateFailed, Step: unknown}
		}
		o.Tasks[Task(key)] = progress
		return true
	default:
		return false
	}
}

func parseProgress(text string) (Progress, bool) {
	state, rest, _ := strings.Cut(text, " ")
	p := Progress{State: State(state)}
	switch p.State {
	case StateNone, StateRunning:
		return p, rest == ""
	case StateDone:
		p.Value = rest
		return p, rest == "" || hash.MatchString(rest) || uuid.MatchString(rest)
	case StateEnded:
		code, value, _ := strings.Cut(rest, " ")
		parsed, err := strconv.ParseUint(code, 10, 8)
		p.ExitCode, p.Value = int(parsed), value
		return p, err == nil && hash.MatchString(value)
	case StateFailed:
		step, path, _ := strings.Cut(rest, " ")
		p.Step, p.Path = step, printable(path)
		return p, stepName.MatchString(step)
	default:
		return p, false
	}
}

// printable returns a path of a host as something that can be shown.
func printable(path string) string {
	path = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, path)
	return path[:min(len(path), maxPath)]
}

// offset returns how far the clock is ahead of ours, which said start before and end after.
func offset(clock, start, end time.Time) time.Duration {
	switch {
	case clock.Before(start.Truncate(time.Second)):
		return clock.Sub(start)
	case clock.After(end):
		return clock.Sub(end)
	default:
		return 0
	}
}

func number(text string, maximum uint64, result *int64) bool {
	parsed, err := strconv.ParseUint(text, 10, 63)
	*result = int64(parsed)
	return err == nil && parsed <= maximum
}

func optional(pattern *regexp.Regexp, text string, result *string) bool {
	*result = text
	return text == "" || pattern.MatchString(text)
}

func all(pattern *regexp.Regexp, texts []string) bool {
	for _, text := range texts {
		if !pattern.MatchString(text) {
			return false
		}
	}
	return true
}
