// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// random are the parts of names and marks that are different each time or in each stand: IDs, what MachineSets and Machines have
// at the end, and hashes of the shoot's name.
var random = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|-[0-9a-z]{5}-[0-9a-z]{5}\b|-[0-9a-f]{8,}\b`)

// inventory is all that belongs to the shoot in OpenStack, with names and marks.
func (s *stand) inventory(ctx context.Context) ([]string, error) {
	objects, err := s.Objects(ctx)
	if err != nil {
		return nil, err
	}
	var result []string
	for _, o := range objects {
		line := fmt.Sprintf("%s: %s %q %s", o.Project, o.Kind, o.Name, strings.Join(slices.Sorted(slices.Values(o.Marks)), ", "))
		line = strings.ReplaceAll(line, s.Name, "SHOOT")
		result = append(result, random.ReplaceAllString(line, "*"))
	}
	slices.Sort(result)
	return result, nil
}
