// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package garden

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// registryAddress is the address of the registry in the network of the garden, which pods reach, too.
const registryAddress = "10.240.0.4"

// serveRegistry serves the registry in the network of the garden.
func (g *Garden) serveRegistry() error {
	registry := g.options.Registry
	if registry == nil {
		return nil
	}
	if err := writeFile(g.registryAuthority(), registry.Authority); err != nil {
		return err
	}
	listener, err := g.Network.Listen(net.JoinHostPort(registryAddress, "443"))
	if err != nil {
		return err
	}
	registry.Serve(listener, g.Network.DialContext)
	return nil
}

func (g *Garden) registryAuthority() string { return g.path("registry.crt") }

// Run runs a script with bash in a folder, which is also the home of its user, and returns what it writes. The script is in the network of
// the garden, resolves the names of Services in the first seed, and trusts the registry.
func (g *Garden) Run(ctx context.Context, dir, script string) (string, error) {
	log := filepath.Join(dir, ".output")
	if err := os.RemoveAll(log); err != nil {
		return "", err
	}
	process := g.process("script", "/bin/bash", "-c", script)
	process.LogFile = log
	process.Env = append(process.Env, "HOME="+dir, "SSL_CERT_FILE="+g.registryAuthority(),
		"PATH="+filepath.Join(landscape.Root(), "hack", "bin")+":"+os.Getenv("PATH"))
	enter := process.Prepare
	process.Prepare = func(cmd *exec.Cmd) error {
		cmd.Dir = dir
		return enter(cmd)
	}
	if err := process.Start(); err != nil {
		return "", err
	}
	defer process.Kill()
	err := process.Wait(ctx)
	output, readErr := os.ReadFile(log) // #nosec G304 -- written by the script
	if err == nil {
		err = readErr
	}
	return string(output), err
}
