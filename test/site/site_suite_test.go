// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package site_test builds the site of the documentation and reads it in a browser.
package site_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/skip"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestSite(t *testing.T) {
	suite.Run(t, "Site Suite")
}

// notPossible is the exit code of hack/site.sh where the site cannot be built.
const notPossible = 3

var (
	// folder has the site, and source what it was built from.
	folder, source string
	// address is that of the site, and of pages with mistakes below /wrong/.
	address string
)

var _ = BeforeSuite(func(ctx SpecContext) {
	bin := filepath.Join(landscape.Root(), "hack", "bin")
	folder, source = filepath.Join(bin, "site"), filepath.Join(bin, "site-source")
	build := exec.CommandContext(ctx, filepath.Join(landscape.Root(), "hack", "site.sh"))
	output, err := build.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == notPossible {
		skip.Because(string(output))
	}
	Expect(err).NotTo(HaveOccurred(), string(output))

	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(folder)))
	mux.HandleFunc("/wrong/", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`<html><body><div class="diagram">flowchart LR; a --</div><img src="http://elsewhere.test/a.png">` +
			`<script src="/assets/mermaid.min.js"></script><script src="/assets/diagrams.js"></script><script src="/no.js"></script></body></html>`))
	})
	server := httptest.NewServer(mux)
	DeferCleanup(server.Close)
	address = server.URL
	Expect(os.MkdirAll(screenshots(), 0o750)).To(Succeed())
})

// screenshots is the folder of screenshots.
func screenshots() string {
	return filepath.Join(landscape.Root(), "hack", "bin", "site-screenshots")
}
