// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package ssh runs commands on hosts whose keys are pinned. A host that is another one, that never answers, or that answers without
// end gets an error.
package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"golang.org/x/crypto/ssh"
)

const (
	// dialTimeout limits how long a connection may take until the host has accepted the key.
	dialTimeout = 15 * time.Second
	// maxAnswer limits the size of what a command may answer.
	maxAnswer = 64 << 10
)

var (
	// ErrConfiguration means that the target cannot be used as it is.
	ErrConfiguration = errors.New("invalid configuration")
	// ErrHostKey means that the host has none of the pinned keys.
	ErrHostKey = errors.New("the host has none of the pinned keys")
	// ErrAuthentication means that the host does not accept the user with the key.
	ErrAuthentication = errors.New("the host does not accept the user with the key")
	// ErrConnection means that the connection ended, or that there is no SSH server.
	ErrConnection = errors.New("the connection ended")
	// ErrAnswer means that the host answered more than a command can.
	ErrAnswer = errors.New("the answer is too long")

	keepAlive = net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3}
)

// Target is where a client connects to, and as whom.
type Target struct {
	// Address and Port are those of the SSH server.
	Address string
	Port    int32
	// User is who signs in with the private key in the format of OpenSSH.
	User       string
	PrivateKey []byte
	// HostKeys are the keys that the host may have, in the format of OpenSSH.
	HostKeys []string
}

// Client is a connection to a host.
type Client struct {
	client *ssh.Client
}

// Dial connects to the host and signs in. Nothing is said to a host without a pinned key. The context limits only Dial.
func Dial(ctx context.Context, target Target) (*Client, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	signer, err := ssh.ParsePrivateKey(target.PrivateKey)
	if err != nil {
		// The error of the library may quote the key.
		return nil, fmt.Errorf("%w: the private key is not one in the format of OpenSSH without a passphrase", ErrConfiguration)
	}
	pinned, algorithms, err := parseHostKeys(target.HostKeys)
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort(target.Address, strconv.Itoa(int(target.Port)))
	conn, err := (&net.Dialer{KeepAliveConfig: keepAlive}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	var isPinned bool
	connection, channels, requests, err := ssh.NewClientConn(conn, address, &ssh.ClientConfig{
		User:              target.User,
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyAlgorithms: algorithms,
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			if isPinned = pinned[string(key.Marshal())]; !isPinned {
				return ErrHostKey
			}
			return nil
		},
	})
	if err == nil && stop() {
		return &Client{client: ssh.NewClient(connection, channels, requests)}, nil
	}
	conn.Close()
	var noAlgorithm *ssh.AlgorithmNegotiationError
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("connecting: %w", ctx.Err())
	case errors.Is(err, ErrHostKey), errors.As(err, &noAlgorithm) && !isPinned:
		return nil, ErrHostKey
	case isPinned && !isCut(err):
		return nil, ErrAuthentication
	default:
		return nil, fmt.Errorf("%w before the SSH server accepted the key, or the server is not one of SSH", ErrConnection)
	}
}

// isCut reports whether the connection ended.
func isCut(err error) bool {
	var network net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &network)
}

// parseHostKeys returns the keys, and the algorithms of signatures that they can make.
func parseHostKeys(texts []string) (map[string]bool, []string, error) {
	keys, algorithms := map[string]bool{}, []string{}
	for _, text := range texts {
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text))
		if err != nil {
			return nil, nil, fmt.Errorf("%w: a host key is not one in the format of OpenSSH", ErrConfiguration)
		}
		keys[string(key.Marshal())] = true
		if key.Type() == ssh.KeyAlgoRSA {
			algorithms = append(algorithms, ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSASHA512)
			continue
		}
		algorithms = append(algorithms, key.Type())
	}
	return keys, algorithms, nil
}

// Run runs the command with the input, and returns what it answered and its exit code. Everything else is an error, such as a context
// that ends before the command: then the connection is closed, and the command may have run or not.
func (c *Client) Run(ctx context.Context, command string, input []byte) ([]byte, int, error) {
	stop := context.AfterFunc(ctx, c.Close)
	defer stop()
	session, err := c.client.NewSession()
	if err != nil {
		return nil, 0, c.explain(ctx, err)
	}
	defer session.Close()
	output := &limited{end: c.Close}
	session.Stdin, session.Stdout = bytes.NewReader(input), output
	err = session.Run(command)
	var exit *ssh.ExitError
	switch {
	case output.exceeded:
		return nil, 0, ErrAnswer
	case err == nil:
		return output.answer.Bytes(), 0, nil
	case ctx.Err() == nil && errors.As(err, &exit) && exit.Signal() == "":
		return output.answer.Bytes(), exit.ExitStatus(), nil
	default:
		return nil, 0, c.explain(ctx, err)
	}
}

// explain returns an error without a text of the host.
func (c *Client) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("running a command: %w", ctx.Err())
	}
	var refused *ssh.OpenChannelError
	if errors.As(err, &refused) {
		return fmt.Errorf("%w: the SSH server refuses to run commands", ErrConnection)
	}
	return fmt.Errorf("%w during a command", ErrConnection)
}

// Close ends the connection.
func (c *Client) Close() {
	c.client.Close()
}

// limited keeps an answer of limited size, and ends the connection if there is more.
type limited struct {
	answer   bytes.Buffer
	exceeded bool
	end      func()
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	if l.exceeded || l.answer.Len()+len(p) > maxAnswer {
		l.exceeded = true
		l.end()
		return 0, ErrAnswer
	}
	return l.answer.Write(p)
}
