// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/test/documents"
)

// command is a command of a console with what it has to write.
type command struct {
	text, output string
}

// commandsOf are those of a block: all of a script, or each of a console.
func commandsOf(b documents.Block) []command {
	if b.Language != "console" {
		return []command{{text: b.Text}}
	}
	var result []command
	for part := range strings.SplitSeq(strings.TrimPrefix(b.Text, "$ "), "\n$ ") {
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
