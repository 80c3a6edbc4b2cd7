// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package healthcheck

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/setup"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

func TestHealthCheck(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(10 * time.Second)
	RunSpecs(t, "Controller Health Check Suite")
}

var apiServer client.Client

var _ = BeforeSuite(func(ctx SpecContext) {
	log.SetLogger(zap.New(zap.WriteTo(GinkgoWriter)))

	environment := &envtest.Environment{
		BinaryAssetsDirectory:    filepath.Dir(landscape.DefaultBinaries().KubeAPIServer),
		ControlPlaneStartTimeout: 3 * time.Minute,
	}
	config, err := environment.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(environment.Stop)
	Expect(landscape.InstallCRDs(ctx, config)).To(Succeed())
	apiServer, err = client.New(config, client.Options{Scheme: landscape.Scheme})
	Expect(err).NotTo(HaveOccurred())

	mgr, err := manager.New(config, manager.Options{Scheme: landscape.Scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	Expect(err).NotTo(HaveOccurred())
	Expect(AddToManagerWithOptions(mgr, AddOptions{
		SyncPeriod:         time.Second,
		Options:            setup.Options{ExtensionClasses: []extensionsv1alpha1.ExtensionClass{extensionsv1alpha1.ExtensionClassShoot}},
		StorageDeployments: []string{"csi-a-controller", "csi-b-controller"},
	})).To(Succeed())

	started, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(started) }()
	DeferCleanup(func() {
		stop()
		Eventually(done).WithTimeout(20 * time.Second).Should(Receive(BeNil()))
	})
})
