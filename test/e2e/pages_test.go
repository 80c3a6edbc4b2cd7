// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// block is a block of a page below a heading.
type block struct {
	heading, language, text string
}

var pieces = regexp.MustCompile("(?ms)^#+ ([^\n]+)$|^( *)```(\\w+)\n(.*?)^ *```$")

// readPage reads the blocks of a page in docs/ in their order, without the indentation of the lists that they are in.
func readPage(path string) ([]block, error) {
	content, err := os.ReadFile(filepath.Join(landscape.Root(), "docs", path)) // #nosec G304 -- a file of the project
	if err != nil {
		return nil, err
	}
	var blocks []block
	heading := ""
	for _, match := range pieces.FindAllStringSubmatch(string(content), -1) {
		if match[1] != "" {
			heading = match[1]
			continue
		}
		var text strings.Builder
		for line := range strings.Lines(match[4]) {
			text.WriteString(strings.TrimPrefix(line, match[2]))
		}
		blocks = append(blocks, block{heading, match[3], text.String()})
	}
	return blocks, nil
}

// command is a command of a console with what it has to write.
type command struct {
	text, output string
}

// commands are those of a block: all of a script, or each of a console.
func (b block) commands() []command {
	if b.language != "console" {
		return []command{{text: b.text}}
	}
	var result []command
	for part := range strings.SplitSeq(strings.TrimPrefix(b.text, "$ "), "\n$ ") {
		text, output, _ := strings.Cut(part, "\n")
		result = append(result, command{text, output})
	}
	return result
}

// differs says which line of what a page expects is missing in an output, in the order of the page. `…` stands for anything, and the
// width of columns does not matter.
func (c command) differs(output string) error {
	lines := strings.Split(output, "\n")
	for wanted := range strings.SplitSeq(strings.TrimSpace(c.output), "\n") {
		pattern := regexp.QuoteMeta(strings.Join(strings.Fields(wanted), " "))
		expression, err := regexp.Compile("^" + strings.ReplaceAll(pattern, "…", ".*") + "$")
		if err != nil {
			return err
		}
		for {
			if len(lines) == 0 {
				return fmt.Errorf("%s: the page says %q, but the output is:\n%s", c.text, wanted, output)
			}
			line := strings.Join(strings.Fields(lines[0]), " ")
			lines = lines[1:]
			if expression.MatchString(line) {
				break
			}
		}
	}
	return nil
}
