// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package rbacaudit_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/test/charts/rbacaudit"
)

const (
	user = "system:serviceaccount:garden:some"

	roles = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: all}
rules:
- {apiGroups: [""], resources: [secrets], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [events], verbs: [create, patch]}
- {apiGroups: [apps], resources: [deployments, deployments/scale], verbs: [patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: own, namespace: garden}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [update], resourceNames: [one, two]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}
---
apiVersion: v1
kind: Secret
metadata: {name: no-role}
`

	bound = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: kubernetes, labels: {kubernetes.io/bootstrapping: rbac-defaults}}
rules:
- {apiGroups: [""], resources: [pods], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: all}
roleRef: {kind: ClusterRole, name: all}
subjects:
- {kind: ServiceAccount, name: some, namespace: garden}
- {kind: User, name: somebody}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: kubernetes}
roleRef: {kind: ClusterRole, name: kubernetes}
subjects:
- {kind: ServiceAccount, name: some, namespace: garden}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: own, namespace: garden}
roleRef: {kind: Role, name: own}
subjects:
- {kind: ServiceAccount, name: some, namespace: garden}
`
)

func objects(text string) []*unstructured.Unstructured {
	GinkgoHelper()
	var all []*unstructured.Unstructured
	for document := range strings.SplitSeq(text, "\n---\n") {
		o := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal([]byte(document), &o.Object)).To(Succeed())
		all = append(all, o)
	}
	return all
}

// line is a line of an audit log.
func line(user, stage, verb, object string, code int, decision string) string {
	return fmt.Sprintf(`{"kind":"Event","stage":%q,"verb":%q,"user":{"username":%q},"objectRef":{%s},`+
		`"responseStatus":{"code":%d},"annotations":{"authorization.k8s.io/decision":%q}}`+"\n",
		stage, verb, user, object, code, decision)
}

func done(verb, object string) string {
	return line(user, "ResponseComplete", verb, object, 200, "allow")
}

func read(log string) []rbacaudit.Request {
	GinkgoHelper()
	requests, err := rbacaudit.Read(strings.NewReader(log), user)
	Expect(err).NotTo(HaveOccurred())
	return requests
}

var _ = Describe("Requests", func() {
	const secrets = `"resource":"secrets","namespace":"a","name":"b"`

	DescribeTable("should be read from an audit log",
		func(log string, expected ...rbacaudit.Request) {
			Expect(read(log)).To(Equal(expected))
		},
		Entry("each once", done("get", secrets)+done("get", secrets),
			rbacaudit.Request{Verb: "get", Resource: "secrets", Namespace: "a", Name: "b"}),
		Entry("of the user alone", line("somebody", "ResponseComplete", "list", secrets, 200, "allow")+done("get", secrets),
			rbacaudit.Request{Verb: "get", Resource: "secrets", Namespace: "a", Name: "b"}),
		Entry("of whom somebody acted as",
			`{"stage":"ResponseComplete","verb":"get","user":{"username":"admin"},`+
				`"impersonatedUser":{"username":"`+user+`"},"objectRef":{`+secrets+`}}`,
			rbacaudit.Request{Verb: "get", Resource: "secrets", Namespace: "a", Name: "b"}),
		Entry("with a watch that goes on", line(user, "ResponseStarted", "watch", `"resource":"secrets"`, 200, "allow"),
			rbacaudit.Request{Verb: "watch", Resource: "secrets"}),
		Entry("with subresources and groups", done("patch", `"resource":"deployments","subresource":"scale","apiGroup":"apps","name":"mcm"`),
			rbacaudit.Request{Verb: "patch", APIGroup: "apps", Resource: "deployments/scale", Name: "mcm"}),
		Entry("without the name of what is created", done("create", secrets),
			rbacaudit.Request{Verb: "create", Resource: "secrets", Namespace: "a"}),
		Entry("with the creation of what is applied", line(user, "ResponseComplete", "patch", secrets, 201, "allow"),
			rbacaudit.Request{Verb: "patch", Resource: "secrets", Namespace: "a", Name: "b"}, rbacaudit.Request{Verb: "create", Resource: "secrets",
				Namespace: "a"}),
		Entry("with what was forbidden", line(user, "ResponseComplete", "list", secrets, 403, "forbid"),
			rbacaudit.Request{Verb: "list", Resource: "secrets", Namespace: "a", Name: "b", Forbidden: true}),
		Entry("but not as forbidden what a webhook refused", line(user, "ResponseComplete", "update", secrets, 403, "allow"),
			rbacaudit.Request{Verb: "update", Resource: "secrets", Namespace: "a", Name: "b"}),
		Entry("but not before they were answered", line(user, "RequestReceived", "get", secrets, 0, "")+done("list", `"resource":"secrets"`),
			rbacaudit.Request{Verb: "list", Resource: "secrets"}),
		Entry("but not those about no object",
			`{"stage":"ResponseComplete","verb":"get","user":{"username":"`+user+`"}}`+done("list", `"resource":"secrets"`),
			rbacaudit.Request{Verb: "list", Resource: "secrets"}),
		Entry("up to a line that is not complete", done("get", secrets)+`{"stage":"Resp`,
			rbacaudit.Request{Verb: "get", Resource: "secrets", Namespace: "a", Name: "b"}),
	)

	It("should not be read from something else", func() {
		_, err := rbacaudit.Read(strings.NewReader("no log"), user)
		Expect(err).To(MatchError(ContainSubstring("audit log")))
	})
})

var _ = Describe("Permissions", func() {
	names := func(permissions []rbacaudit.Permission) []string {
		texts := []string{}
		for _, p := range permissions {
			texts = append(texts, p.String())
		}
		return texts
	}
	all := func() []rbacaudit.Permission {
		GinkgoHelper()
		permissions, err := rbacaudit.Permissions(objects(roles))
		Expect(err).NotTo(HaveOccurred())
		return permissions
	}

	DescribeTable("should be used by requests",
		func(log string, used ...string) {
			unused := names(rbacaudit.Unused(all(), read(log)))
			Expect(append(unused, used...)).To(ConsistOf(names(all())))
		},
		Entry("none", ""),
		Entry("of an object", done("get", `"resource":"secrets","namespace":"a","name":"b"`), "get secrets of all"),
		Entry("that list, which watches do", done("list", `"resource":"secrets"`), "list secrets of all", "watch secrets of all"),
		Entry("of events, which happen again", done("create", `"resource":"events","namespace":"a","name":"b"`), "create events of all",
			"patch events of all"),
		Entry("of a subresource", done("patch", `"resource":"deployments","subresource":"scale","apiGroup":"apps"`),
			"patch deployments/scale.apps of all"),
		Entry("of another group", done("get", `"resource":"secrets","apiGroup":"other"`)),
		Entry("of one name", done("update", `"resource":"leases","apiGroup":"coordination.k8s.io","namespace":"garden","name":"two"`),
			"update leases.coordination.k8s.io two of own"),
		Entry("in another namespace", done("update", `"resource":"leases","apiGroup":"coordination.k8s.io","namespace":"other","name":"two"`)),
		Entry("that create", done("create", `"resource":"leases","apiGroup":"coordination.k8s.io","namespace":"garden","name":"two"`),
			"create leases.coordination.k8s.io of own"),
	)

	It("should tell which suite shows that they are used", func() {
		p := rbacaudit.Permission{Role: "extensions.gardener.cloud:provider-hybrid", Verb: "create", APIGroup: "machine.sapcloud.io",
			Resource: "machines"}
		Expect(rbacaudit.ShownBy(p)).To(Equal(rbacaudit.Moves))
		Expect(rbacaudit.Moves.Missing(append(all(), p))).To(ConsistOf(p))
		Expect(rbacaudit.Pools.Missing(append(all(), p))).To(BeEmpty())
		p.Role = "other"
		Expect(rbacaudit.ShownBy(p)).To(BeEmpty())
	})

	It("should be those of the roles that a service account is bound to", func(ctx SpecContext) {
		scheme := runtime.NewScheme()
		Expect(rbacv1.AddToScheme(scheme)).To(Succeed())
		c := fake.NewClientBuilder().WithScheme(scheme).Build()
		for _, o := range objects(bound + "\n---\n" + roles) {
			if o.GroupVersionKind().Group == rbacv1.GroupName {
				Expect(c.Create(ctx, o)).To(Succeed())
			}
		}
		bindings, err := rbacaudit.Bindings(ctx, c)
		Expect(err).NotTo(HaveOccurred())
		Expect(bindings).To(HaveEach(HaveField("User()", user)))
		Expect(rbacaudit.Granted(bindings, user)).To(ConsistOf(all()))
		Expect(rbacaudit.Granted(bindings, "other")).To(BeEmpty())
	})

	It("should tell what was forbidden", func() {
		requests := read(done("get", `"resource":"secrets"`) +
			line(user, "ResponseComplete", "delete", `"resource":"pods","namespace":"a","name":"b"`, 403, "forbid"))
		Expect(rbacaudit.Forbidden(requests)).To(ConsistOf(HaveField("String()", "delete pods b in a")))
	})

	It("should not be all", func() {
		_, err := rbacaudit.Permissions(objects(strings.ReplaceAll(roles, "[patch]", `["*"]`)))
		Expect(err).To(MatchError("ClusterRole all: a rule says *"))
	})
})
