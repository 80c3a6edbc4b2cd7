// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Command bench measures what the project asks of a real OpenStack and of a simulated vCenter. It runs the product's own code
// where each request is counted, prints a table and keeps the requests of each figure, so that every value can be counted again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// errMissed means that a value is above its target.
var errMissed = errors.New("MISSED")

const cleanupTimeout = 5 * time.Minute

func main() {
	id := flag.String("id", "", "measure only the figures whose ID matches this pattern, such as vsphere-*")
	out := flag.String("o", "bench.json", "file that the results are written to")
	logDir := flag.String("log", "bench", "folder that the requests of each figure are written to")
	isSubject := flag.Bool(subjectFlag, false, "be measured: read orders from standard input")
	flag.Parse()
	logf.SetLogger(logr.Discard())

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *isSubject {
		if err := runSubject(ctx, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err := run(ctx, *id, *out, *logDir, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, id, out, logDir string, table, progress io.Writer) (err error) {
	selected, err := selectFigures(id)
	if err != nil {
		return err
	}
	bed := newBed(progress)
	defer func() {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		err = errors.Join(err, bed.close(cleanup), bed.peers.remove())
	}()

	results, err := measureAll(ctx, bed, selected, logDir)
	return errors.Join(err, printTable(table, results), writeResults(out, results))
}

// measureAll measures all figures, also after one failed: the results of the others are not lost. It stops when the context ends.
func measureAll(ctx context.Context, bed *Bed, selected []Figure, logDir string) ([]Result, error) {
	var (
		results []Result
		errs    []error
		missed  bool
	)
	for _, figure := range selected {
		if ctx.Err() != nil {
			errs = append(errs, ctx.Err())
			break
		}
		fmt.Fprintf(bed.progress, "> %s\n", figure.ID)
		result, err := measureOne(ctx, bed, figure, logDir)
		if err != nil {
			fmt.Fprintf(bed.progress, "  FAILED: %s\n", err)
			errs = append(errs, fmt.Errorf("%s: %w", figure.ID, err), bed.calm())
			result = failure(figure, err)
		}
		missed = missed || result.missed()
		results = append(results, result)
	}
	if missed {
		errs = append(errs, errMissed)
	}
	return results, errors.Join(errs...)
}

func measureOne(ctx context.Context, bed *Bed, figure Figure, logDir string) (Result, error) {
	measurement, err := figure.Measure(ctx, bed)
	if err != nil {
		return Result{}, err
	}
	return evaluate(figure, measurement, logDir)
}
