// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package backupstore

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup"
)

// State says whether objects stay.
type State string

const (
	// StateStored is the state of objects that stay.
	StateStored State = "stored"
	// StateDeleting is the state of objects that are left of a deletion.
	StateDeleting State = "deleting"
)

var (
	objects = newGauge("objects", "Objects, versions and markers of a BackupEntry or of a BackupBucket that is deleted, up to 10,000.",
		"state")
	size    = newGauge("bytes", "Size of the counted objects.", "state")
	changed = newGauge("last_change_timestamp_seconds", "When the newest of the counted objects was written.")
)

func newGauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "hybrid", Subsystem: "backup", Name: name, Help: help},
		append([]string{labelBucket, labelEntry}, labels...))
}

const (
	labelBucket = "bucket"
	labelEntry  = "backup_entry"
)

// Collectors are the metrics of this package.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{objects, size, changed}
}

// Observe sets the metrics of a BackupEntry, or of a BackupBucket if entry is empty, to what is below the prefix.
func Observe(ctx context.Context, store backup.Store, bucket, entry, prefix string, state State) error {
	usage, err := store.Usage(ctx, bucket, prefix)
	if err != nil {
		return err
	}
	Forget(bucket, entry)
	objects.WithLabelValues(bucket, entry, string(state)).Set(float64(usage.Objects))
	size.WithLabelValues(bucket, entry, string(state)).Set(float64(usage.Bytes))
	if state == StateStored && !usage.LastModified.IsZero() {
		changed.WithLabelValues(bucket, entry).Set(float64(usage.LastModified.Unix()))
	}
	return nil
}

// Forget deletes the metrics of a BackupEntry, or of a BackupBucket if entry is empty.
func Forget(bucket, entry string) {
	forget(prometheus.Labels{labelBucket: bucket, labelEntry: entry})
}

// ForgetEntry deletes the metrics of a BackupEntry in whichever bucket.
func ForgetEntry(entry string) {
	forget(prometheus.Labels{labelEntry: entry})
}

func forget(labels prometheus.Labels) {
	for _, metric := range []*prometheus.GaugeVec{objects, size, changed} {
		metric.DeletePartialMatch(labels)
	}
}
