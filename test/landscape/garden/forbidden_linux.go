// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package garden

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// refused is what kube-apiserver says about requests that the permissions of a user do not allow.
var refused = []byte("is forbidden: User")

// Forbidden are the lines in the logs of our executables about requests that their permissions do not allow.
func (g *Garden) Forbidden() ([]string, error) {
	var result []string
	err := filepath.WalkDir(g.path("node", "logs"), func(path string, entry fs.DirEntry, err error) error {
		ours := slices.ContainsFunc(own, func(name string) bool { return strings.HasSuffix(path, name+".log") })
		if err != nil || entry.IsDir() || !ours {
			return err
		}
		content, err := os.ReadFile(path) // #nosec G304 -- the garden's own logs
		if err != nil {
			return err
		}
		for line := range bytes.Lines(content) {
			if bytes.Contains(line, refused) {
				result = append(result, filepath.Base(path)+": "+strings.TrimSpace(string(line)))
			}
		}
		return nil
	})
	return result, err
}
