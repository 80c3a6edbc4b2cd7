// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Command pictures runs the commands of hybridctl against a local landscape and writes a picture of the terminal for each of them: a shoot
// on a real OpenStack, a simulated vCenter, and inventories whose operators are real. It needs freeze.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// timeout limits how long everything may take.
	timeout = 45 * time.Minute
	// maxColumns is the maximum number of characters in a line of a picture.
	maxColumns = "170"
)

func main() {
	folder := flag.String("o", "docs/images", "folder of the pictures")
	only := flag.String("only", "", "name of the one picture to make; all by default")
	keep := flag.Bool("keep", false, "leave everything running at the end until interrupted")
	flag.Parse()
	log.SetLogger(logr.Discard())

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := run(ctx, *folder, *only, *keep, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "pictures: FAILED:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, folder, only string, keep bool, progress io.Writer) (err error) {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "pictures-")
	if err != nil {
		return err
	}
	l := &lab{dir: dir, progress: progress}
	defer func() { err = errors.Join(err, l.stop(context.WithoutCancel(ctx)), os.RemoveAll(dir)) }()
	started := false
	for _, p := range pictures {
		if only != "" && p.name != only {
			continue
		}
		if !p.alone && !started {
			if err := l.start(ctx); err != nil {
				return err
			}
			started = true
		}
		if p.before != nil {
			if err := p.before(ctx, l); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
		fmt.Fprintf(progress, "> %s\n", p.name)
		if err := p.make(ctx, l, filepath.Join(folder, p.name+".svg")); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if keep && started {
		fmt.Fprintf(progress, "> Everything is left running: cd %s; PATH=%s:$PATH METRICS=%s\n", l.work(), l.binaries, l.metrics)
		<-ctx.Done()
	}
	return nil
}

// make runs the command and writes the picture. Exit codes other than that of a failure are part of what the command says.
func (p *picture) make(ctx context.Context, l *lab, path string) error {
	args := []string{"sh", "-c", p.command}
	if p.alone {
		args = []string{"script", "--quiet", "--return", "--command", "stty cols " + maxColumns + " rows 60; " + p.command, os.DevNull}
	}
	command := exec.CommandContext(ctx, args[0], args[1:]...) // #nosec G204 -- commands of this package
	if !p.alone {
		command.Dir = l.work()
	}
	command.Env = append(os.Environ(), "PATH="+l.binaries+string(filepath.ListSeparator)+os.Getenv("PATH"), "CLICOLOR_FORCE=1", "NO_COLOR=",
		"METRICS="+l.metrics)
	if p.alone {
		command.Env = append(command.Env, "MAKELEVEL=", "MAKEFLAGS=") // as typed by a user
	}
	command.Stderr = l.progress
	output, err := command.Output()
	if failed := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &failed) || failed.ExitCode() > 1) {
		return fmt.Errorf("%s: %w", p.command, err)
	}
	if p.alone {
		output = settle(output)
	}
	if home, err := os.UserHomeDir(); err == nil {
		output = bytes.ReplaceAll(output, []byte(home+"/"), []byte("~/"))
	}
	text := filepath.Join(l.dir, p.name+".ansi")
	if err := os.WriteFile(text, append([]byte("\x1b[1;36m$\x1b[0m "+p.command+"\n\n"), output...), 0o600); err != nil {
		return err
	}
	freeze := exec.CommandContext(ctx, "freeze", text, "--language", "ansi", "--window", "--padding", "20,30", "--border.radius", "8",
		"--wrap", maxColumns, "--font.family", "monospace", "--output", path) // #nosec G204 -- constant arguments
	freeze.Stdout, freeze.Stderr = l.progress, l.progress
	return freeze.Run()
}

// erasure is how a table is removed from the terminal: the cursor goes up as many lines as it has, and what is below is erased.
var erasure = regexp.MustCompile(`\x1b\[(\d+)A\x1b\[J`)

// settle returns the lines that a terminal has at the end, and of the tables that were removed from it the longest one.
func settle(output []byte) []byte {
	output = bytes.ReplaceAll(output, []byte("\r"), nil)
	height := func(erased []int) int {
		n, _ := strconv.Atoi(string(output[erased[2]:erased[3]])) // digits
		return n
	}
	all := erasure.FindAllSubmatchIndex(output, -1)
	kept, longest := -1, 0
	for i, erased := range all {
		if n := height(erased); n > longest {
			kept, longest = i, n
		}
	}
	var lines [][]byte
	begin := 0
	for i, erased := range all {
		lines = append(lines, bytes.SplitAfter(output[begin:erased[0]], []byte("\n"))...)
		lines = lines[:len(lines)-1] // what follows the last line break is empty
		if i != kept {
			lines = lines[:max(0, len(lines)-height(erased))]
		}
		begin = erased[1]
	}
	return append(bytes.Join(lines, nil), output[begin:]...)
}
