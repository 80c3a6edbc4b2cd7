// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"testing"
)

// TestChoose takes tools, what their links refer to, and nothing else.
func TestChoose(t *testing.T) {
	all := files{
		"bin/sh":      {kind: tar.TypeSymlink, link: "dash"},
		"bin/dash":    {kind: tar.TypeReg, mode: 0o755, content: []byte("#!/bin/true\n")},
		"sbin/fsck.a": {kind: tar.TypeSymlink, link: "/sbin/fsck"},
		"sbin/fsck":   {kind: tar.TypeReg},
		"bin/other":   {kind: tar.TypeReg},
	}
	chosen, err := (&debianTools{Paths: []string{"bin/sh", "sbin/fsck.*"}}).choose(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bin/sh", "bin/dash", "sbin/fsck", "sbin/fsck.a"} {
		if _, ok := chosen[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
	if len(chosen) != 4 {
		t.Errorf("got %d files, want 4", len(chosen))
	}
	for _, paths := range [][]string{{"bin/none"}, {"bin/loose"}} {
		all["bin/loose"] = file{kind: tar.TypeSymlink, link: "gone"}
		if _, err := (&debianTools{Paths: paths}).choose(all); err == nil {
			t.Errorf("%v: no error", paths)
		}
	}
}
