// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptrace"
	"time"
)

// Look is what a server shows to everyone.
type Look struct {
	// Chains are the chains of certificates that were verified, or else the one that the server showed. The server's own certificate is the
	// first of each. There are none without TLS.
	Chains [][]*x509.Certificate
	// Untrusted is why the certificates were not accepted, nil if they were.
	Untrusted error
	// Date is the time that the server told, zero if it told none. It is exact to a second.
	Date time.Time
	// Offset is how far the server's clock is ahead of the local one, zero if Date is, and Uncertainty how exact that is.
	Offset, Uncertainty time.Duration
}

// Look sends one request without credentials to the configured address. It returns an error if the server does not answer.
func (t *Transport) Look(ctx context.Context) (Look, error) {
	sent := time.Now()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent = time.Now() }})
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, t.options.Server.String(), nil)
	if err != nil {
		return Look{}, err
	}
	response, err := t.send(request)
	if err != nil {
		return refusedLook(err)
	}
	defer response.Body.Close()
	look := Look{}
	if state := response.TLS; state != nil {
		look.Chains = state.VerifiedChains
		if len(look.Chains) == 0 {
			look.Chains = [][]*x509.Certificate{state.PeerCertificates}
		}
	}
	look.tell(response.Header.Get("Date"), sent, time.Now())
	return look, nil
}

// tell sets the time. A server tells whole seconds, which it read between sent and received.
func (l *Look) tell(date string, sent, received time.Time) {
	told, err := http.ParseTime(date)
	if err != nil {
		return
	}
	const second = time.Second
	between := received.Sub(sent)
	l.Date = told
	l.Offset, l.Uncertainty = told.Add(second/2).Sub(sent.Add(between/2)), (second+between)/2
}

// refusedLook returns the certificates that were not accepted.
func refusedLook(err error) (Look, error) {
	var refused *tls.CertificateVerificationError
	switch {
	case errors.As(err, &refused):
		return Look{Chains: [][]*x509.Certificate{refused.UnverifiedCertificates}, Untrusted: err}, nil
	case IsUntrusted(err):
		return Look{Untrusted: err}, nil
	}
	return Look{}, err
}
