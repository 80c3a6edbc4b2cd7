// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package app has the commands of hybridctl, each in a file of its own.
//
// A command is made by a function newXCommand(o *streamsAndInputs) *cobra.Command, which newCommand lists. The function adds the flags that
// the command takes with o.inputs.addFlags and o.output.addFlags. RunE reads what the user gives with o.inputs.load and prints a report, a
// kind of the provider API, with o.output.print. It returns errFindings if there is something to do or to know, and another error if it
// could not look. It changes nothing: clients of o.inputs refuse to write.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// Exit codes, as of kubectl diff.
const (
	exitFine     = 0
	exitFindings = 1
	exitFailed   = 2
)

const (
	commandName = "hybridctl"
	// pluginName is the name of the executable as a plugin of kubectl, and pluginDisplayName how users call it.
	pluginName        = "kubectl-hybrid"
	pluginDisplayName = "kubectl hybrid"
)

// errFindings means that the command has found something, and has printed it.
var errFindings = errors.New("there are findings")

// Streams are the standard streams of the command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// streamsAndInputs is what the commands have in common.
type streamsAndInputs struct {
	Streams
	inputs inputs
	output output
}

// Run runs the command with the arguments, of which the first is the name of the executable, until the context is done. It returns the
// exit code.
func Run(ctx context.Context, arguments []string, streams Streams) int {
	// Libraries would log between the lines of the output.
	klog.SetLogger(logr.Discard())
	logf.SetLogger(logr.Discard())

	command := newCommand(arguments[0], streams)
	command.SetArgs(arguments[1:])
	switch err := command.ExecuteContext(ctx); {
	case err == nil:
		return exitFine
	case errors.Is(err, errFindings):
		return exitFindings
	default:
		fmt.Fprintf(streams.Err, "error: %s\n", err)
		return exitFailed
	}
}

func newCommand(executable string, streams Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   commandName,
		Short: "Shows what a shoot needs, changes and has at its sites",
		Long: "Shows what a shoot of provider-hybrid needs, changes and has at its sites. It changes nothing.\n\n" +
			"Exit codes: 0 if there is nothing to report, 1 if there is, 2 if it is not known.",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	if strings.HasPrefix(filepath.Base(executable), pluginName) {
		root.Use = pluginName
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: pluginDisplayName}
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	for _, newSubcommand := range []func(*streamsAndInputs) *cobra.Command{
		newStatusCommand,
		newPreflightCommand,
		newPlanCommand,
		newDiscoverCommand,
		newVersionCommand,
	} {
		root.AddCommand(newSubcommand(&streamsAndInputs{Streams: streams, inputs: inputs{streams: streams}, output: output{out: streams.Out}}))
	}
	return root
}

func newVersionCommand(o *streamsAndInputs) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Prints the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			info := version.Get()
			_, err := fmt.Fprintf(o.Out, "%s %s (commit %s, %s, %s)\n", commandName, info.GitVersion, info.GitCommit, info.GoVersion, info.Platform)
			return err
		},
	}
}
