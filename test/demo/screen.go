// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"
)

// screen writes lines and, below them, a table that is drawn again when it changes. On a terminal the table stays at the bottom;
// elsewhere each change of it is printed.
type screen struct {
	mu       sync.Mutex
	out      *os.File
	terminal bool
	table    []string
	status   string
	drawn    int
}

func newScreen(out *os.File) *screen {
	return &screen{out: out, terminal: term.IsTerminal(int(out.Fd()))}
}

// print writes lines above the table.
func (s *screen) print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	_, _ = fmt.Fprintln(s.out, text)
	s.draw()
}

// show replaces the table and the line below it that says what is waited for. No rows remove it.
func (s *screen) show(rows []string, status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminal {
		s.erase()
		s.table, s.status = rows, status
		s.draw()
		return
	}
	if strings.Join(rows, "\n") != strings.Join(s.table, "\n") && len(rows) > 0 {
		_, _ = fmt.Fprintf(s.out, "    %s\n    %s\n", strings.Join(rows, "\n    "), status)
	}
	s.table = rows
}

// erase removes the table from a terminal.
func (s *screen) erase() {
	if s.drawn > 0 {
		_, _ = fmt.Fprintf(s.out, "\x1b[%dA\x1b[J", s.drawn)
		s.drawn = 0
	}
}

// draw writes the table to a terminal, cut to its width so that a row is one line.
func (s *screen) draw() {
	if !s.terminal || len(s.table) == 0 {
		return
	}
	width, height, err := term.GetSize(int(s.out.Fd()))
	if err != nil || width <= 0 {
		width, height = 80, 24
	}
	lines := s.table
	if s.status != "" {
		lines = append(append([]string{}, lines...), s.status)
	}
	if len(lines) >= height {
		lines = lines[:max(1, height-1)]
	}
	for _, line := range lines {
		_, _ = fmt.Fprintln(s.out, cut(line, width))
	}
	s.drawn = len(lines)
}

func cut(line string, width int) string {
	runes := []rune(line)
	return string(runes[:min(len(runes), width)])
}

// columns aligns the cells of rows.
func columns(rows [][]string) []string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	lines := make([]string, 0, len(rows))
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
			}
		}
		lines = append(lines, line.String())
	}
	return lines
}

// Write lets commands write their lines above the table.
func (s *screen) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		s.print("    " + strings.TrimRight(string(line), "\n"))
	}
	return len(p), nil
}

// last returns the table that is shown.
func (s *screen) last() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table
}
