// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// OwnVariable names the environment variable with the folder of our executables, for who has built all of them before.
const OwnVariable = "HYBRID_EXECUTABLES"

// BuildOwn builds executables of ours into dir, so that a build of somebody else does not change them meanwhile, and returns the folder
// that has them. Packages are paths from the root of the sources. If $HYBRID_EXECUTABLES is set, nothing is built.
func BuildOwn(ctx context.Context, dir string, progress io.Writer, packages ...string) (string, error) {
	if built := os.Getenv(OwnVariable); built != "" {
		return built, nil
	}
	args := append([]string{"build", "-o", dir + string(filepath.Separator)}, packages...)
	cmd := exec.CommandContext(ctx, "go", args...) // #nosec G204 -- our own packages
	cmd.Dir = Root()
	cmd.Stdout, cmd.Stderr = progress, progress
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("build %q: %w", packages, err)
	}
	return dir, nil
}

// WithOwn returns the executables with ours from the folder.
func (b Binaries) WithOwn(dir string) Binaries {
	b.Driver = filepath.Join(dir, filepath.Base(b.Driver))
	b.Extension = filepath.Join(dir, filepath.Base(b.Extension))
	return b
}
