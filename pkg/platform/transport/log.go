// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"net/http"
	"os"
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

// requestIDs are the headers of responses with what a site calls a request: OpenStack, the older name of Nova, and Kubernetes.
var requestIDs = []string{"X-Openstack-Request-Id", "X-Compute-Request-Id", "Audit-Id"}

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
			if id = platform.Printable(response.Header.Get(name)); id != "" {
				break
			}
		}
	}
	klog.InfoS("Request to site", "site", t.options.Site, "service", service, "method", request.Method, "host", request.URL.Host,
		"path", platform.Printable(request.URL.Path), "code", code, "duration", took.Round(time.Millisecond), "requestID", id)
}
