// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package scaler

import (
	"strconv"
	"time"
)

// The annotations of a machine deployment that override settings.
const (
	AnnotationUnneededTime         = "autoscaler.gardener.cloud/scale-down-unneeded-time"
	AnnotationUnreadyTime          = "autoscaler.gardener.cloud/scale-down-unready-time"
	AnnotationUtilizationThreshold = "autoscaler.gardener.cloud/scale-down-utilization-threshold"
	AnnotationMaxNodeProvisionTime = "autoscaler.gardener.cloud/max-node-provision-time"
)

const (
	// annotationScaleDownDisabled is the annotation of nodes that are never removed.
	annotationScaleDownDisabled = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
	// okTotalUnready is the number of unready nodes that are always accepted.
	okTotalUnready = 3
	// maxRemovals is the number of nodes that are removed at once.
	maxRemovals = 10
)

// Settings are those of the cluster-autoscaler that have flags of the same names.
type Settings struct {
	// MaxTotalUnreadyPercentage is the percentage of unready nodes above which nothing is done.
	MaxTotalUnreadyPercentage int
	// MaxNodeStartupTime is how long a registered node counts as one that is about to become ready.
	MaxNodeStartupTime time.Duration
	// MaxNodeProvisionTime is how long a machine may need to register its node.
	MaxNodeProvisionTime time.Duration
	// UnneededTime is how long a ready node must be unneeded, UnreadyTime how long one that is not ready.
	UnneededTime, UnreadyTime time.Duration
	// DelayAfterAdd is the time after an increase in which nothing is removed.
	DelayAfterAdd time.Duration
}

// DefaultSettings are those that Gardener gives the cluster-autoscaler, or those of the cluster-autoscaler itself.
var DefaultSettings = Settings{
	MaxTotalUnreadyPercentage: 45,
	MaxNodeStartupTime:        15 * time.Minute,
	MaxNodeProvisionTime:      20 * time.Minute,
	UnneededTime:              30 * time.Minute,
	UnreadyTime:               20 * time.Minute,
	DelayAfterAdd:             time.Hour,
}

// duration returns the annotation's value, or the setting without a valid one.
func (g *group) duration(annotation string, setting time.Duration) time.Duration {
	if value, err := time.ParseDuration(g.deployment.Annotations[annotation]); err == nil {
		return value
	}
	return setting
}

// neverUnneeded returns whether the utilization threshold is below the utilization of an empty node.
func (g *group) neverUnneeded() bool {
	threshold, err := strconv.ParseFloat(g.deployment.Annotations[AnnotationUtilizationThreshold], 64)
	return err == nil && threshold < 0
}
