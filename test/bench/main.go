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

// errMissed means that the measurement is complete and a value is above its target.
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
		err = errors.Join(err, bed.close(cleanup))
	}()

	var (
		results []Result
		missed  bool
	)
	for _, figure := range selected {
		fmt.Fprintf(progress, "> %s\n", figure.ID)
		measurement, err := figure.Measure(ctx, bed)
		if err != nil {
			return fmt.Errorf("%s: %w", figure.ID, err)
		}
		result, err := evaluate(figure, measurement, logDir)
		if err != nil {
			return fmt.Errorf("%s: %w", figure.ID, err)
		}
		missed = missed || result.missed()
		results = append(results, result)
	}

	if err := errors.Join(printTable(table, results), writeResults(out, results)); err != nil {
		return err
	}
	if missed {
		return errMissed
	}
	return nil
}
