// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Command prose writes the prose of source files, each to a text file of the same name in a folder, where a prose linter
// reads it: comments of Go and YAML, and the string literals of Go that are sentences. Each line stays on its line.
package main

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

func main() {
	out := flag.String("out", "", "folder to write to")
	flag.Parse()
	if *out == "" {
		log.Fatal("-out must be set")
	}
	for _, file := range flag.Args() {
		if err := extract(file, filepath.Join(*out, file+".txt")); err != nil {
			log.Fatalf("%s: %v", file, err)
		}
	}
}

func extract(file, target string) error {
	content, err := os.ReadFile(file) // #nosec G304 -- a file of the project
	if err != nil {
		return err
	}
	var prose []string
	if filepath.Ext(file) == ".go" {
		prose, err = ofGo(content)
	} else {
		prose = ofYAML(string(content))
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o750); err != nil {
		return err
	}
	return os.WriteFile(target, []byte(strings.Join(prose, "\n")+"\n"), 0o600)
}

// directive is a comment for a tool, or the license header.
var directive = regexp.MustCompile(`^(//[a-z]+:|// \+|// SPDX-|// #nosec|//nolint)`)

func ofGo(content []byte) ([]string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", content, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	prose := make([]string, strings.Count(string(content), "\n")+1)
	add := func(pos token.Pos, text string) {
		at := files.Position(pos).Line - 1
		for i, line := range strings.Split(text, "\n") {
			prose[at+i] += line + " "
		}
	}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if !directive.MatchString(comment.Text) {
				add(comment.Pos(), strings.TrimLeft(comment.Text, "/* \t"))
			}
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			node.Tag = nil
		case *ast.BasicLit:
			if text, err := strconv.Unquote(node.Value); err == nil && strings.Contains(text, " ") {
				if strings.HasPrefix(node.Value, `"`) {
					text = strings.ReplaceAll(text, "\n", " ")
				}
				add(node.Pos(), text+".")
			}
		}
		return true
	})
	return prose, nil
}

// comment is one of YAML. What follows the number sign is its text.
var comment = regexp.MustCompile(`(?:^|\s)#+\s+(\S.*)$`)

func ofYAML(content string) []string {
	lines := strings.Split(content, "\n")
	prose := make([]string, len(lines))
	for i, line := range lines {
		if found := comment.FindStringSubmatch(line); found != nil && !strings.HasPrefix(found[1], "SPDX-") {
			prose[i] = found[1]
		}
	}
	return prose
}
