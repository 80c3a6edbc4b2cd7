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

// fudge is by how many seconds the clocks may differ.
const fudge = 300

// client sends signed messages to one server.
type client struct {
	server, key, algorithm string
	// identity tells clients apart.
	identity [sha256.Size]byte
	dial     func(ctx context.Context, network, address string) (net.Conn, error)
	messages *mdns.Client
}

// connection sends messages one after the other. It is made for one operation.
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

// ask sends the message and returns the answer. A connection that the server closed meanwhile is opened again once: all messages can
// be repeated. The error is classified unless the server answered: what an answer means depends on the question.
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
	// The library's connection would sign a second message as the continuation of the first.
	answer, _, err = c.messages.ExchangeWithConnContext(ctx, signed, &mdns.Conn{Conn: c.conn})
	return answer, err
}

// verify returns an error if the answer is not one that the server signed with the key.
func (c *connection) verify(answer *mdns.Msg, err error) error {
	signature := answer.IsTsig()
	if signature != nil {
		switch signature.Error {
		case mdns.RcodeBadKey:
			return platform.NewError(platform.ClassUnauthenticated, "DNS server %s does not know the key %s with algorithm %s", c.server, c.key,
				c.algorithm)
		case mdns.RcodeBadSig, mdns.RcodeBadTrunc:
			return platform.NewError(platform.ClassUnauthenticated, "DNS server %s has another secret for the key %s", c.server, c.key)
		case mdns.RcodeBadTime:
			return platform.NewError(platform.ClassTransient, "DNS server %s refuses the time of the message: the clocks differ by more than %d s",
				c.server, fudge)
		}
	}
	switch {
	case signature != nil && answer.Rcode == mdns.RcodeNotAuth && errors.Is(err, mdns.ErrAuth):
		return nil // the library does not verify such an answer, so who acts on it asks again
	case err != nil && isTSIG(err):
		return platform.NewError(platform.ClassUnauthenticated, "DNS server %s has another secret for the key %s: %w", c.server, c.key, err)
	case err != nil:
		return dns.Unusable("DNS server "+c.server, err)
	case signature == nil && answer.Rcode == mdns.RcodeServerFailure:
		return platform.NewError(platform.ClassTransient, "DNS server %s has a failure", c.server)
	case signature == nil:
		return platform.NewError(platform.ClassUnauthenticated, "DNS server %s does not sign its answer (%s)", c.server,
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

// classify returns the error that an answer stands for, nil if it is none.
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
