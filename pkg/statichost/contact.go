// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package statichost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/statichost/host"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/statichost/ssh"
)

// maxClockOffset is the largest difference between a host's clock and ours with which certificates and tokens are useful.
const maxClockOffset = time.Minute

// contactInterval is after which time a contact is written to the status even if nothing else has changed.
const contactInterval = time.Minute

// failure is why nothing can be done on a host.
type failure struct {
	reason, message string
}

// Error implements error.
func (f *failure) Error() string {
	return f.message
}

// failureOf returns why a host cannot be worked on, nil without an error and for errors of the API server.
func failureOf(err error) *failure {
	var (
		known   *failure
		network net.Error
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.Is(err, ssh.ErrConfiguration):
		return &failure{"InvalidConfiguration", "Correct spec.hostKeys or the Secret: " + err.Error() + "."}
	case errors.Is(err, ssh.ErrHostKey):
		return &failure{"HostKeyMismatch", "The host has none of the keys in spec.hostKeys, so that nothing was said to it. Either another " +
			"host has the address, or the keys were replaced: compare them on the console of the host."}
	case errors.Is(err, ssh.ErrAuthentication):
		return &failure{"AuthenticationFailed", "The host does not accept the user with the private key: add its public key to the file " +
			"authorized_keys of the user."}
	case errors.Is(err, host.ErrSudo):
		return &failure{"SudoFailed", "The user cannot become root: permit it in sudoers, or write the password to the key " +
			v1alpha1.KeySudoPassword + " of the Secret."}
	case errors.Is(err, host.ErrForeign):
		return &failure{"ForeignBaseline", "The host has the baseline of another machine, and nothing was done."}
	case errors.Is(err, host.ErrStart):
		return &failure{"TaskNotStarted", "The host could not start a unit: look for space in /run and at systemd."}
	case errors.Is(err, host.ErrAnswer), errors.Is(err, ssh.ErrAnswer):
		return &failure{"InvalidAnswer", "Look at the host: " + err.Error() + "."}
	case errors.Is(err, context.DeadlineExceeded):
		return &failure{"TimedOut", "The host does not answer in time."}
	case errors.As(err, &network), errors.Is(err, ssh.ErrConnection):
		return &failure{"ConnectionFailed", "Look at the network, the address and the SSH server: " +
			platform.PrintableMessage(err.Error()) + "."}
	default:
		return nil
	}
}

// observe connects to the host and reports whether it can be worked on. The error is one of the API server.
func (w *work) observe(ctx context.Context) (bool, error) {
	start := w.now()
	err := w.ask(ctx)
	problem := failureOf(err)
	countContact(problem, w.now().Sub(start))
	if problem != nil {
		logf.FromContext(ctx).V(1).Info("Could not observe host", "reason", problem.reason)
		w.unreachable(problem)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	w.backOff.Forget(client.ObjectKeyFromObject(w.host))
	logf.FromContext(ctx).V(1).Info("Observed host", "address", w.host.Spec.Address)
	s := &w.host.Status
	if s.LastContact == nil || w.now().Sub(s.LastContact.Time) > contactInterval { // each look would be a write otherwise
		s.LastContact = &metav1.Time{Time: w.now()}
	}
	s.Facts = &w.seen.Facts
	w.condition(v1alpha1.ConditionReachable, metav1.ConditionTrue, "Connected", "Commands run as root.")
	w.suitable()
	return true, nil
}

func (w *work) ask(ctx context.Context) error {
	target, password, err := w.target(ctx)
	if err != nil {
		return err
	}
	if w.connection, err = w.connect(ctx, target, password); err != nil {
		w.connection = nil
		return err
	}
	if w.seen, err = w.connection.Observe(ctx); err != nil {
		return err
	}
	if p := w.host.Status.Provisioned; p != nil && p.MachineID != "" && p.MachineID != w.seen.Facts.MachineID {
		return &failure{"IdentityChanged", fmt.Sprintf("The host has the machine ID %s and not that of machine %q, so that nothing is done "+
			"there. Either another host has the address, or the host was installed again: then delete this StaticHost and create it again.",
			w.seen.Facts.MachineID, p.Machine)}
	}
	return nil
}

// target returns where to connect to, and the password of sudo.
func (w *work) target(ctx context.Context) (ssh.Target, string, error) {
	spec, secret := w.host.Spec, &corev1.Secret{}
	key := client.ObjectKey{Namespace: w.options.SecretNamespace, Name: spec.SSHSecretRef.Name}
	if err := w.reader.Get(ctx, key, secret); apierrors.IsNotFound(err) {
		return ssh.Target{}, "", &failure{"SecretMissing", fmt.Sprintf("Create the Secret %s with the key %s.", key, v1alpha1.KeyPrivateKey)}
	} else if err != nil {
		return ssh.Target{}, "", err
	}
	password := strings.TrimRight(string(secret.Data[v1alpha1.KeySudoPassword]), "\r\n")
	if strings.ContainsAny(password, "\r\n\x00") {
		return ssh.Target{}, "", &failure{"InvalidConfiguration", fmt.Sprintf("The password of sudo in the Secret %s must be one line.", key)}
	}
	return ssh.Target{Address: spec.Address, Port: spec.Port, User: spec.User, HostKeys: spec.HostKeys,
		PrivateKey: secret.Data[v1alpha1.KeyPrivateKey]}, password, nil
}

// suitable says whether the host has what a node needs.
func (w *work) suitable() {
	var reasons, messages []string
	add := func(missing bool, reason, message string) {
		if missing {
			reasons, messages = append(reasons, reason), append(messages, message)
		}
	}
	f := w.seen.Facts
	add(f.Systemd == "", "NoSystemd", "systemd is not the first process")
	add(f.Cgroup != "v2", "NoCgroupV2", "the control groups are not those of version 2: boot with systemd.unified_cgroup_hierarchy=1")
	add(f.Containerd == "", "NoContainerd", "containerd is not installed")
	add(f.Architecture != "amd64" && f.Architecture != "arm64", "UnknownArchitecture", "the architecture is neither amd64 nor arm64")
	add(len(w.seen.Missing) > 0, "MissingTools", "there are no "+strings.Join(w.seen.Missing, ", "))
	add(w.seen.ClockOffset.Abs() > maxClockOffset, "ClockSkew",
		fmt.Sprintf("the clock is off by about %s: configure NTP", w.seen.ClockOffset.Round(time.Minute)))
	if len(reasons) > 0 {
		w.condition(v1alpha1.ConditionSuitable, metav1.ConditionFalse, reasons[0], "Not suitable: "+strings.Join(messages, "; ")+".")
		return
	}
	w.condition(v1alpha1.ConditionSuitable, metav1.ConditionTrue, "Suitable", "The host has what a node needs.")
}

// userData returns the user data of the machine.
func (w *work) userData(ctx context.Context) ([]byte, error) {
	secret, ref := &corev1.Secret{}, w.host.Spec.ConsumerRef
	key := client.ObjectKey{Namespace: w.host.Namespace, Name: w.host.Spec.UserDataSecretRef.Name}
	if err := w.reader.Get(ctx, key, secret); apierrors.IsNotFound(err) {
		return nil, &failure{"UserDataMissing", fmt.Sprintf("There is no Secret %s with the user data.", key)}
	} else if err != nil {
		return nil, err
	}
	// Otherwise who may claim hosts would get what others have in their Secrets.
	if secret.Labels[owner.LabelShoot] != ref.Namespace || secret.Labels[owner.LabelMachine] != ref.Name {
		return nil, &failure{"UserDataForeign", fmt.Sprintf("The Secret %s does not belong to machine %q: its labels do not say so.",
			key, ref.Name)}
	}
	userData := secret.Data[v1alpha1.KeyUserData]
	if !bytes.HasPrefix(userData, []byte("#!")) {
		return nil, &failure{"UserDataNoScript", "The user data must be a script: its first line must be #! and an interpreter."}
	}
	return userData, nil
}
