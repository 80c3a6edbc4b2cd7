// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// response is an answer as gophercloud reports it.
func response(code int, body string, header ...string) error {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return gophercloud.ErrUnexpectedResponseCode{
		Method: http.MethodGet, URL: "https://nova/v2.1/servers?name=x", Expected: []int{200}, Actual: code, Body: []byte(body),
		ResponseHeader: h,
	}
}

var _ = Describe("Classify", func() {
	const id = "X-Openstack-Request-Id"

	DescribeTable("the answers of the APIs",
		func(err error, class platform.Class, message string) {
			result := Classify(err)
			Expect(platform.ClassOf(result)).To(Equal(class))
			Expect(result).To(MatchError("GET https://nova/v2.1/servers: " + message))
			Expect(IsNotFound(err)).To(Equal(class == platform.ClassNotFound))
			Expect(errors.Is(Classify(result), result)).To(BeTrue(), "a classified error stays as it is")
		},
		Entry("bad request", response(400, `{"badRequest": {"code": 400, "message": "Flavor's disk is too small."}}`),
			platform.ClassConfiguration, "400 Flavor's disk is too small."),
		Entry("unprocessable", response(422, ``), platform.ClassConfiguration, "422 Unprocessable Entity"),
		Entry("not authenticated", response(401, `{"error": {"code": 401, "message": "The request you have made requires authentication."}}`),
			platform.ClassUnauthenticated, "401 The request you have made requires authentication."),
		Entry("not allowed", response(403, `{"forbidden": {"code": 403, "message": "Policy doesn't allow it."}}`), platform.ClassForbidden,
			"403 Policy doesn't allow it."),
		Entry("Nova's quota",
			response(403,
				`{"forbidden": {"code": 403, "message": "Quota exceeded for cores: Requested 4, but already used 20 of 20 cores"}}`),
			platform.ClassQuota, "403 Quota exceeded for cores: Requested 4, but already used 20 of 20 cores"),
		Entry("Octavia's quota", response(403, `{"faultcode": "Client", "faultstring": "Quota has been met for resources: Load Balancer"}`),
			platform.ClassQuota, "403 Quota has been met for resources: Load Balancer"),
		Entry("Nova's quota of key pairs", response(403, `{"forbidden": {"code": 403, "message": "Quota exceeded, too many key pairs."}}`),
			platform.ClassQuota, "403 Quota exceeded, too many key pairs."),
		Entry("Nova's quota of ports", response(403, `{"forbidden": {"code": 403, "message": "Maximum number of ports exceeded"}}`),
			platform.ClassQuota, "403 Maximum number of ports exceeded"),
		Entry("Neutron's quota",
			response(409,
				`{"NeutronError": {"type": "OverQuota", "message": "Quota exceeded for resources: ['port'].", "detail": ""}}`),
			platform.ClassQuota, "409 Quota exceeded for resources: ['port']."),
		Entry("Designate", response(404, `{"code": 404, "type": "zone_not_found", "message": "Could not find Zone", "request_id": "r"}`),
			platform.ClassNotFound, "404 Could not find Zone"),
		Entry("Designate's fields",
			response(400,
				`{"code": 400, "type": "invalid_object", `+
					`"errors": {"errors": [{"path": ["records", 0], "message": "not a record"}, {"path": ["ttl"], "message": "too small"}]}}`),
			platform.ClassConfiguration, "400 not a record; too small"),
		Entry("Designate's quota", response(413, `{"code": 413, "type": "over_quota", "message": "Quota exceeded"}`), platform.ClassQuota,
			"413 Quota exceeded"),
		Entry("Cinder's quota", response(413, `{"overLimit": {"code": 413, "message": "VolumeSizeExceedsAvailableQuota"}}`), platform.ClassQuota,
			"413 VolumeSizeExceedsAvailableQuota"),
		Entry("no address left",
			response(409,
				`{"NeutronError": {"type": "IpAddressGenerationFailure", "message": "No more IP addresses available on network n."}}`),
			platform.ClassExhausted, "409 No more IP addresses available on network n."),
		Entry("no segment left", response(503, `{"NeutronError": {"type": "NoNetworkAvailable", "message": "Unable to create the network."}}`),
			platform.ClassExhausted, "503 Unable to create the network."),
		Entry("in use", response(409, `{"NeutronError": {"type": "NetworkInUse", "message": "There are ports."}}`), platform.ClassConflict,
			"409 There are ports."),
		Entry("not found, of Nova and Neutron", response(404, `{"itemNotFound": {"code": 404, "message": "Instance 1 could not be found."}}`),
			platform.ClassNotFound, "404 Instance 1 could not be found."),
		Entry("not found, of Glance", response(404, `<html>No image</html>`, id, "req-1"), platform.ClassNotFound, "404 Not Found"),
		Entry("gone", response(410, ``, id, "req-1"), platform.ClassNotFound, "410 Gone"),
		Entry("too many requests", response(429, `{"overLimit": {"code": 429, "message": "Slow down."}}`), platform.ClassTransient,
			"429 Slow down."),
		Entry("internal error", response(500, `{"computeFault": {"code": 500, "message": "Unexpected API Error."}}`), platform.ClassTransient,
			"500 Unexpected API Error."),
		Entry("bad gateway", response(502, `<html>`), platform.ClassTransient, "502 Bad Gateway"),
		Entry("unavailable", response(503, ``), platform.ClassTransient, "503 Service Unavailable"),
		Entry("gateway timeout", response(504, ``), platform.ClassTransient, "504 Gateway Timeout"),
		Entry("wrapped", fmt.Errorf("%w", response(403, ``)), platform.ClassForbidden, "403 Forbidden"),
		Entry("refused renewal of the token",
			&gophercloud.ErrUnableToReauthenticate{ErrOriginal: response(401, ``),
				ErrReauth: response(401, ``)}, platform.ClassUnauthenticated, "401 Unauthorized"),
		Entry("refused after the renewal of the token", &gophercloud.ErrErrorAfterReauthentication{ErrOriginal: response(403, ``)},
			platform.ClassForbidden, "403 Forbidden"),
	)

	It("should classify other errors", func() {
		Expect(Classify(nil)).To(Succeed())
		Expect(IsNotFound(nil)).To(BeFalse())
		Expect(platform.ClassOf(Classify(context.DeadlineExceeded))).To(Equal(platform.ClassTransient))
		Expect(errors.Is(Classify(context.DeadlineExceeded), context.DeadlineExceeded)).To(BeTrue())
		Expect(platform.ClassOf(Classify(&gophercloud.ErrEndpointNotFound{}))).To(Equal(platform.ClassConfiguration))
	})

	DescribeTable("how long to wait",
		func(value string, expected any) {
			var classified *platform.Error
			Expect(errors.As(Classify(response(429, ``, "Retry-After", value)), &classified)).To(BeTrue())
			Expect(classified.RetryAfter).To(expected.(OmegaMatcher))
		},
		Entry("not said", "", BeZero()),
		Entry("seconds", "17", Equal(17*time.Second)),
		Entry("a date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), BeNumerically("~", time.Hour, time.Minute)),
		Entry("a date that is over", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat), BeZero()),
		Entry("for ever", "99999999999", Equal(time.Hour)),
		Entry("negative", "-5", BeZero()),
		Entry("nonsense", "soon", BeZero()),
	)
})
