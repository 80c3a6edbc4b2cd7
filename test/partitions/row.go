// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package partitions

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// Restart says what is restarted while a site is cut off.
type Restart string

const (
	// RestartExtension ends the extension before the site is cut off, and starts it when the nodes have been lost for some time.
	RestartExtension Restart = "extension"
	// RestartMCM kills machine-controller-manager and the driver when the nodes are lost, and starts them again.
	RestartMCM Restart = "MCM"
)

// Back says when the link is back.
type Back string

const (
	// BackLater is after several health timeouts.
	BackLater Back = "later"
	// BackAfterMaximum is after the maximum duration of the quarantine.
	BackAfterMaximum Back = "after maximumDuration"
	// BackNever is not while the row is watched.
	BackNever Back = "never"
)

// Expectation says what a row must show.
type Expectation string

const (
	// ExpectKept means that nothing is lost.
	ExpectKept Expectation = "nothing is lost"
	// ExpectDeadReplaced means that nothing is lost under quarantine, and that the dead machine alone is replaced after the end.
	ExpectDeadReplaced Expectation = "the dead machine is replaced after the end"
	// ExpectDeletionWaits means that nothing is lost under quarantine, and that the machine whose deletion had begun is deleted after the end.
	ExpectDeletionWaits Expectation = "a deletion that has begun waits for the end"
	// ExpectExpired means that nothing is lost under quarantine, and that machine-controller-manager replaces machines after the end.
	ExpectExpired Expectation = "nothing is lost until maximumDuration"
	// ExpectMCM means that there is no quarantine and machine-controller-manager replaces machines.
	ExpectMCM Expectation = "without quarantine machines are replaced"
)

// Timing are the times of rows, which are short.
type Timing struct {
	// Grace is the time after which a node that does not report is unknown.
	Grace time.Duration
	// Health is the health timeout of machines.
	Health time.Duration
	// Maximum is the maximum duration of a quarantine that is to expire.
	Maximum time.Duration
	// Flap is how long a flapping link is up; it is down for the grace period and as long again.
	Flap time.Duration
}

// ShortTiming are the times of the suite. A quarantine has the health timeout to begin, which is 10 minutes in Gardener, and nodes report
// every 3 seconds.
func ShortTiming() Timing {
	return Timing{Grace: 15 * time.Second, Health: 30 * time.Second, Maximum: 45 * time.Second, Flap: 6 * time.Second}
}

// Row is a partition.
type Row struct {
	// ID names the row, and its shoot.
	ID string
	// Machines is the number of machines of each site of the shoot.
	Machines map[string]int
	// Site is the site that is cut off. Default: all sites.
	Site string
	// Nodes is the number of its machines that are cut off. Default: all, and those that come later.
	Nodes int
	// Dead says that one of the machines never comes back.
	Dead bool
	// Begun says that the pool is scaled down right before the cut, so that the deletion of one of the machines has begun.
	Begun bool
	// Flaps is how often the link comes back for a moment.
	Flaps int
	// APIDown says that the APIs of the sites do not answer either.
	APIDown bool
	// Restart is what is restarted meanwhile.
	Restart Restart
	// Reconcile says that the Worker is reconciled meanwhile.
	Reconcile bool
	// Back says when the link is back.
	Back Back
	// Share is that of the quarantine in percent. 0 means no quarantine.
	Share int32
	// Expect says what the row must show.
	Expect Expectation
}

// sites are the sites that are cut off.
func (r Row) sites() []string {
	if r.Site != "" {
		return []string{r.Site}
	}
	var all []string
	for site := range r.Machines {
		all = append(all, site)
	}
	return all
}

// ShootOptions are those of the row's shoot.
func (r Row) ShootOptions(t Timing) ShootOptions {
	maximum := time.Hour
	if r.Back == BackAfterMaximum {
		maximum = t.Maximum
	}
	return ShootOptions{
		Name: r.ID, Machines: r.Machines, Health: t.Health, Creation: 5 * time.Minute,
		Quarantine: v1alpha1.Quarantine{
			Share: new(r.Share), Window: &metav1.Duration{Duration: time.Minute}, MaximumDuration: &metav1.Duration{Duration: maximum},
		},
	}
}

// Outcome is what a row came to.
type Outcome struct {
	// Row is the row.
	Row Row
	// Quarantined is the time from the cut to the quarantine of the last site, zero if there was none.
	Quarantined time.Duration
	// Ended is the time from the cut to the end of the quarantine of the last site, zero if there was none.
	Ended time.Duration
	// Reason is the reason for the end.
	Reason string
	// Replaced is the time from the end of the quarantine, or from the cut if there was none, to the first deletion of a machine.
	Replaced time.Duration
	// Before and After count what happened before the end of the quarantine and after it. Without quarantine all is in Before.
	Before, After Losses
	// Dead is the name of the machine that never came back, or whose deletion had begun.
	Dead string
	// Gone are the machines that are gone in the end.
	Gone []string
	// Problems are further observations that must not be.
	Problems []string
}

// Losses count what was lost.
type Losses struct {
	// Requests are the requests to the APIs of sites that delete, power off or wipe a machine.
	Requests int
	// Servers are the hosts that were released, and the virtual machines that were deleted.
	Servers int
	// Pods are the pods that were deleted by force.
	Pods int
	// Failed are the machines that became Failed or were deleted.
	Failed int
}

// Zero reports whether nothing was lost.
func (l Losses) Zero() bool {
	return l == Losses{}
}
