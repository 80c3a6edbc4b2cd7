// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"encoding/base64"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	mdns "github.com/miekg/dns"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
)

const (
	methodQuery  = "QUERY"
	methodUpdate = "UPDATE"
	dnsZone      = "example.test."
	dnsKey       = "key-of-ours."
)

var dnsSecret = base64.StdEncoding.EncodeToString([]byte(secretPassword + secretToken))

func dnsWorld(string) (peer, world, error) {
	return &dnsPeer{records: map[string][]mdns.RR{}}, world{Credentials: map[string]string{"tsigKeyName": dnsKey,
		"tsigSecret": dnsSecret}}, nil
}

func updates() []operation {
	return dnsOperations(partTenantDNS, v1alpha1.DNSTypeRFC2136, func(s *subject) dns.Access {
		credentials := dns.Credentials{"server": s.address}
		for key, value := range s.Credentials {
			credentials[key] = value
		}
		return dns.Access{Credentials: credentials}
	})
}

// dnsPeer is a primary with one zone, which takes updates.
type dnsPeer struct {
	mutex   sync.Mutex
	records map[string][]mdns.RR
}

// ServeHTTP makes it a peer. It speaks DNS alone.
func (*dnsPeer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusNotImplemented)
}

// answer does what the message says. Only an update changes something.
func (p *dnsPeer) answer(question *mdns.Msg) *mdns.Msg {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	answer := new(mdns.Msg).SetReply(question)
	answer.Authoritative = true
	if question.Opcode == mdns.OpcodeUpdate {
		for _, rr := range question.Ns {
			header := rr.Header()
			key := strings.ToLower(header.Name) + mdns.TypeToString[header.Rrtype]
			switch header.Class {
			case mdns.ClassANY:
				delete(p.records, key)
			case mdns.ClassNONE:
				delete(p.records, key)
			default:
				p.records[key] = append(p.records[key], rr)
			}
		}
		answer.Question = question.Question
		return answer
	}
	asked := question.Question[0]
	soa, _ := mdns.NewRR(dnsZone + " 60 SOA ns." + dnsZone + " admin." + dnsZone + " 1 60 60 60 60")
	switch {
	case !strings.HasSuffix(strings.ToLower(asked.Name), dnsZone):
		answer.Rcode, answer.Authoritative = mdns.RcodeRefused, false
	case asked.Qtype == mdns.TypeSOA && strings.EqualFold(asked.Name, dnsZone):
		answer.Answer = []mdns.RR{soa}
	default:
		answer.Answer = p.records[strings.ToLower(asked.Name)+mdns.TypeToString[asked.Qtype]]
		if len(answer.Answer) == 0 {
			answer.Ns = []mdns.RR{soa}
		}
	}
	return answer
}

// signed returns the answer as it is sent.
func signed(answer, question *mdns.Msg, secret string) []byte {
	signature := question.IsTsig()
	if signature == nil {
		raw, _ := answer.Pack()
		return raw
	}
	answer = answer.Copy()
	answer.SetTsig(signature.Hdr.Name, signature.Algorithm, 300, time.Now().Unix())
	raw, _, err := mdns.TsigGenerate(answer, secret, signature.MAC, false)
	if err != nil {
		panic(err)
	}
	return raw
}

// attackedMessage is a message that gets a hostile answer.
type attackedMessage struct {
	conn     net.Conn
	question *mdns.Msg
	answer   *mdns.Msg
	row      *row
}

// send writes a message with its length.
func (a *attackedMessage) send(raw []byte) {
	_, _ = a.conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(raw))), raw...)) // #nosec G115 -- of the test
}

// change sends the good answer with a change, and signed.
func (a *attackedMessage) change(do func(*mdns.Msg)) {
	answer := a.answer.Copy()
	do(answer)
	a.send(signed(answer, a.question, dnsSecret))
}

// text is a record that the far end would like to tell.
func (a *attackedMessage) text() mdns.RR {
	return &mdns.TXT{Hdr: mdns.RR_Header{Name: a.question.Question[0].Name, Rrtype: mdns.TypeTXT, Class: mdns.ClassINET, Ttl: 60},
		Txt: []string{strings.Repeat(marker, 30)}}
}

// messages are all hostile answers of DNS.
func messages() []answer {
	dnsAnswer := func(name string, send func(*attackedMessage)) answer {
		return answer{name: name, message: send, misleading: true}
	}
	result := []answer{
		dnsAnswer("empty message", func(a *attackedMessage) { a.send(nil) }),
		dnsAnswer("garbage", func(a *attackedMessage) { a.send([]byte(strings.Repeat(marker, 20))) }),
		dnsAnswer("header alone", func(a *attackedMessage) { a.send(signed(a.answer, a.question, dnsSecret)[:12]) }),
		dnsAnswer("half a message", func(a *attackedMessage) {
			raw := signed(a.answer, a.question, dnsSecret)
			a.send(raw[:len(raw)/2])
		}),
		dnsAnswer("less than announced", func(a *attackedMessage) {
			raw := signed(a.answer, a.question, dnsSecret)
			_, _ = a.conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(raw))), raw[:len(raw)/2]...)) // #nosec G115 -- of the test
			_ = a.conn.Close()
		}),
		dnsAnswer("names that point at themselves", func(a *attackedMessage) {
			raw := signed(a.answer, a.question, dnsSecret)
			a.send(append(append([]byte{}, raw[:12]...), 0xc0, 12, 0, 1, 0, 1, 0xc0, 12, 0, 1, 0, 1))
		}),
		dnsAnswer("truncated", func(a *attackedMessage) { a.change(func(m *mdns.Msg) { m.Truncated, m.Answer, m.Ns = true, nil, nil }) }),
		dnsAnswer("another ID", func(a *attackedMessage) { a.change(func(m *mdns.Msg) { m.Id++ }) }),
		dnsAnswer("another question", func(a *attackedMessage) {
			a.change(func(m *mdns.Msg) {
				m.Question = []mdns.Question{{Name: "other.test.", Qtype: mdns.TypeTXT, Qclass: mdns.ClassINET}}
			})
		}),
		dnsAnswer("no question", func(a *attackedMessage) { a.change(func(m *mdns.Msg) { m.Question = nil }) }),
		dnsAnswer("a question itself", func(a *attackedMessage) { a.change(func(m *mdns.Msg) { m.Response = false }) }),
		dnsAnswer("records of nobody", func(a *attackedMessage) {
			a.change(func(m *mdns.Msg) { m.Answer, m.Ns = []mdns.RR{a.text()}, nil })
		}),
		dnsAnswer("names without end", func(a *attackedMessage) {
			a.change(func(m *mdns.Msg) {
				m.Answer = []mdns.RR{&mdns.CNAME{Hdr: mdns.RR_Header{Name: a.question.Question[0].Name, Rrtype: mdns.TypeCNAME, Class: mdns.ClassINET},
					Target: a.question.Question[0].Name}}
			})
		}),
		dnsAnswer("64 KiB of records", func(a *attackedMessage) {
			a.change(func(m *mdns.Msg) {
				for range 240 {
					m.Answer = append(m.Answer, a.text())
				}
			})
		}),
		dnsAnswer("no signature", func(a *attackedMessage) {
			raw, _ := a.answer.Pack()
			a.send(raw)
		}),
		dnsAnswer("another secret", func(a *attackedMessage) {
			a.send(signed(a.answer, a.question, base64.StdEncoding.EncodeToString([]byte("another"))))
		}),
		dnsAnswer("an old signature", func(a *attackedMessage) {
			answer := a.answer.Copy()
			signature := a.question.IsTsig()
			answer.SetTsig(signature.Hdr.Name, signature.Algorithm, 300, time.Now().Add(-time.Hour).Unix())
			raw, _, _ := mdns.TsigGenerate(answer, dnsSecret, signature.MAC, false)
			a.send(raw)
		}),
		dnsAnswer("another key", func(a *attackedMessage) {
			answer := a.answer.Copy()
			answer.SetTsig(strings.ToLower(marker)+".", mdns.HmacSHA256, 300, time.Now().Unix())
			raw, _, _ := mdns.TsigGenerate(answer, dnsSecret, a.question.IsTsig().MAC, false)
			a.send(raw)
		}),
		dnsAnswer("HTTP", func(a *attackedMessage) {
			_, _ = io.WriteString(a.conn, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\n\r\n<html>"+strings.Repeat(marker, 20)+"</html>")
			_ = a.conn.Close()
		}),
		dnsAnswer("end of the connection", func(a *attackedMessage) { _ = a.conn.Close() }),
		dnsAnswer("silence", func(a *attackedMessage) { _, _ = io.Copy(io.Discard, a.conn) }),
		dnsAnswer("byte by byte", func(a *attackedMessage) {
			raw := signed(a.answer, a.question, dnsSecret)
			raw = append(binary.BigEndian.AppendUint16(nil, uint16(len(raw))), raw...) // #nosec G115 -- of the test
			ticker := time.NewTicker(time.Second)
			defer ticker.Stop()
			for i := range raw {
				if _, err := a.conn.Write(raw[i : i+1]); err != nil {
					return
				}
				<-ticker.C
			}
		}),
		dnsAnswer("messages without end", func(a *attackedMessage) {
			// As the answer to a transfer of a zone: one message after the other, each of another question.
			for {
				answer := a.answer.Copy()
				answer.Id++
				answer.Answer = []mdns.RR{a.text()}
				raw, _ := answer.Pack()
				framed := append(binary.BigEndian.AppendUint16(nil, uint16(len(raw))), raw...) // #nosec G115 -- of the test
				if _, err := a.conn.Write(framed); err != nil {
					return
				}
			}
		}),
	}
	for _, code := range []int{mdns.RcodeFormatError, mdns.RcodeServerFailure, mdns.RcodeNameError, mdns.RcodeNotImplemented,
		mdns.RcodeRefused, mdns.RcodeNotAuth, 4000} {
		result = append(result,
			dnsAnswer("code "+strings.TrimPrefix(mdns.RcodeToString[code], "NO")+" without signature", func(a *attackedMessage) {
				answer := a.answer.Copy()
				answer.Answer, answer.Ns = nil, nil
				answer.Rcode = code
				if code > 0xf {
					answer.SetEdns0(4096, false)
				}
				raw, _ := answer.Pack()
				a.send(raw)
			}))
	}
	for i := range result {
		switch result[i].name {
		case "messages without end", "64 KiB of records":
			result[i].heavy, result[i].misleading = true, false
		}
	}
	return result
}

// serveDNS is the far end for DNS over TCP, which is all that our code speaks.
func (f *front) serveDNS(zone *dnsPeer) {
	for {
		conn, err := f.listener.Accept()
		if err != nil {
			return
		}
		go f.converse(zone, conn)
	}
}

func (f *front) converse(zone *dnsPeer, conn net.Conn) {
	defer func() { _ = conn.Close() }()
	bad := strings.HasPrefix(conn.LocalAddr().String(), badHost)
	for {
		var length [2]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return
		}
		raw := make([]byte, binary.BigEndian.Uint16(length[:]))
		question := new(mdns.Msg)
		if _, err := io.ReadFull(conn, raw); err != nil || question.Unpack(raw) != nil || len(question.Question) == 0 {
			return
		}
		method, shape := methodQuery,
			mdns.OpcodeToString[question.Opcode]+" "+mdns.TypeToString[question.Question[0].Qtype]+" "+question.Question[0].Name
		if question.Opcode == mdns.OpcodeUpdate {
			method = methodUpdate
			for _, rr := range question.Ns {
				shape += " " + mdns.ClassToString[rr.Header().Class]
			}
		}
		if bad && f.row != nil && f.row.Shape == shape {
			f.hit()
			a := &attackedMessage{conn: conn, question: question, row: f.row, answer: new(mdns.Msg).SetReply(question)}
			if method == methodQuery {
				a.answer = zone.answer(question)
			}
			f.row.answer.message(a)
			continue
		}
		answer := signed(zone.answer(question), question, dnsSecret)
		if bad {
			f.record(exchange{Shape: shape, Method: method, Status: http.StatusOK, Body: answer})
		}
		framed := append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...) // #nosec G115 -- of the test
		if _, err := conn.Write(framed); err != nil {
			return
		}
	}
}
