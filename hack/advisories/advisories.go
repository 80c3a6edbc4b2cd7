// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// pins are the places with pinned versions. The expression finds a name and a version.
var pins = map[string]*regexp.Regexp{
	"go.mod":        regexp.MustCompile(`(?m)^\t(\S+) (v\S+)$`), // what is used directly
	"hack/tools.mk": regexp.MustCompile(`install-tool,[\w-]+,([^@]+?)(?:/v\d+)?(?:/cmd/[\w-]+)?@\$\((\w+)\)`),
	// not our own, which have no registry
	"imagevector/images.yaml": regexp.MustCompile(`(?m)^  repository: (\S+/\S+)\n  tag: "?([^"\s]+)"?$`),
	"hack/site.sh":            regexp.MustCompile(`(?m)^# renovate: (\S+)\n[A-Z]+_VERSION="(\S+)"$`),
	"hack/oci/go.mod":         regexp.MustCompile(`(?m)^\t(\S+) (v\S+)$`), // what images are built with
}

// Pinned returns what is pinned below root, as "NAME VERSION", and where.
func Pinned(root string) (map[string]string, error) {
	pinned := map[string]string{}
	for file, expression := range pins {
		content, err := os.ReadFile(filepath.Join(root, file)) // #nosec G304 -- files of the project
		if err != nil {
			return nil, err
		}
		matches := expression.FindAllStringSubmatch(string(content), -1)
		if len(matches) == 0 {
			return nil, fmt.Errorf("nothing is pinned in %s", file)
		}
		for _, match := range matches {
			version := match[2]
			if file == "hack/tools.mk" {
				value := regexp.MustCompile(`(?m)^` + version + `\s*:= (\S+)$`).FindStringSubmatch(string(content))
				if value == nil {
					return nil, fmt.Errorf("%s does not say what %s is", file, version)
				}
				version = value[1]
			}
			pinned[match[1]+" "+version] = file
		}
	}
	return pinned, nil
}

// LookedAt returns what somebody has looked at, as "NAME VERSION", and what was found.
func LookedAt(content string) (map[string]string, error) {
	looked := map[string]string{}
	for line := range strings.Lines(content) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) < 3 {
			return nil, fmt.Errorf("%q is not a name, a version and what was found", strings.TrimSpace(line))
		}
		looked[fields[0]+" "+fields[1]] = strings.Join(fields[2:], " ")
	}
	return looked, nil
}

// Check compares the list with what is pinned below root.
func Check(root string) ([]string, error) {
	pinned, err := Pinned(root)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(filepath.Join(root, list)) // #nosec G304 -- a file of the project
	if err != nil {
		return nil, err
	}
	looked, err := LookedAt(string(content))
	if err != nil {
		return nil, errors.New(list + ": " + err.Error())
	}
	var problems []string
	for _, pin := range slices.Sorted(maps.Keys(pinned)) {
		if looked[pin] == "" {
			problems = append(problems, fmt.Sprintf("%s has %s: look at its advisories and say in %s what you found", pinned[pin], pin, list))
		}
	}
	for _, pin := range slices.Sorted(maps.Keys(looked)) {
		if pinned[pin] == "" {
			problems = append(problems, fmt.Sprintf("%s has %s, which is not pinned: remove the line", list, pin))
		}
	}
	return problems, nil
}
