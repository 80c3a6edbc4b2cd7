// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Command peers is a subject of the benchmark with the driver of machine-controller-manager-provider-vsphere in it. It is a module of its
// own, so that the driver is built with the dependencies that it was released with. It reads a job and then orders from standard input,
// and answers each with a report.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/gardener/machine-controller-manager-provider-vsphere/pkg/vsphere"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// peer is the module whose driver is in this program.
const peer = "github.com/gardener/machine-controller-manager-provider-vsphere"

// The numbers of calls and machines are those of the orders to our own driver. One caller makes the calls: a list of this driver fails if
// another caller deletes a machine meanwhile.
const (
	machinesOfCalls    = 100
	callersOfCalls     = 1
	callsPerMachine    = 5
	machinesOfCreation = 300
	callersOfCreation  = 50
)

// job, order and report are those of the benchmark.
type job struct {
	Classes []*machinev1alpha1.MachineClass `json:"classes"`
	Secret  *corev1.Secret                  `json:"secret"`
}

type order struct {
	Do         string `json:"do"`
	Machine    string `json:"machine"`
	ProviderID string `json:"providerID"`
}

type report struct {
	CPU        time.Duration `json:"cpu"`
	Machines   int           `json:"machines"`
	Goroutines int           `json:"goroutines"`
	ProviderID string        `json:"providerID,omitempty"`
	Subject    string        `json:"subject,omitempty"`
	Error      string        `json:"error,omitempty"`
}

func main() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	if err := run(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, in io.Reader, out io.Writer) error {
	decoder, encoder := json.NewDecoder(in), json.NewEncoder(out)
	s := &subject{driver: vsphere.NewVspherePlugin()}
	if err := decoder.Decode(&s.job); err != nil {
		return err
	}
	name, err := version()
	if err != nil {
		return err
	}
	if err := encoder.Encode(report{Subject: name}); err != nil {
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
		r, err := s.obey(ctx, o)
		r.CPU = cpuTime() - before
		if err != nil {
			r.Error = err.Error()
		}
		runtime.GC()
		r.Goroutines = runtime.NumGoroutine()
		if err := encoder.Encode(r); err != nil {
			return err
		}
	}
}

// version is the name of the peer and the version that this program was built with.
func version() (string, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", errors.New("the program does not know its modules")
	}
	for _, module := range info.Deps {
		if module.Path == peer {
			return path.Base(peer) + " " + module.Version, nil
		}
	}
	return "", fmt.Errorf("the program has no module %s", peer)
}

// subject is the peer's driver with a class of machines.
type subject struct {
	driver *vsphere.MachinePlugin
	job    job
}

func (s *subject) obey(ctx context.Context, o order) (report, error) {
	switch o.Do {
	case "make":
		id, err := s.create(ctx, o.Machine)
		return report{Machines: 1, ProviderID: id}, err
	case "look":
		return report{Machines: 1}, s.look(ctx, o.Machine, o.ProviderID)
	case "delete":
		return report{Machines: 1}, s.remove(ctx, o.Machine, o.ProviderID)
	case "list":
		count, err := s.list(ctx)
		return report{Machines: count}, err
	case "calls":
		err := together(callersOfCalls, machinesOfCalls, func(i int) error { return s.live(ctx, s.name("calls", i)) })
		return report{Machines: machinesOfCalls * callsPerMachine}, err
	case "create":
		err := together(callersOfCreation, machinesOfCreation, func(i int) error {
			_, err := s.create(ctx, s.name("create", i))
			return err
		})
		return report{Machines: machinesOfCreation}, err
	default:
		return report{}, fmt.Errorf("order %q is not known", o.Do)
	}
}

func (s *subject) name(prefix string, i int) string {
	return fmt.Sprintf("%s-%s-%d", s.job.Classes[0].Namespace, prefix, i)
}

// create looks for the machine, as machine-controller-manager does, and creates it.
func (s *subject) create(ctx context.Context, name string) (string, error) {
	err := s.look(ctx, name, "")
	if found, ok := status.FromError(err); err == nil || !ok || found.Code() != codes.NotFound {
		return "", fmt.Errorf("machine %s before it is created: %w", name, err)
	}
	return s.createOnly(ctx, name)
}

func (s *subject) createOnly(ctx context.Context, name string) (string, error) {
	class, secret := s.arguments()
	created,
		err := s.driver.CreateMachine(ctx, &driver.CreateMachineRequest{Machine: machine(class, name, ""), MachineClass: class, Secret: secret})
	if err != nil {
		return "", err
	}
	return created.ProviderID, nil
}

func (s *subject) look(ctx context.Context, name, id string) error {
	class, secret := s.arguments()
	_, err := s.driver.GetMachineStatus(ctx,
		&driver.GetMachineStatusRequest{Machine: machine(class, name, id), MachineClass: class, Secret: secret})
	return err
}

func (s *subject) remove(ctx context.Context, name, id string) error {
	class, secret := s.arguments()
	_, err := s.driver.DeleteMachine(ctx, &driver.DeleteMachineRequest{Machine: machine(class, name, id), MachineClass: class, Secret: secret})
	return err
}

func (s *subject) list(ctx context.Context) (int, error) {
	class, secret := s.arguments()
	listed, err := s.driver.ListMachines(ctx, &driver.ListMachinesRequest{MachineClass: class, Secret: secret})
	if err != nil {
		return 0, err
	}
	return len(listed.MachineList), nil
}

// live makes the calls of the life of one machine.
func (s *subject) live(ctx context.Context, name string) error {
	id, err := s.createOnly(ctx, name)
	if err != nil {
		return err
	}
	for range 2 {
		if err := s.look(ctx, name, id); err != nil {
			return err
		}
	}
	if _, err := s.list(ctx); err != nil {
		return err
	}
	return s.remove(ctx, name, id)
}

// arguments are what machine-controller-manager gives the driver: copies, which the driver may change.
func (s *subject) arguments() (*machinev1alpha1.MachineClass, *corev1.Secret) {
	return s.job.Classes[0].DeepCopy(), s.job.Secret.DeepCopy()
}

func machine(class *machinev1alpha1.MachineClass, name, id string) *machinev1alpha1.Machine {
	return &machinev1alpha1.Machine{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: class.Namespace},
		Spec:       machinev1alpha1.MachineSpec{ProviderID: id},
	}
}

// together does a job for several machines by several callers, each of which ends with its first error.
func together(callers, machines int, do func(int) error) error {
	var (
		group sync.WaitGroup
		errs  = make([]error, callers)
		next  = make(chan int, machines)
	)
	for i := range machines {
		next <- i
	}
	close(next)
	for caller := range callers {
		group.Go(func() {
			for i := range next {
				if errs[caller] = do(i); errs[caller] != nil {
					return
				}
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// cpuTime is the processor time of this process.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
