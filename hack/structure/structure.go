// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

// Structure is how a package is built.
type Structure struct {
	Package string
	// Types are those with methods, the largest first.
	Types []Type
	// Order are the files from the top down.
	Order []string
	// Arrows are from a file to those that it uses.
	Arrows Arrows
}

// Type is a type with methods.
type Type struct {
	Name           string
	Methods, Files int
}

// Arrows are the files that each file uses.
type Arrows map[string]map[string]bool

// Structure finds out how the package is built.
func (p *Package) Structure() *Structure {
	s := &Structure{Package: p.path, Arrows: Arrows{}}
	for _, name := range p.names {
		s.Arrows[name] = map[string]bool{}
	}
	scope := p.types.Scope()
	for _, name := range scope.Names() {
		typeName, ok := scope.Lookup(name).(*types.TypeName)
		if !ok {
			continue
		}
		named, ok := typeName.Type().(*types.Named)
		if !ok || typeName.IsAlias() || named.NumMethods() == 0 {
			continue
		}
		files := map[string]bool{}
		for method := range named.Methods() {
			files[p.file(method.Pos())] = true
		}
		s.Types = append(s.Types, Type{Name: name, Methods: named.NumMethods(), Files: len(files)})
	}
	slices.SortFunc(s.Types, func(a, b Type) int { return cmp.Or(b.Methods-a.Methods, cmp.Compare(a.Name, b.Name)) })

	for identifier, object := range p.uses {
		if object.Pkg() == p.types && (object.Parent() == scope || isMethod(object)) {
			if from, to := p.file(identifier.Pos()), p.file(object.Pos()); from != to {
				s.Arrows[from][to] = true
			}
		}
	}
	s.Order = s.Arrows.order()
	return s
}

func (p *Package) file(pos token.Pos) string {
	return filepath.Base(p.files.Position(pos).Filename)
}

func isMethod(object types.Object) bool {
	function, ok := object.(*types.Func)
	return ok && function.Signature().Recv() != nil
}

// reachable returns the file and those that can be reached from it.
func (a Arrows) reachable(from string) map[string]bool {
	seen, next := map[string]bool{from: true}, []string{from}
	for len(next) > 0 {
		file := next[0]
		next = next[1:]
		for to := range a[file] {
			if !seen[to] {
				seen[to] = true
				next = append(next, to)
			}
		}
	}
	return seen
}

// order returns the files from the top down. The files of a circle reach the same number of files; all others that they reach reach fewer.
func (a Arrows) order() []string {
	var (
		order []string
		reach = map[string]int{}
	)
	for file := range a {
		order = append(order, file)
		reach[file] = len(a.reachable(file))
	}
	slices.SortFunc(order, func(x, y string) int {
		return cmp.Or(reach[y]-reach[x], len(a[y])-len(a[x]), cmp.Compare(x, y))
	})
	for moved := true; moved; {
		moved = false
		for _, file := range slices.Clone(order) {
			better := a.move(order, file)
			if len(a.back(better)) < len(a.back(order)) {
				order, moved = better, true
			}
		}
	}
	return order
}

// move returns the order with the file where the fewest arrows run back.
func (a Arrows) move(order []string, file string) []string {
	rest := slices.DeleteFunc(slices.Clone(order), func(other string) bool { return other == file })
	// Above all others the file has all arrows to it as back arrows.
	var count int
	for _, other := range rest {
		if a[other][file] {
			count++
		}
	}
	fewest, at := count, 0
	for i, other := range rest {
		if a[other][file] {
			count--
		}
		if a[file][other] {
			count++
		}
		if count < fewest {
			fewest, at = count, i+1
		}
	}
	return slices.Insert(rest, at, file)
}

// back returns the arrows that run back up, as "from -> to".
func (a Arrows) back(order []string) []string {
	var back []string
	for i, file := range order {
		for _, above := range order[:i] {
			if a[file][above] {
				back = append(back, file+" -> "+above)
			}
		}
	}
	return back
}

// Back returns the arrows that run back up.
func (s *Structure) Back() []string {
	return s.Arrows.back(s.Order)
}

// Floors returns the floor of each file, beginning with zero at the top.
func (s *Structure) Floors() map[string]int {
	floors := map[string]int{}
	for i, file := range s.Order {
		for _, above := range s.Order[:i] {
			if s.Arrows[above][file] {
				floors[file] = max(floors[file], floors[above]+1)
			}
		}
	}
	return floors
}

// Exceeds returns what there is too much of. Negative limits are none.
func (s *Structure) Exceeds(maxMethods, maxBack int) []string {
	var messages []string
	for _, t := range s.Types {
		if maxMethods >= 0 && t.Methods > maxMethods {
			messages = append(messages, fmt.Sprintf("type %s has %d methods, at most %d are allowed", t.Name, t.Methods, maxMethods))
		}
	}
	if back := s.Back(); maxBack >= 0 && len(back) > maxBack {
		messages = append(messages, fmt.Sprintf("%d arrows between files run back up, at most %d are allowed: %s",
			len(back), maxBack, strings.Join(back, ", ")))
	}
	return messages
}

// String implements fmt.Stringer.
func (s *Structure) String() string {
	var (
		b      strings.Builder
		floors = s.Floors()
		count  int
		names  = map[int][]string{}
	)
	for _, file := range s.Order {
		count += len(s.Arrows[file])
		names[floors[file]] = append(names[floors[file]], file)
	}
	fmt.Fprintf(&b, "%s: %d files, %d floors, %d arrows, %d back\n", s.Package, len(s.Order), len(names), count, len(s.Back()))
	for _, t := range s.Types {
		fmt.Fprintf(&b, "  type %s: %d methods in %d files\n", t.Name, t.Methods, t.Files)
	}
	for i := range len(names) {
		fmt.Fprintf(&b, "  floor %d: %s\n", i, strings.Join(names[i], " "))
	}
	for _, arrow := range s.Back() {
		fmt.Fprintf(&b, "  back: %s\n", arrow)
	}
	return b.String()
}
