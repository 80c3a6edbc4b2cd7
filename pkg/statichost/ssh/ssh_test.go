// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package ssh_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	cryptossh "golang.org/x/crypto/ssh"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/statichost/ssh"
)

// server is an SSH server that runs commands of its own.
type server struct {
	listener net.Listener
	config   *cryptossh.ServerConfig
	// authentications counts how often somebody tried to sign in.
	authentications atomic.Int32
}

// commands are what the server does with its channel, and the exit code; a negative one is none.
var commands = map[string]func(channel cryptossh.Channel, conn net.Conn) int{
	"echo": func(channel cryptossh.Channel, _ net.Conn) int { _, _ = io.Copy(channel, channel); return 0 },
	"fail": func(channel cryptossh.Channel, _ net.Conn) int { _, _ = channel.Write([]byte("why")); return 7 },
	"flood": func(channel cryptossh.Channel, _ net.Conn) int {
		for {
			if _, err := channel.Write(make([]byte, 32<<10)); err != nil {
				return -1
			}
		}
	},
	"noise": func(channel cryptossh.Channel, _ net.Conn) int {
		for range 100 {
			_, _ = channel.Stderr().Write(make([]byte, 32<<10))
		}
		return 0
	},
	"hang": func(channel cryptossh.Channel, _ net.Conn) int {
		_, _ = io.Copy(io.Discard, channel)
		<-forever
		return -1
	},
	"cut": func(_ cryptossh.Channel, conn net.Conn) int { conn.Close(); return -1 },
	"end": func(cryptossh.Channel, net.Conn) int { return -1 },
}

var forever = make(chan struct{})

func serve(hostKeys ...cryptossh.Signer) *server {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { _ = listener.Close() })
	s := &server{listener: listener}
	s.config = &cryptossh.ServerConfig{}
	s.config.PublicKeyCallback = func(_ cryptossh.ConnMetadata, key cryptossh.PublicKey) (*cryptossh.Permissions, error) {
		s.authentications.Add(1)
		if !bytes.Equal(key.Marshal(), clientKey.PublicKey().Marshal()) {
			return nil, errors.New("another key")
		}
		return &cryptossh.Permissions{}, nil
	}
	for _, key := range hostKeys {
		s.config.AddHostKey(key)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go s.talk(conn)
		}
	}()
	return s
}

func (s *server) talk(conn net.Conn) {
	defer conn.Close()
	_, channels, requests, err := cryptossh.NewServerConn(conn, s.config)
	if err != nil {
		return
	}
	go cryptossh.DiscardRequests(requests)
	for offered := range channels {
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		go func() {
			for request := range requests {
				_ = request.Reply(request.Type == "exec", nil)
				if request.Type != "exec" {
					continue
				}
				go func() {
					if code := commands[string(request.Payload[4:])](channel, conn); code >= 0 {
						_, _ = channel.SendRequest("exit-status", false, binary.BigEndian.AppendUint32(nil, uint32(code)))
					}
					channel.Close()
				}()
			}
		}()
	}
}

func (s *server) target(hostKeys ...string) ssh.Target {
	return ssh.Target{Address: "127.0.0.1", Port: int32(s.listener.Addr().(*net.TCPAddr).Port), User: "root", PrivateKey: clientPEM,
		HostKeys: hostKeys}
}

func pinned(key cryptossh.Signer) string {
	return strings.TrimSpace(string(cryptossh.MarshalAuthorizedKey(key.PublicKey())))
}

func signer(key any) cryptossh.Signer {
	s, err := cryptossh.NewSignerFromKey(key)
	if err != nil {
		panic(err)
	}
	return s
}

func newEd25519() ed25519.PrivateKey {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		panic(err)
	}
	return key
}

func encoded(key any) []byte {
	block, err := cryptossh.MarshalPrivateKey(key.(ed25519.PrivateKey), "")
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(block)
}

var (
	clientPrivate = newEd25519()
	clientKey     = signer(clientPrivate)
	clientPEM     = encoded(clientPrivate)
	rsaKey, _     = rsa.GenerateKey(rand.Reader, 2048)
	ecdsaKey, _   = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	first, second = signer(newEd25519()), signer(newEd25519())
)

var _ = Describe("Dial", func() {
	DescribeTable("should connect to a host with a pinned key",
		func(ctx SpecContext, key cryptossh.Signer) {
			s := serve(key)
			client, err := ssh.Dial(ctx, s.target(pinned(second), pinned(key)))
			Expect(err).NotTo(HaveOccurred())
			client.Close()
		},
		Entry("Ed25519", first),
		Entry("RSA, by SHA-2", signer(rsaKey)),
		Entry("ECDSA", signer(ecdsaKey)),
	)

	It("should use the pinned key of a host with several", func(ctx SpecContext) {
		client, err := ssh.Dial(ctx, serve(first, signer(rsaKey)).target(pinned(signer(rsaKey))))
		Expect(err).NotTo(HaveOccurred())
		client.Close()
	})

	DescribeTable("should not sign in to a host without a pinned key",
		func(ctx SpecContext, key cryptossh.Signer) {
			s := serve(key)
			_, err := ssh.Dial(ctx, s.target(pinned(first)))
			Expect(err).To(MatchError(ssh.ErrHostKey))
			Expect(s.authentications.Load()).To(BeZero())
		},
		Entry("of the same type", second),
		Entry("of another type", signer(rsaKey)),
	)

	It("should not accept SHA-1 for RSA", func(ctx SpecContext) {
		weak, err := cryptossh.NewSignerWithAlgorithms(signer(rsaKey).(cryptossh.AlgorithmSigner), []string{cryptossh.KeyAlgoRSA})
		Expect(err).NotTo(HaveOccurred())
		_, err = ssh.Dial(ctx, serve(weak).target(pinned(signer(rsaKey))))
		Expect(err).To(HaveOccurred())
	})

	It("should say that a host does not accept the key", func(ctx SpecContext) {
		target := serve(first).target(pinned(first))
		target.PrivateKey = encoded(newEd25519())
		_, err := ssh.Dial(ctx, target)
		Expect(err).To(MatchError(ssh.ErrAuthentication))
	})

	DescribeTable("should say what is wrong with the configuration, without quoting it",
		func(ctx SpecContext, change func(*ssh.Target)) {
			target := serve(first).target(pinned(first))
			change(&target)
			_, err := ssh.Dial(ctx, target)
			Expect(err).To(MatchError(ssh.ErrConfiguration))
			Expect(err.Error()).NotTo(ContainSubstring("verysecret"))
		},
		Entry("no private key", func(t *ssh.Target) { t.PrivateKey = nil }),
		Entry("a text", func(t *ssh.Target) { t.PrivateKey = []byte("verysecret") }),
		Entry("a host key that is none", func(t *ssh.Target) { t.HostKeys = []string{"ssh-ed25519 AAAA"} }),
	)

	DescribeTable("should end", func(ctx SpecContext, talk func(net.Conn)) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { _ = listener.Close() })
		go func() {
			conn, err := listener.Accept()
			if err == nil {
				talk(conn)
			}
		}()
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		_, err = ssh.Dial(short, (&server{listener: listener}).target(pinned(first)))
		Expect(err).To(HaveOccurred())
		Expect(err).NotTo(MatchError(ssh.ErrAuthentication))
	},
		Entry("if nobody says a word", func(net.Conn) { <-forever }),
		Entry("if the other end hangs up", func(conn net.Conn) { conn.Close() }),
		Entry("if it is another protocol", func(conn net.Conn) { _, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")); conn.Close() }),
		Entry("if it talks for ever", func(conn net.Conn) {
			for {
				if _, err := conn.Write([]byte("hello\r\n")); err != nil {
					return
				}
			}
		}),
	)

	It("should say that nobody listens", func(ctx SpecContext) {
		s := serve(first)
		s.listener.Close()
		_, err := ssh.Dial(ctx, s.target(pinned(first)))
		var network net.Error
		Expect(errors.As(err, &network)).To(BeTrue())
	})
})

var _ = Describe("Run", func() {
	var client *ssh.Client

	BeforeEach(func(ctx SpecContext) {
		var err error
		client, err = ssh.Dial(ctx, serve(first).target(pinned(first)))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(client.Close)
	})

	It("should return answers and exit codes", func(ctx SpecContext) {
		answer, code, err := client.Run(ctx, "echo", []byte("hello"))
		Expect(string(answer), code, err).To(Equal("hello"))
		answer, code, err = client.Run(ctx, "fail", nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(answer)).To(Equal("why"))
		Expect(code).To(Equal(7))
	})

	It("should not keep what is written to stderr", func(ctx SpecContext) {
		answer, code, err := client.Run(ctx, "noise", nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(code).To(BeZero())
		Expect(answer).To(BeEmpty())
	})

	It("should end answers without end", func(ctx SpecContext) {
		_, _, err := client.Run(ctx, "flood", nil)
		Expect(err).To(MatchError(ssh.ErrAnswer))
	})

	DescribeTable("should notice the end of the connection",
		func(ctx SpecContext, command string) {
			_, _, err := client.Run(ctx, command, nil)
			Expect(err).To(MatchError(ssh.ErrConnection))
		},
		Entry("cut", "cut"),
		Entry("ended without an exit code", "end"),
	)

	It("should end commands with the context", func(ctx SpecContext) {
		short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		_, _, err := client.Run(short, "hang", make([]byte, 8<<20))
		Expect(err).To(MatchError(context.DeadlineExceeded))
		_, _, err = client.Run(ctx, "echo", nil)
		Expect(err).To(MatchError(ssh.ErrConnection))
	})
})
