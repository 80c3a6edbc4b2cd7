// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	kubernetesclient "github.com/gardener/gardener/pkg/client/kubernetes"
	reconcilerutils "github.com/gardener/gardener/pkg/controllerutils/reconciler"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/dnsrecord"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/extension"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

const (
	namespace = "shoot--mallory--x"
	password  = "hush-hush-password"
	token     = "token-of-the-session"
	// loot is what nobody must see.
	loot = "AKIA-of-the-seed"
)

// names is a resolver: each name has a list of answers, of which the last is given for ever.
type names struct {
	mutex   sync.Mutex
	answers map[string][]string
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if address, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{address}, nil
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	answers := n.answers[host]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(answers) > 1 {
		n.answers[host] = answers[1:]
	}
	return []netip.Addr{netip.MustParseAddr(answers[0])}, nil
}

// server is a web server on an address of its own that counts what comes.
type server struct {
	*httptest.Server
	requests atomic.Int32
}

func serve(address string, tls bool, handler http.HandlerFunc) *server {
	GinkgoHelper()
	s := &server{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		handler(w, r)
	}))
	Expect(s.Listener.Close()).To(Succeed())
	var err error
	s.Listener, err = net.Listen("tcp", address+":0")
	Expect(err).NotTo(HaveOccurred())
	if tls {
		s.StartTLS()
	} else {
		s.Start()
	}
	DeferCleanup(s.Close)
	return s
}

func (s *server) port() string {
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	return port
}

func (s *server) authority() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

// stolen answers everything with what nobody must see.
func stolen(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"Code": "Success", "AccessKeyId": %q, "message": %q, "zones": []}`, loot, loot)
}

// keystone is one that the attacker runs at a public address. It lets everybody in, and says that Designate is at the endpoint.
func keystone(endpoint func() string, rest http.HandlerFunc) *server {
	return serve("127.0.0.1", true, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/v3/auth/tokens") {
			rest(w, r)
			return
		}
		w.Header().Set("X-Subject-Token", token)
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"token": map[string]any{
			"expires_at": "2999-01-01T00:00:00.000000Z", "project": map[string]any{"id": "p"},
			"catalog": []any{map[string]any{"type": "dns", "endpoints": []any{map[string]any{
				"interface": "public", "region": "R", "region_id": "R", "url": endpoint(),
			}}}},
		}})
	})
}

var attacks atomic.Int32

// attempt is what a tenant gets to see.
type attempt struct {
	// text is the description of the error, without the address that the tenant gave himself, and seen all that is in status and events.
	text, seen string
	codes      []gardencorev1beta1.ErrorCode
}

// attacker is a tenant. What has the address 127.0.0.1 stands for public hosts.
type attacker struct {
	guard transport.Guard
	// spec changes the DNSRecord and secret the Secret.
	spec   func(*extensionsv1alpha1.DNSRecord)
	secret func(*corev1.Secret)
	// forced has the record deleted by force after, which tells of errors by events.
	forced bool
}

func newAttacker() *attacker {
	return &attacker{guard: transport.Guard{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Resolver: &names{}}}
}

// try has a DNSRecord with the Secret reconciled by the extension's own code.
func (a *attacker) try(ctx context.Context, kind string, keys map[string]string) attempt {
	GinkgoHelper()
	record := &extensionsv1alpha1.DNSRecord{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "record"},
		Spec: extensionsv1alpha1.DNSRecordSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: kind},
			SecretRef:   corev1.SecretReference{Namespace: namespace, Name: "dns"},
			Name:        "api.example.test", RecordType: "A", Values: []string{"192.0.2.1"},
		},
	}
	if a.spec != nil {
		a.spec(record)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "dns"}, Data: map[string][]byte{}}
	for key, value := range keys {
		secret.Data[key] = []byte(value)
	}
	if a.secret != nil {
		a.secret(secret)
	}
	c := fakeclient.NewClientBuilder().WithScheme(kubernetesclient.SeedScheme).WithObjects(record,
		secret).WithStatusSubresource(record).Build()
	recorder := events.NewFakeRecorder(10)
	actuator := dnsrecord.NewActuator(c, c, recorder, extension.DNS(&a.guard))
	err := actuator.Reconcile(ctx, logr.Discard(), record, nil)
	Expect(err).To(HaveOccurred())
	err = reconcilerutils.ReconcileErrCauseOrErr(err)
	Expect(len(err.Error())).To(BeNumerically("<=", 1024))

	if a.forced {
		_ = actuator.ForceDelete(ctx, logr.Discard(), record, nil) // the event counts
	}
	Expect(c.Get(ctx, client.ObjectKeyFromObject(record), record)).To(Succeed())
	status, encodingErr := json.Marshal(record.Status)
	Expect(encodingErr).NotTo(HaveOccurred())
	result := attempt{text: err.Error(), seen: err.Error() + string(status), codes: v1beta1helper.ExtractErrorCodes(err)}
	for len(recorder.Events) > 0 {
		result.seen += <-recorder.Events
	}
	for _, key := range []string{"authURL", "server"} {
		if keys[key] != "" {
			result.text = strings.ReplaceAll(result.text, keys[key], "<target>")
		}
	}
	Expect(result.seen).NotTo(Or(ContainSubstring(loot), ContainSubstring(password), ContainSubstring(token)))
	return result
}

// login is a Secret for the Keystone. Nobody else has the user, so that no session is shared.
func login(authURL, authority string) map[string]string {
	return map[string]string{
		"authURL": authURL, "caCert": authority, "region": "R",
		"domainName": "d", "tenantName": "t", "username": fmt.Sprint("mallory-", attacks.Add(1)), "password": password,
	}
}

func (a *attacker) designate(ctx context.Context, s *server) attempt {
	GinkgoHelper()
	return a.try(ctx, v1alpha1.DNSTypeDesignate, login(s.URL+"/v3", s.authority()))
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	Expect(err).NotTo(HaveOccurred())
	return u.Host
}

// unusable is all that is said of a host that is no DNS service to us.
const unusable = "could not be used as a DNS service: check its address and port, its protocol and certificate, " +
	"and with the operator of the seed whether it may be connected to"
