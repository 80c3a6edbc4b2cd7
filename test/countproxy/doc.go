// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package countproxy is a counting, fault-injecting reverse proxy for plain HTTP APIs that hand out each other's URLs, as an
// OpenStack catalog, paging links and version documents do. One listener stands in front of each service. Every base URL of
// a service in a JSON or XML body or in a Location or Link header is replaced by the listener's own, so that a client that
// starts at one listener stays behind the proxy.
//
// Bodies, header values and tokens are never kept. Responses are buffered whole: streams and websockets do not work.
package countproxy
