// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/machine"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	platforms "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/driver"
	vsphereclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// subjectFlag makes this program a subject.
const subjectFlag = "subject"

// job is what a subject works on.
type job struct {
	Classes []*machinev1alpha1.MachineClass `json:"classes"`
	Secret  *corev1.Secret                  `json:"secret"`
}

// order is what a subject does next.
type order struct {
	// Do is the kind of order.
	Do string `json:"do"`
	// Machine is the name of the machine, for orders about one.
	Machine string `json:"machine,omitempty"`
	// ProviderID is the ID of the machine, for orders about one that exists.
	ProviderID string `json:"providerID,omitempty"`
}

// The kinds of orders.
const (
	// doList lists the machines of all classes once, as machine-controller-manager does to find orphans.
	doList = "list"
	// doCalls creates, looks at, lists and deletes machines.
	doCalls = "calls"
	// doCreate creates many machines at the same time.
	doCreate = "create"
	// doMake looks for a machine that does not exist and creates it. Only peers get it, as they get the orders below: what our driver does
	// with one machine is measured in this process.
	doMake = "make"
	// doLook looks at a machine by its ID.
	doLook = "look"
	// doDelete deletes a machine.
	doDelete = "delete"
)

// report is what a subject says about itself after an order.
type report struct {
	// CPU is what the order took.
	CPU time.Duration `json:"cpu"`
	// Machines is how many machines were listed, or how many calls were made.
	Machines int `json:"machines"`
	// Connections is the number of established connections, which are counted from outside.
	Connections int `json:"-"`
	// ProviderID is the ID of the machine, for an order that made one.
	ProviderID string `json:"providerID,omitempty"`
	// Subject is the name and version of a peer, in its first report.
	Subject string `json:"subject,omitempty"`
	// Goroutines is the number of goroutines after a garbage collection.
	Goroutines int `json:"goroutines"`
	// Error says what went wrong.
	Error string `json:"error,omitempty"`
}

// subject is a process with a driver in it and nothing else, so that what it uses can be measured.
type subject struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	encoder *json.Encoder
	decoder *json.Decoder
	// first is what it reported when it was ready.
	first report
}

// newSubject starts a subject with our driver that is logged in.
func newSubject(ctx context.Context, j job, progress io.Writer) (*subject, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return startSubject(exec.CommandContext(ctx, path, "-"+subjectFlag), j, progress) // #nosec G204 -- this program
}

// startSubject starts a subject and waits until it is ready.
func startSubject(cmd *exec.Cmd, j job, progress io.Writer) (*subject, error) {
	cmd.Stderr = progress
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &subject{cmd: cmd, stdin: stdin, encoder: json.NewEncoder(stdin), decoder: json.NewDecoder(stdout)}
	if err := s.encoder.Encode(j); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	if s.first, err = s.answer(); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// do gives an order and waits until it is done.
func (s *subject) do(o order) (report, error) {
	if err := s.encoder.Encode(o); err != nil {
		return report{}, err
	}
	return s.answer()
}

func (s *subject) answer() (report, error) {
	var r report
	if err := s.decoder.Decode(&r); err != nil {
		return r, fmt.Errorf("the subject does not answer: %w", err)
	}
	if r.Error != "" {
		return r, errors.New(r.Error)
	}
	var err error
	r.Connections, err = connections(s.cmd.Process.Pid)
	return r, err
}

// stop ends the subject, which holds its connections until then.
func (s *subject) stop() error {
	return errors.Join(s.stdin.Close(), s.cmd.Wait())
}

// runSubject is the subject's side: it logs in and then does what it is told until its input ends.
func runSubject(ctx context.Context, in io.Reader, out io.Writer) error {
	decoder, encoder := json.NewDecoder(in), json.NewEncoder(out)
	var j job
	if err := decoder.Decode(&j); err != nil {
		return err
	}
	d := machine.NewDriver(platforms.Machines(), machine.DefaultTimeouts())
	if err := encoder.Encode(reportOf(0, logIn(ctx, j))); err != nil {
		return err
	}
	for {
		var o order
		if err := decoder.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		runtime.GC()
		before := cpuTime()
		count, err := obey(ctx, o, d, j)
		used := cpuTime() - before
		r := reportOf(count, err)
		r.CPU = used
		if err := encoder.Encode(r); err != nil {
			return err
		}
	}
}

func obey(ctx context.Context, o order, d driver.Driver, j job) (int, error) {
	switch o.Do {
	case doList:
		return listAll(ctx, d, j)
	case doCalls:
		return makeCalls(ctx, d, j)
	case doCreate:
		return createMachines(ctx, d, j)
	default:
		return 0, fmt.Errorf("order %q is not known", o.Do)
	}
}

// logIn makes the session warm: on OpenStack it asks for a token and for the versions of the services.
func logIn(ctx context.Context, j job) error {
	spec, err := codec.Decode[v1alpha1.MachineProviderSpec](&j.Classes[0].ProviderSpec)
	if err != nil {
		return err
	}
	credentials := site.CredentialsOf(spec.Site, j.Secret.Data)
	if spec.VSphere != nil {
		_, err := vsphereclient.Shared().Get(ctx, spec.Site, spec.VSphere.Connection, credentials)
		return err
	}
	session, err := client.Shared().Get(ctx, spec.Site, spec.OpenStack.Connection, credentials)
	if err != nil {
		return err
	}
	_, computeErr := session.Compute(ctx)
	_, networkErr := session.Network(ctx)
	return errors.Join(computeErr, networkErr)
}

func reportOf(count int, err error) report {
	runtime.GC()
	r := report{Machines: count, Goroutines: runtime.NumGoroutine()}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

// cpuTime is the processor time of this process.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
