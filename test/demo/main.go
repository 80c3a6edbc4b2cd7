// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Command demo shows the main job on a local landscape: an Infrastructure and a Worker of type hybrid become networks and
// servers in two projects of a real OpenStack, a pool is scaled and rolled, everything is deleted, and nothing is left.
//
// Environment: KEEP=1 leaves everything running at the end until the demo is interrupted; OPENRC=<file>,<file> uses two
// projects of a running OpenStack instead of the landscape's own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
)

func main() {
	output := flag.String("o", "text", "format of the result: text or json; with json everything else is written to standard error")
	keep := flag.Bool("keep", os.Getenv("KEEP") != "" && os.Getenv("KEEP") != "0", "leave everything running at the end until the demo is interrupted")
	kept := flag.String("kept", "", "with -keep: file that gets the exit code of the steps once everything is left running")
	flag.Parse()
	if *output != "text" && *output != "json" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	log.SetLogger(logr.Discard())

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(demonstrate(ctx, stop, *output == "json", *keep, *kept))
}

// demonstrate runs the demo and returns its exit code. The last line of the output says the result.
func demonstrate(ctx context.Context, stop func(), asJSON, keep bool, kept string) int {
	out := os.Stdout
	if asJSON {
		out = os.Stderr
	}
	screen := newScreen(out)
	unlock, err := lock()
	if err != nil {
		screen.print("demo: FAILED: " + err.Error())
		return 1
	}
	defer unlock()
	runner := &runner{screen: screen, start: time.Now()}
	d := &demo{screen: screen, keep: keep}

	err = runner.run(ctx, d.steps())
	if keep && ctx.Err() == nil && d.landscape != nil && d.landscape.Client != nil {
		runner.summary(err)
		d.printHowToLookAround()
		if kept != "" {
			err = errors.Join(err, os.WriteFile(kept, []byte(strconv.Itoa(exitCode(err, false))), 0o600))
		}
		<-ctx.Done()
		screen.print("")
	}
	interrupted := err != nil && ctx.Err() != nil
	stop() // from here on a second interrupt ends the process at once; what it started dies with it

	err = errors.Join(err, runner.run(context.Background(), d.cleanUp()))
	if asJSON {
		runner.printJSON(os.Stdout, err)
	} else {
		runner.summary(err)
	}
	return exitCode(err, interrupted)
}

func exitCode(err error, interrupted bool) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, openstack.ErrNotPossible):
		return 3
	case interrupted:
		return 130
	default:
		return 1
	}
}

// printHowToLookAround says where things are while the landscape is left running.
func (d *demo) printHowToLookAround() {
	d.screen.print(fmt.Sprintf(`
Everything is left running. To look around:
  export KUBECONFIG=%s     (kubectl -n %s get infrastructures,workers,machines; kubectl get nodes)
  . %s                     (openstack server list; the other site: %s)
  ls %s                    (logs)
To stop: kill %d (or Ctrl-C, if the demo runs in the foreground). This deletes the shoot's objects and stops what the demo started.`,
		d.landscape.Cluster.Kubeconfig, namespace, d.openrc(0), d.openrc(1), d.logs(), os.Getpid()))
}
