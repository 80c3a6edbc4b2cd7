// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// The formats of the output.
const (
	formatTable = "table"
	formatWide  = "wide"
	formatJSON  = "json"
	formatYAML  = "yaml"
)

var formats = []string{formatTable, formatWide, formatJSON, formatYAML}

// output prints reports.
type output struct {
	out    io.Writer
	format string
}

func (o *output) addFlags(command *cobra.Command) {
	command.Flags().StringVarP(&o.format, "output", "o", formatTable, "Format of the output, one of "+strings.Join(formats, ", ")+".")
	_ = command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	validated(command, func() error {
		if !slices.Contains(formats, o.format) {
			return fmt.Errorf("--output is %q, must be one of %s", o.format, strings.Join(formats, ", "))
		}
		return nil
	})
}

// validated makes the command validate flags before it runs.
func validated(command *cobra.Command, validate func() error) {
	before := command.PreRunE
	command.PreRunE = func(cmd *cobra.Command, arguments []string) error {
		if before != nil {
			if err := before(cmd, arguments); err != nil {
				return err
			}
		}
		return validate()
	}
}

// print prints the report, a kind of the provider API with its apiVersion and kind set, as JSON or YAML, or what text writes.
func (o *output) print(report runtime.Object, text func(*screen)) error {
	var content []byte
	var err error
	switch o.format {
	case formatJSON:
		content, err = json.MarshalIndent(report, "", "  ")
		content = append(content, '\n')
	case formatYAML:
		content, err = yaml.Marshal(report)
	default:
		s := o.screen()
		text(s)
		content = []byte(s.String())
	}
	if err != nil {
		return err
	}
	_, err = o.out.Write(content)
	return err
}

// screen returns an empty screen with the colors and the width that the output has.
func (o *output) screen() *screen {
	return &screen{wide: o.format == formatWide, colors: hasColors(o.out)}
}

// hasColors returns whether the output has colors: on terminals, and if CLICOLOR_FORCE is set, but never if NO_COLOR is set.
func hasColors(out io.Writer) bool {
	forced := os.Getenv("CLICOLOR_FORCE")
	return os.Getenv("NO_COLOR") == "" && (forced != "" && forced != "0" || isTerminal(out) && os.Getenv("TERM") != "dumb")
}

// isTerminal returns whether a user sees what is written.
func isTerminal(writer io.Writer) bool {
	file, ok := writer.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// style is the meaning of a text, which is its color on terminals.
type style string

const (
	plain   style = ""
	heading style = "1"
	faint   style = "90"
	bad     style = "31"
	good    style = "32"
	unsure  style = "33"
)

// cell is a text in a table. It may come from a site.
type cell struct {
	text  string
	style style
}

// screen collects text. All of its methods make texts printable, because these may come from sites.
type screen struct {
	strings.Builder

	wide, colors bool
}

// line writes a line with the number of spaces before it.
func (s *screen) line(indentation int, cells ...cell) {
	s.WriteString(strings.Repeat(" ", indentation))
	for i, c := range cells {
		if i > 0 {
			s.WriteByte(' ')
		}
		s.styled(platform.PrintableMessage(c.text), c.style)
	}
	s.WriteByte('\n')
}

// section writes what write writes after an empty line and the title, and nothing if that is nothing.
func (s *screen) section(title string, write func(*screen)) {
	part := &screen{wide: s.wide, colors: s.colors}
	write(part)
	if part.Len() == 0 {
		return
	}
	s.WriteByte('\n')
	if title != "" {
		s.line(0, cell{title, heading})
	}
	s.WriteString(part.String())
}

// table is a table. The cells of a row may be fewer than columns.
type table struct {
	// columns are the titles. Those that begin with "+" are only printed in the wide format.
	columns []string
	rows    [][]cell
}

func (t *table) add(cells ...cell) {
	t.rows = append(t.rows, cells)
}

// table writes a table, and nothing if it has no rows.
func (s *screen) table(t *table) {
	if len(t.rows) == 0 {
		return
	}
	header := make([]cell, len(t.columns))
	for i, title := range t.columns {
		header[i] = cell{strings.TrimPrefix(title, "+"), heading}
	}
	var lines [][]cell
	widths := make([]int, len(t.columns))
	for number, row := range slices.Insert(slices.Clone(t.rows), 0, header) {
		var line []cell
		for i, c := range row {
			if strings.HasPrefix(t.columns[i], "+") && !s.wide {
				continue
			}
			c.text = platform.PrintableMessage(c.text)
			if c.text == "" && number > 0 {
				c = cell{text: "-"}
			}
			line = append(line, c)
			widths[len(line)-1] = max(widths[len(line)-1], utf8.RuneCountInString(c.text))
		}
		lines = append(lines, line)
	}
	for _, line := range lines {
		for i, c := range line {
			s.styled(c.text, c.style)
			if i < len(line)-1 {
				s.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text)+3))
			}
		}
		s.WriteByte('\n')
	}
}

func (s *screen) styled(text string, style style) {
	if s.colors && style != plain {
		text = "\x1b[" + string(style) + "m" + text + "\x1b[0m"
	}
	s.WriteString(text)
}
