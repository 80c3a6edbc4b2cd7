// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package statichost

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/statichost/host"
)

// act does what is next on a host that was observed, and returns when to look again.
func (w *work) act(ctx context.Context) (time.Duration, error) {
	s := &w.host.Status
	switch s.Phase {
	case v1alpha1.PhasePending, v1alpha1.PhaseAvailable:
		return w.offer(ctx)
	case v1alpha1.PhaseProvisioning:
		return w.provision(ctx)
	case v1alpha1.PhaseReleasing:
		return w.clean(ctx)
	default:
		return w.refresh(), nil
	}
}

// offer makes a host available, or the machine that claimed it.
func (w *work) offer(ctx context.Context) (time.Duration, error) {
	s := &w.host.Status
	if w.seen.HasBaseline {
		w.dirty("Leftovers", "The host has the state of a machine that its status does not know in /var/lib/static-host.")
		return w.refresh(), nil
	}
	w.condition(v1alpha1.ConditionClean, metav1.ConditionTrue, "Clean", "Nothing of a machine is on the host.")
	if !w.is(v1alpha1.ConditionSuitable) {
		s.Phase = v1alpha1.PhasePending
		return w.refresh(), nil
	}
	s.Phase = v1alpha1.PhaseAvailable
	if !w.isWanted() || w.host.DeletionTimestamp != nil {
		w.condition(v1alpha1.ConditionProvisioned, metav1.ConditionUnknown, "NoMachine", "No machine has claimed the host.")
		return w.refresh(), nil
	}
	userData, err := w.userData(ctx)
	if err != nil {
		return w.refuse(err)
	}
	s.Phase = v1alpha1.PhaseProvisioning
	s.Provisioned = &v1alpha1.Provisioned{
		Machine:      w.host.Spec.ConsumerRef.Name,
		Shoot:        w.host.Spec.ConsumerRef.Namespace,
		UserDataHash: hashOf(string(userData)),
		MachineID:    w.seen.Facts.MachineID,
		BootID:       w.seen.Facts.BootID,
		Time:         metav1.Time{Time: w.now().Truncate(time.Second)},
	}
	w.condition(v1alpha1.ConditionClean, metav1.ConditionFalse, "InUse", "The host is a machine.")
	w.condition(v1alpha1.ConditionProvisioned, metav1.ConditionUnknown, "Provisioning", "The host is about to become the machine.")
	if err := w.persist(ctx); err != nil {
		return 0, err
	}
	return w.provision(ctx)
}

// provision brings a host that is to be a machine one step further.
func (w *work) provision(ctx context.Context) (time.Duration, error) {
	p := w.host.Status.Provisioned
	claim := claimOf(p)
	if w.seen.Claim != "" && w.seen.Claim != claim {
		w.dirty("Leftovers", "The host has the state of another machine in /var/lib/static-host.")
		return w.refresh(), nil
	}
	baseline, provision := w.seen.Tasks[host.TaskBaseline], w.seen.Tasks[host.TaskProvision]
	if p.BaselineHash == "" {
		switch baseline.State {
		case host.StateRunning:
			return pollInterval, nil
		case host.StateDone:
			p.BaselineHash = baseline.Value
			return w.then(ctx, w.provision)
		case host.StateFailed:
			w.condition(v1alpha1.ConditionProvisioned, metav1.ConditionFalse, "BaselineFailed",
				"What the host is could not be copied, so that the user data does not run: look for space in /var/lib, and whether systemctl "+
					"list-units answers.")
			return w.later(), w.connection.Baseline(ctx, claim)
		default:
			return pollInterval, w.connection.Baseline(ctx, claim)
		}
	}
	switch provision.State {
	case host.StateRunning:
		w.condition(v1alpha1.ConditionProvisioned, metav1.ConditionUnknown, "Running", "The user data runs.")
		return pollInterval, nil
	case host.StateEnded:
		if provision.Value != p.UserDataHash {
			return 0, fmt.Errorf("%w: other user data has ended", host.ErrAnswer)
		}
		return w.ended(provision.ExitCode), nil
	case host.StateFailed:
		w.condition(v1alpha1.ConditionProvisioned, metav1.ConditionFalse, "UserDataFailed",
			fmt.Sprintf("The step %s failed or took too long, and is not repeated. Its output is in /run/static-host on the host.", provision.Step))
		return w.refresh(), nil
	}
	userData, err := w.userData(ctx)
	if err == nil && hashOf(string(userData)) != p.UserDataHash {
		err = &failure{"UserDataChanged", "The user data was changed after the machine had claimed the host, and does not run."}
	}
	if err != nil {
		return w.refuse(err)
	}
	if p.BootID != w.seen.Facts.BootID {
		p.BootID = w.seen.Facts.BootID
		return w.then(ctx, w.provision)
	}
	return pollInterval, w.connection.Provision(ctx, claim, p.BaselineHash, p.UserDataHash, w.host.Spec.NodeName, userData)
}

// then persists the status before what follows.
func (w *work) then(ctx context.Context, next func(context.Context) (time.Duration, error)) (time.Duration, error) {
	if err := w.persist(ctx); err != nil {
		return 0, err
	}
	return next(ctx)
}

// ended says how the user data has ended.
func (w *work) ended(code int) time.Duration {
	if code != 0 {
		w.condition(v1alpha1.ConditionProvisioned, metav1.ConditionFalse, "UserDataFailed",
			fmt.Sprintf("The user data ended with exit code %d. Its output is in /run/static-host/provision.log on the host.", code))
		return w.refresh()
	}
	w.host.Status.Phase = v1alpha1.PhaseProvisioned
	w.condition(v1alpha1.ConditionProvisioned, metav1.ConditionTrue, "Provisioned", "The user data ended successfully.")
	return w.refresh()
}

// refuse says why there is no user data to run. Errors of the API server are returned.
func (w *work) refuse(err error) (time.Duration, error) {
	var why *failure
	if !errors.As(err, &why) {
		return 0, err
	}
	w.condition(v1alpha1.ConditionProvisioned, metav1.ConditionFalse, why.reason, why.message)
	return w.later(), nil
}

// release begins the release of a host.
func (w *work) release(ctx context.Context) error {
	s := &w.host.Status
	s.Phase = v1alpha1.PhaseReleasing
	s.Provisioned.BootID = "" // none in which the release was started
	w.condition(v1alpha1.ConditionProvisioned, metav1.ConditionUnknown, "Releasing", "The machine is removed from the host.")
	w.condition(v1alpha1.ConditionClean, metav1.ConditionFalse, "Releasing", "The machine is removed from the host.")
	return w.persist(ctx)
}

// clean brings the release of a host one step further.
func (w *work) clean(ctx context.Context) (time.Duration, error) {
	p, facts, spec := w.host.Status.Provisioned, w.seen.Facts, w.host.Spec
	if p == nil { // the status was edited
		p = w.stranger()
		w.host.Status.Provisioned = p
	}
	if p.MachineID == "" {
		p.MachineID, p.BaselineHash = facts.MachineID, w.seen.Tasks[host.TaskBaseline].Value
		return w.then(ctx, w.clean)
	}
	claim := claimOf(p)
	if claim != "" && w.seen.Claim != "" && w.seen.Claim != claim {
		w.dirty("Leftovers", "The host has the state of another machine in /var/lib/static-host.")
		return w.refresh(), nil
	}
	if p.BaselineHash == "" { // the user data has not run, or nothing of it is left
		return w.forget(ctx, claim)
	}
	release, proof := w.seen.Tasks[host.TaskRelease], w.seen.Tasks[host.TaskProof]
	start := func() (time.Duration, error) {
		return pollInterval, w.connection.Release(ctx, claim, p.BaselineHash, spec.Reset.Empty, spec.Reset.Hook)
	}
	isOver := release.State == host.StateDone && release.Value == p.BootID
	switch {
	case p.BootID != facts.BootID && !isOver:
		// The release was not started, or a reboot has interrupted it. The boot is persisted before, because the host may have rebooted
		// when it is seen again, and is not released twice.
		p.BootID = facts.BootID
		if err := w.persist(ctx); err != nil {
			return 0, err
		}
		return start()
	case p.BootID == facts.BootID:
		switch {
		case release.State == host.StateFailed:
			return w.failed(release), nil
		case release.State == host.StateNone, release.State == host.StateDone && !isOver: // of another boot
			return start()
		default: // it runs, or the host is about to reboot
			return pollInterval, nil
		}
	}
	switch proof.State {
	case host.StateRunning:
		return pollInterval, nil
	case host.StateFailed:
		return w.failed(proof), nil
	case host.StateDone:
		p.BaselineHash = ""
		return w.then(ctx, w.clean)
	default:
		return pollInterval, w.connection.Proof(ctx, claim, p.BaselineHash)
	}
}

// failed says which step of a release failed.
func (w *work) failed(task host.Progress) time.Duration {
	message := fmt.Sprintf("The step %s of the release failed or took too long.", task.Step)
	if task.Path != "" {
		message = fmt.Sprintf("%s The first difference is at %q.", message, task.Path)
	}
	w.dirty(task.Step+"Failed", message)
	return w.refresh()
}

// forget ends the release of a host.
func (w *work) forget(ctx context.Context, claim string) (time.Duration, error) {
	if err := w.connection.Forget(ctx, claim); err != nil {
		return 0, err
	}
	w.seen.HasBaseline, w.seen.Claim, w.seen.Tasks = false, "", nil
	w.host.Status.Provisioned = nil
	w.host.Status.Phase = v1alpha1.PhasePending
	return w.offer(ctx)
}

// stranger returns what is known about a machine that is not in the status: nothing but that it was there until now.
func (w *work) stranger() *v1alpha1.Provisioned {
	return &v1alpha1.Provisioned{Time: metav1.Time{Time: w.now().Truncate(time.Second)}}
}

// claimOf names what a host was claimed for, "" if that is not known.
func claimOf(p *v1alpha1.Provisioned) string {
	if p.Machine == "" {
		return ""
	}
	return hashOf(fmt.Sprintf("%s/%s/%d", p.Shoot, p.Machine, p.Time.Unix()))
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
