// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// Package is a package with its types.
type Package struct {
	path  string
	names []string
	files *token.FileSet
	types *types.Package
	uses  map[*ast.Ident]types.Object
}

type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	DepOnly                 bool
}

// Load returns the packages that match the patterns in the folder. What they import is compiled if it is not yet.
func Load(folder string, patterns ...string) ([]*Package, error) {
	arguments := append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,DepOnly", "--"}, patterns...)
	command := exec.Command("go", arguments...) // #nosec G204 -- The arguments are those of a developer.
	command.Dir, command.Stderr = folder, os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	var (
		exports = map[string]string{}
		found   []listed
		decoder = json.NewDecoder(out)
	)
	for {
		var l listed
		if err := decoder.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("reading go list: %w", err)
		}
		exports[l.ImportPath] = l.Export
		if !l.DepOnly {
			found = append(found, l)
		}
	}
	if err := command.Wait(); err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}

	files := token.NewFileSet()
	imports := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path]) // #nosec G304 -- The files are those of the build cache.
	})
	packages := make([]*Package, 0, len(found))
	for _, l := range found {
		p, err := check(l, files, imports)
		if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
	return packages, nil
}

func check(l listed, files *token.FileSet, imports types.Importer) (*Package, error) {
	var parsed []*ast.File
	for _, name := range l.GoFiles {
		file, err := parser.ParseFile(files, filepath.Join(l.Dir, name), nil, 0)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, file)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: imports}
	checked, err := config.Check(l.ImportPath, files, parsed, info)
	if err != nil {
		return nil, err
	}
	return &Package{path: l.ImportPath, names: l.GoFiles, files: files, types: checked, uses: info.Uses}, nil
}
