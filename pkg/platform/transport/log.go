// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	// LogVariable is the environment variable with the names of the sites whose requests are logged, separated by commas, or AllSites.
	LogVariable = "REQUEST_LOG_SITES"
	// AllSites stands for all sites in LogVariable.
	AllSites = "*"
)

var (
	// requestIDs are the headers of responses with what a site calls a request: OpenStack, the older name of Nova, and Kubernetes.
	requestIDs = []string{"X-Openstack-Request-Id", "X-Compute-Request-Id", "Audit-Id"}
	// requestIDRegexp is the form of these IDs. A hostile site could send a credential back in their place.
	requestIDRegexp = regexp.MustCompile(`^(req-)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

// loggedSites reads LogVariable once.
var loggedSites = sync.OnceValue(func() []string {
	return strings.FieldsFunc(os.Getenv(LogVariable), func(r rune) bool { return r == ',' || r == ' ' })
})

// isLogged reports whether requests to the site are logged.
func isLogged(site string) bool {
	sites := loggedSites()
	return slices.Contains(sites, site) || slices.Contains(sites, AllSites)
}

// log logs a request without its headers, body, user and query, which can have credentials.
func (t *Transport) log(request *http.Request, response *http.Response, service, code string, took time.Duration) {
	id := ""
	if response != nil && !t.options.Untrusted {
		for _, name := range requestIDs {
			if value := response.Header.Get(name); requestIDRegexp.MatchString(value) {
				id = value
				break
			}
		}
	}
	klog.InfoS("Request to site", "site", t.options.Site, "service", service, "method", request.Method, "host", request.URL.Host,
		"path", platform.Printable(request.URL.Path), "code", code, "duration", took.Round(time.Millisecond), "requestID", id)
}
