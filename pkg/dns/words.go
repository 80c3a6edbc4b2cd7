// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"

	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

// The host of a service that has credentials of its own is named by a tenant. So that nobody learns from a message what the seed reaches,
// one text stands for all reasons why the host is no DNS service to us, and what it says itself is never passed on.

// maxTarget is how much of the address of a host is shown.
const maxTarget = 300

// words are what is said of an answer instead of what it says.
var words = map[platform.Class]string{
	platform.ClassUnauthenticated: "it refuses the credentials",
	platform.ClassForbidden:       "the credentials do not allow what is needed",
	platform.ClassQuota:           "a quota is used up",
	platform.ClassExhausted:       "it has no capacity left",
	platform.ClassNotFound:        "it does not have what is asked for",
	platform.ClassConflict:        "the request is in conflict with another one, or with what is there",
	platform.ClassConfiguration:   "it refuses the request as invalid",
	platform.ClassTransient:       "it has a failure",
}

// Unusable returns the error for a host that cannot be used as a DNS service, and writes the reason to the log. Nobody can tell from the
// error why.
func Unusable(target string, cause error) error {
	target = target[:min(len(target), maxTarget)]
	klog.InfoS("DNS service cannot be used", "target", target, "reason", reason(cause))
	return platform.NewError(platform.ClassTransient,
		"%s could not be used as a DNS service: check its address and port, its protocol and certificate, and with the operator of the seed whether it may be connected to", target)
}

// Refused returns the error for an answer of a service, without what it says.
func Refused(target string, class platform.Class, status int) error {
	said := words[class]
	if class == platform.ClassTransient && (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) {
		said = "it asks for time"
	}
	return platform.NewError(class, "%s: %s", target[:min(len(target), maxTarget)], said)
}

// reason says in words of our own what a failure was.
func reason(err error) string {
	var (
		lookup  *net.DNSError
		network *net.OpError
	)
	switch {
	case errors.Is(err, transport.ErrForbidden):
		return transport.ErrForbidden.Error()
	case transport.IsUntrusted(err):
		return "its certificate is not trusted"
	case errors.As(err, &lookup):
		return "its addresses cannot be looked up"
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded):
		return "it did not answer in time"
	case errors.As(err, &network):
		return "the connection failed: " + strings.Join([]string{network.Op, network.Net}, " ")
	default:
		return "it does not speak the protocol"
	}
}
