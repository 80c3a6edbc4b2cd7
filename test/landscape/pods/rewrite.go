// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mount is a path in a container and the folder that holds it.
type mount struct {
	path, folder string
}

// rewritePaths replaces the paths of mounts wherever they stand in a text, alone or at the beginning of a longer path.
func rewritePaths(text string, mounts []mount) string {
	mounts = slices.Clone(mounts)
	slices.SortFunc(mounts, func(a, b mount) int { return len(b.path) - len(a.path) })
	var result strings.Builder
	for i := 0; i < len(text); {
		if m := mountAt(text, i, mounts); m != nil {
			result.WriteString(m.folder)
			i += len(m.path)
			continue
		}
		result.WriteByte(text[i])
		i++
	}
	return result.String()
}

// mountAt returns the first of the mounts whose path begins at i.
func mountAt(text string, i int, mounts []mount) *mount {
	if text[i] != '/' || i > 0 && inPath(text[i-1]) && !strings.HasSuffix(text[:i], "://") {
		return nil
	}
	for j := range mounts {
		rest, ok := strings.CutPrefix(text[i:], mounts[j].path)
		if ok && (rest == "" || rest[0] == '/' || !inPath(rest[0])) {
			return &mounts[j]
		}
	}
	return nil
}

func inPath(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("/._-", c) >= 0
}

var lastNumber = regexp.MustCompile(`(^|[=:])([0-9]+)$`)

// rewritePort replaces the port at the end of an argument: --port=10258, --address=:10258 or 10258.
func rewritePort(text string, ports map[int32]int) string {
	return lastNumber.ReplaceAllStringFunc(text, func(found string) string {
		parts := lastNumber.FindStringSubmatch(found)
		number, err := strconv.ParseInt(parts[2], 10, 32)
		if err != nil {
			return found
		}
		if port, ok := ports[int32(number)]; ok {
			return parts[1] + strconv.Itoa(port)
		}
		return found
	})
}
