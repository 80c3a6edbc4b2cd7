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

// The host of a service with its own credentials is configured by a tenant. So that messages do not reveal what the seed can reach, one
// text covers all reasons why the host cannot be used, and its responses are never passed on.

// maxTarget limits how much of a host's address is shown.
const maxTarget = 300

// classMessages replace the messages of responses.
var classMessages = map[platform.Class]string{
	platform.ClassUnauthenticated: "it rejects the credentials",
	platform.ClassForbidden:       "the credentials lack permissions",
	platform.ClassQuota:           "a quota is used up",
	platform.ClassExhausted:       "it has no capacity left",
	platform.ClassNotFound:        "the requested object does not exist",
	platform.ClassConflict:        "the request conflicts with another one or with an existing object",
	platform.ClassConfiguration:   "it rejects the request as invalid",
	platform.ClassTransient:       "it failed",
}

// Unusable returns the error for a host that cannot be used as a DNS service. The reason is logged but not revealed by the error.
func Unusable(target string, cause error) error {
	target = target[:min(len(target), maxTarget)]
	klog.InfoS("DNS service cannot be used", "target", target, "reason", reason(cause))
	return platform.NewError(platform.ClassTransient,
		"%s could not be used as a DNS service: check its address and port, its protocol and certificate, "+
			"and with the operator of the seed whether it may be connected to", target)
}

// Refused returns the error for a response of a service, without its message.
func Refused(target string, class platform.Class, status int) error {
	said := classMessages[class]
	if class == platform.ClassTransient && (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) {
		said = "it asked clients to back off"
	}
	return platform.NewError(class, "%s: %s", target[:min(len(target), maxTarget)], said)
}

// reason describes a failure in our own words.
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
