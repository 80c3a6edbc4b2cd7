// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package documents reads the blocks of code in the documents of the project.
package documents

import (
	"os"
	"path/filepath"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// Block is a block of code, without the indentation of the lists that it is in.
type Block struct {
	// Document is the path of the document from the root of the project.
	Document string
	// Heading is the last heading above the block, empty if there is none.
	Heading string
	// Language is empty for a block that is indented, and for one without a language.
	Language string
	Text     string
}

// String is the document and the text, for messages.
func (b Block) String() string {
	return b.Document + ":\n" + b.Text
}

// Read returns the blocks of a document, in their order.
func Read(document string) ([]Block, error) {
	content, err := os.ReadFile(filepath.Join(landscape.Root(), document)) // #nosec G304 -- a file of the project
	if err != nil {
		return nil, err
	}
	var (
		blocks  []Block
		heading string
	)
	err = ast.Walk(goldmark.DefaultParser().Parse(text.NewReader(content)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		b := Block{Document: document, Heading: heading}
		switch n := n.(type) {
		case *ast.Heading:
			heading = string(n.Lines().Value(content))
			return ast.WalkContinue, nil
		case *ast.FencedCodeBlock:
			b.Language = string(n.Language(content))
		case *ast.CodeBlock:
		default:
			return ast.WalkContinue, nil
		}
		b.Text = string(n.Lines().Value(content))
		blocks = append(blocks, b)
		return ast.WalkContinue, nil
	})
	return blocks, err
}
