// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package charts_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestCharts(t *testing.T) {
	suite.Run(t, "Charts Suite")
}

var (
	cluster   *landscape.Cluster
	apiServer client.Client
	// auditLog is the path of the log of what the extension in running and early ask for.
	auditLog string
)

var _ = BeforeSuite(func(ctx SpecContext) {
	dir := GinkgoT().TempDir()
	var err error
	cluster, err = landscape.NewCluster(dir, landscape.DefaultBinaries())
	Expect(err).NotTo(HaveOccurred())
	auditLog = filepath.Join(dir, "audit.log")
	Expect(cluster.Audit(auditLog, account(inSeed), account(inGarden), early)).To(Succeed())
	DeferCleanup(func() { cluster.Stop(context.Background()) })
	Expect(cluster.Start(ctx)).To(Succeed())
	Expect(landscape.InstallCRDs(ctx, cluster.Config,
		"10-crd-fluentbit.fluent.io_clusterfilters.yaml", "10-crd-monitoring.coreos.com_prometheusrules.yaml",
		"10-crd-monitoring.coreos.com_scrapeconfigs.yaml", "10-crd-monitoring.coreos.com_servicemonitors.yaml")).To(Succeed())

	scheme := runtime.NewScheme()
	Expect(errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme),
		extensionsv1alpha1.AddToScheme(scheme))).To(Succeed())
	apiServer, err = client.New(cluster.Config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	Expect(apiServer.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1beta1constants.GardenNamespace}})).To(Succeed())
	for _, name := range []string{"gardener-system-900", "gardener-garden-system-200", "gardener-garden-system-400"} {
		Expect(apiServer.Create(ctx, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: 1000})).To(Succeed())
	}
})

// folder of a chart in the sources.
func folder(chart string) string {
	return filepath.Join(landscape.Root(), "charts", filepath.FromSlash(chart))
}
