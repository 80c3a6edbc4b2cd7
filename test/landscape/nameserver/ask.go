// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package nameserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
)

const askTimeout = 5 * time.Second

// Answer is what a server answers for a name and a type.
type Answer struct {
	// Values are the values as they stand in a zone file, sorted.
	Values []string
	// TTL is the TTL of the values.
	TTL uint32
}

// Ask asks the server. No values are no error.
func Ask(ctx context.Context, server, name string, kind uint16) (Answer, error) {
	question := new(dns.Msg).SetQuestion(dns.Fqdn(name), kind)
	reply, _, err := (&dns.Client{Net: "tcp", Timeout: askTimeout}).ExchangeContext(ctx, question, server)
	if err != nil {
		return Answer{}, err
	}
	if reply.Rcode != dns.RcodeSuccess && reply.Rcode != dns.RcodeNameError {
		return Answer{}, fmt.Errorf("%s answers %s for %s", server, dns.RcodeToString[reply.Rcode], name)
	}
	var answer Answer
	for _, rr := range reply.Answer {
		if rr.Header().Rrtype == kind {
			answer.Values = append(answer.Values, strings.TrimPrefix(rr.String(), rr.Header().String()))
			answer.TTL = rr.Header().Ttl
		}
	}
	slices.Sort(answer.Values)
	return answer, nil
}

// Update sends the resource records to be inserted to a zone, as somebody else does.
func Update(ctx context.Context, server string, key Key, zone string, rrs ...string) error {
	update := new(dns.Msg).SetUpdate(dns.Fqdn(zone))
	for _, text := range rrs {
		rr, err := dns.NewRR(text)
		if err != nil {
			return err
		}
		update.Insert([]dns.RR{rr})
	}
	update.SetTsig(dns.Fqdn(key.Name), dns.Fqdn(key.Algorithm), 300, time.Now().Unix())
	c := &dns.Client{Net: "tcp", Timeout: askTimeout, TsigSecret: map[string]string{dns.Fqdn(key.Name): key.Secret}}
	reply, _, err := c.ExchangeContext(ctx, update, server)
	if err == nil && reply.Rcode != dns.RcodeSuccess {
		err = fmt.Errorf("%s answers %s to an update of %s", server, dns.RcodeToString[reply.Rcode], zone)
	}
	return err
}
