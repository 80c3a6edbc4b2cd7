// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package partitions

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"
)

// pageHeader is what the page has before the rows of its table.
//
//go:embed page.md
var pageHeader string

// platforms are the platforms of the sites.
var platforms = map[string]string{SiteVSphere: "vSphere", SiteMetal3: "Metal3", SiteIronCore: "IronCore", SiteOpenStack: "OpenStack"}

// Text describes the row in one line.
func (r Row) Text() string {
	return strings.Join([]string{r.where(), r.what(), "API " + r.api(), "restarted: " + r.restarted(),
		"Worker reconciled: " + yes(r.Reconcile), "link back: " + string(r.Back), fmt.Sprintf("share %d %%", r.Share)}, ", ")
}

func (r Row) where() string {
	var names []string
	for site := range r.Machines {
		names = append(names, platforms[site])
	}
	slices.Sort(names)
	return strings.Join(names, " and ")
}

func (r Row) what() string {
	total := 0
	for _, n := range r.Machines {
		total += n
	}
	text := fmt.Sprintf("%d of %d nodes", r.Nodes, total)
	switch {
	case r.Nodes > 0:
	case len(r.sites()) > 1:
		text = "all sites"
	default:
		text = fmt.Sprintf("all %d nodes", total)
	}
	if r.Flaps > 0 {
		text += ", flapping"
	}
	if r.Dead {
		text += ", one of them dead"
	}
	if r.Begun {
		text += ", one of them being deleted"
	}
	return text
}

func (r Row) api() string {
	if r.APIDown {
		return "down"
	}
	return "answers"
}

func (r Row) restarted() string {
	if r.Restart == "" {
		return "no"
	}
	return string(r.Restart)
}

func yes(value bool) string {
	if value {
		return "yes"
	}
	return "no"
}

func seconds(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}

// both are a number before and one after the end of the quarantine.
func both(before, after int) string {
	if after == 0 {
		return fmt.Sprint(before)
	}
	return fmt.Sprintf("%d, then %d", before, after)
}

// Page is the page of the documentation with the outcomes.
func Page(t Timing, outcomes []Outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, pageHeader, t.Grace.Seconds(), t.Health.Seconds(), t.Maximum.Seconds())
	for _, o := range outcomes {
		r := o.Row
		end := seconds(o.Ended)
		if o.Ended > 0 {
			end += ", " + o.Reason
		}
		fmt.Fprintf(&b, "| %s | %s | %d %% | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", r.where(), r.what(), r.Share, r.api(),
			r.restarted(), yes(r.Reconcile), r.Back, seconds(o.Quarantined), end, both(o.Before.Requests, o.After.Requests),
			both(o.Before.Servers, o.After.Servers), both(o.Before.Pods, o.After.Pods), both(o.Before.Failed, o.After.Failed))
	}
	return b.String()
}
