// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package ccm_test

import (
	"context"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

const (
	account = "cloud-controller-manager"
	// user is who the cloud-controller-manager is for kube-apiserver.
	user = "system:serviceaccount:kube-system:" + account
)

var (
	// auditLog is the path of the log of what it asks for.
	auditLog string
	// kubeconfig is the path of its kubeconfig.
	kubeconfig string
)

func administrator() client.Client {
	GinkgoHelper()
	c, err := client.New(cluster.Config, client.Options{Scheme: landscape.Scheme})
	Expect(err).NotTo(HaveOccurred())
	return c
}

// grant gives the cloud-controller-manager the permissions of its chart.
func grant(ctx context.Context) {
	GinkgoHelper()
	rendered, err := rendering.Chart("shoot-system-components", metav1.NamespaceSystem,
		map[string]any{account: map[string]any{"enabled": true}})
	Expect(err).NotTo(HaveOccurred())
	objects, err := rendering.Objects(rendered)
	Expect(err).NotTo(HaveOccurred())
	c := administrator()
	Expect(landscape.CreateRoles(ctx, c, objects)).To(Succeed())
	Expect(c.Create(ctx,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: metav1.NamespaceSystem}})).To(Succeed())
	kubeconfig = filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(rendering.WriteKubeconfig(ctx, cluster.Config, metav1.NamespaceSystem, account, kubeconfig)).To(Succeed())
}

// complete says whether all specs have run and passed.
var complete = true

var _ = ReportAfterEach(func(report SpecReport) {
	complete = complete && report.State == types.SpecStatePassed
})

var _ = AfterSuite(func(ctx SpecContext) {
	if complete {
		Expect(landscape.Unused(ctx, administrator(), auditLog, user)).To(BeEmpty(),
			"the cloud-controller-manager needs all permissions of its chart and no other")
	}
}, NodeTimeout(2*time.Minute))
