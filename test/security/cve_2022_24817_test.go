// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// A kubeconfig runs a command, reads a file, impersonates or names a proxy.
var _ = Describe("CVE-2022-24817", func() {
	It("should be refused in the Secret of a shoot", func() {
		for _, key := range []string{"rack.kubeconfig", "rack.exec", "rack.proxy", "rack.server", "rack.insecure", "kubeconfig", "rack.ca"} {
			errs := validation.ValidateSecret(map[string][]byte{key: []byte("apiVersion: v1")}, field.NewPath("data"))
			Expect(errs).NotTo(BeEmpty(), key)
		}
	})

	It("should run, read and ask nothing in the seed", func(ctx SpecContext) {
		dir := GinkgoT().TempDir()
		victim := serve("127.0.0.1", true, stolen)
		var asked http.Header
		inventory := serve("127.0.0.1", true, func(w http.ResponseWriter, r *http.Request) {
			asked = r.Header
			w.WriteHeader(http.StatusForbidden)
		})
		secret := filepath.Join(dir, "token")
		Expect(os.WriteFile(secret, []byte(loot), 0o600)).To(Succeed())
		kubeconfig := fmt.Sprintf(`
apiVersion: v1
kind: Config
current-context: x
contexts: [{name: x, context: {cluster: x, user: x}}]
clusters: [{name: x, cluster: {server: %q, proxy-url: %q, insecure-skip-tls-verify: true}}]
users:
- name: x
  user:
    exec: {apiVersion: client.authentication.k8s.io/v1, command: touch, args: [%q], interactiveMode: Never}
    tokenFile: %q
    as: system:admin
`, victim.URL, victim.URL, filepath.Join(dir, "executed"), secret)
		// In one line it passes for the value of a key.
		line, err := yaml.YAMLToJSON([]byte(kubeconfig))
		Expect(err).NotTo(HaveOccurred())
		connection := v1alpha1.MetalConnection{Server: inventory.URL, Namespace: "n", TLS: &v1alpha1.TLS{CACert: inventory.authority()}}
		sessions := client.NewSessions()
		DeferCleanup(sessions.Close)
		ping := func(ctx context.Context, kubeconfig string, credentials site.Credentials) error {
			for _, key := range []string{"kubeconfig", "exec", "tokenFile", "as", "server", "proxy"} {
				credentials[key] = kubeconfig
			}
			session, err := sessions.Get(ctx, "rack", connection, credentials)
			if err != nil {
				return err
			}
			return session.Client().List(ctx, &metal3v1alpha1.BareMetalHostList{})
		}

		Expect(ping(ctx, kubeconfig,
			site.Credentials{"token": "t"})).To(MatchError(ContainSubstring("must be text in UTF-8 without line breaks")))
		Expect(ping(ctx, string(line),
			site.Credentials{})).To(MatchError(ContainSubstring("set either token or both clientCertificate and clientKey")))
		Expect(asked).To(BeNil())
		err = ping(ctx, string(line), site.Credentials{"token": "t"})
		Expect(err).To(HaveOccurred())
		Expect(err).NotTo(MatchError(ContainSubstring(loot)))
		Expect(asked).NotTo(BeNil())
		Expect(asked.Get("Authorization")).To(Equal("Bearer t"))
		Expect(asked).NotTo(HaveKey("Impersonate-User"))
		Expect(victim.requests.Load()).To(BeZero())
		Expect(filepath.Join(dir, "executed")).NotTo(BeAnExistingFile())
	})
})
