// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package rfc2136

import (
	"context"
	"crypto/sha256"
	"errors"
	"net"
	"time"

	mdns "github.com/miekg/dns"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// fudge is the permitted clock skew in seconds.
const fudge = 300

// client sends signed messages to one server.
type client struct {
	server, key, algorithm string
	// identity distinguishes clients.
	identity [sha256.Size]byte
	dial     func(ctx context.Context, network, address string) (net.Conn, error)
	messages *mdns.Client
}

// connection sends messages one at a time. It is used for one operation.
type connection struct {
	*client
	conn net.Conn
}

func (c *client) connect() *connection {
	return &connection{client: c}
}

func (c *connection) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// ask sends the message and returns the response. A connection that the server has closed is reopened once: all messages are idempotent.
// Errors are classified; whether a response is an error depends on the question and is left to the caller.
func (c *connection) ask(ctx context.Context, message *mdns.Msg) (*mdns.Msg, error) {
	reused := c.conn != nil
	answer, err := c.send(ctx, message)
	if err != nil && reused && answer == nil && ctx.Err() == nil {
		c.close()
		answer, err = c.send(ctx, message)
	}
	if err != nil && answer == nil {
		c.close()
		return nil, dns.Unusable("DNS server "+c.server, err)
	}
	return answer, c.verify(answer, err)
}

func (c *connection) send(ctx context.Context, message *mdns.Msg) (answer *mdns.Msg, err error) {
	start := time.Now()
	defer func() {
		code := "error"
		if answer != nil {
			code = mdns.RcodeToString[answer.Rcode]
		}
		platform.RequestDuration.WithLabelValues(dns.SiteName, "rfc2136", mdns.OpcodeToString[message.Opcode],
			code).Observe(time.Since(start).Seconds())
	}()
	if c.conn == nil {
		if c.conn, err = c.dial(ctx, "tcp", c.server); err != nil {
			return nil, err
		}
	}
	signed := message.Copy()
	signed.Id = mdns.Id()
	signed.SetTsig(c.key, c.algorithm, fudge, time.Now().Unix())
	// The library's own connection would sign a second message as a continuation of the first.
	answer, _, err = c.messages.ExchangeWithConnContext(ctx, signed, &mdns.Conn{Conn: c.conn})
	return answer, err
}

// verify returns an error unless the server signed the response with the key.
func (c *connection) verify(answer *mdns.Msg, err error) error {
	signature := answer.IsTsig()
	if signature != nil {
		switch signature.Error {
		case mdns.RcodeBadKey:
			return platform.NewError(platform.ClassUnauthenticated, "DNS server %s does not know key %s with algorithm %s", c.server, c.key,
				c.algorithm)
		case mdns.RcodeBadSig, mdns.RcodeBadTrunc:
			return platform.NewError(platform.ClassUnauthenticated, "DNS server %s has a different secret for key %s", c.server, c.key)
		case mdns.RcodeBadTime:
			return platform.NewError(platform.ClassTransient, "DNS server %s rejects the timestamp: the clocks differ by more than %d s",
				c.server, fudge)
		}
	}
	switch {
	case signature != nil && answer.Rcode == mdns.RcodeNotAuth && errors.Is(err, mdns.ErrAuth):
		return nil // the library does not verify such a response, so callers ask again before they act on it
	case err != nil && isTSIG(err):
		return platform.NewError(platform.ClassUnauthenticated, "DNS server %s has a different secret for key %s: %w", c.server, c.key, err)
	case err != nil:
		return dns.Unusable("DNS server "+c.server, err)
	case signature == nil && answer.Rcode == mdns.RcodeServerFailure:
		return platform.NewError(platform.ClassTransient, "DNS server %s failed", c.server)
	case signature == nil:
		return platform.NewError(platform.ClassUnauthenticated, "DNS server %s does not sign its responses (%s)", c.server,
			mdns.RcodeToString[answer.Rcode])
	default:
		return nil
	}
}

func isTSIG(err error) bool {
	for _, tsig := range []error{mdns.ErrAuth, mdns.ErrKey, mdns.ErrKeyAlg, mdns.ErrSecret, mdns.ErrSig, mdns.ErrTime} {
		if errors.Is(err, tsig) {
			return true
		}
	}
	return false
}

// classify returns the error that a response represents, or nil.
func (c *client) classify(answer *mdns.Msg, what string) error {
	class := platform.ClassTransient
	switch answer.Rcode {
	case mdns.RcodeSuccess:
		return nil
	case mdns.RcodeRefused:
		class = platform.ClassForbidden
	case mdns.RcodeNotAuth:
		class = platform.ClassNotFound
	case mdns.RcodeFormatError, mdns.RcodeNotImplemented, mdns.RcodeNotZone:
		class = platform.ClassConfiguration
	case mdns.RcodeYXDomain, mdns.RcodeYXRrset, mdns.RcodeNXRrset, mdns.RcodeNameError:
		class = platform.ClassConflict
	}
	return platform.NewError(class, "DNS server %s answers %s to %s", c.server, mdns.RcodeToString[answer.Rcode], what)
}
