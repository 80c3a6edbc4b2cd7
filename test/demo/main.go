// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Command demo shows the main job on a local landscape: an Infrastructure, a ControlPlane and a Worker of type hybrid become one shoot
// on a real OpenStack, a simulated vCenter and bare metal, whose operators are real and whose hardware is simulated. The cloud
// controllers initialise the nodes of all sites. A pool that spans all of them is scaled and rolled, another is filled with hosts first
// and then with servers in the cloud, everything is deleted, and nothing is left. What the processes of the control plane have in memory
// is sampled every second.
//
// Environment: SITES=<name>,... uses only these sites: cloud (OpenStack), vc (vSphere), racks (bare metal with Metal3) and hall
// (bare metal with IronCore); or own (hosts with Debian, which are containers that boot), also with cloud. A site that this machine cannot
// run is left out. KEEP=1 leaves everything running at the end until the demo is interrupted; OPENRC=<file> uses a project of a running
// OpenStack instead of the landscape's own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func main() {
	output := flag.String("o", "text", "format of the result: text or json; with json everything else is written to standard error")
	keep := flag.Bool("keep", os.Getenv("KEEP") != "" && os.Getenv("KEEP") != "0",
		"leave everything running at the end until the demo is interrupted")
	names := flag.String("sites", os.Getenv("SITES"),
		"names of the sites, divided by commas: cloud, vc, racks, hall, or own, with or without cloud; the first four by default")
	kept := flag.String("kept", "", "with -keep: file that gets the exit code of the steps once everything is left running")
	flag.Parse()
	if *output != "text" && *output != "json" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	log.SetLogger(logr.Discard())

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(demonstrate(ctx, stop, options{asJSON: *output == "json", keep: *keep, kept: *kept, sites: *names}))
}

// options are the arguments.
type options struct {
	asJSON, keep bool
	kept, sites  string
}

// demonstrate runs the demo and returns its exit code. The last line of the output says the result.
func demonstrate(ctx context.Context, stop func(), o options) int {
	out := os.Stdout
	if o.asJSON {
		out = os.Stderr
	}
	screen := newScreen(out)
	d, err := newDemo(screen, o.keep, o.sites)
	if err != nil {
		screen.print("demo: FAILED: " + err.Error())
		return 2
	}
	unlock, err := lock()
	if err != nil {
		screen.print("demo: FAILED: " + err.Error())
		return 1
	}
	defer unlock()
	runner := &runner{screen: screen, start: time.Now()}

	err = runner.run(ctx, d.steps())
	if o.keep && ctx.Err() == nil && d.landscape != nil && d.landscape.Client != nil {
		d.printLeftOut()
		runner.summary(err)
		d.printHowToLookAround()
		if o.kept != "" {
			err = errors.Join(err, os.WriteFile(o.kept, []byte(strconv.Itoa(exitCode(err, false))), 0o600))
		}
		<-ctx.Done()
		screen.print("")
	}
	interrupted := err != nil && ctx.Err() != nil
	stop() // from here on a second interrupt ends the process at once; what it started dies with it

	err = errors.Join(err, runner.run(context.Background(), d.cleanUp()))
	if o.asJSON {
		runner.printJSON(os.Stdout, err)
	} else {
		d.printLeftOut()
		runner.summary(err)
	}
	return exitCode(err, interrupted)
}

func exitCode(err error, interrupted bool) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errNoSite):
		return 3
	case interrupted:
		return 130
	default:
		return 1
	}
}

// printLeftOut repeats at the end which sites are not in what was shown.
func (d *demo) printLeftOut() {
	for _, line := range d.leftOut {
		d.screen.print(line)
	}
}

// printHowToLookAround says where things are while the landscape is left running.
func (d *demo) printHowToLookAround() {
	var hints []string
	for _, s := range d.sites {
		hints = append(hints, "  "+s.hint())
	}
	d.screen.print(fmt.Sprintf(`
Everything is left running. To look around:
  export KUBECONFIG=%s     (kubectl -n %s get infrastructures,controlplanes,workers,machines,pods; kubectl get nodes)
%s
  ls %s                    (logs)
To stop: kill %d (or Ctrl-C, if the demo runs in the foreground). This deletes the shoot's objects and stops what the demo started.`,
		d.landscape.Cluster.Kubeconfig, namespace, strings.Join(hints, "\n"), d.logs(), os.Getpid()))
}
