// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/gardener/gardener/pkg/utils/retry"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform/toyapi"
)

func TestWorker(t *testing.T) {
	defer toyapi.Install()()
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(10 * time.Second)
	RunSpecs(t, "Controller Worker Suite")
}

var (
	apiServer client.Client
	mgr       manager.Manager
)

var _ = BeforeSuite(func(ctx SpecContext) {
	log.SetLogger(zap.New(zap.WriteTo(GinkgoWriter)))

	// Gardener's generic actuator would poll every 5 s.
	untilTimeout := retry.UntilTimeout
	DeferCleanup(func() { retry.UntilTimeout = untilTimeout })
	retry.UntilTimeout = func(ctx context.Context, _, timeout time.Duration, f retry.Func) error {
		return untilTimeout(ctx, 100*time.Millisecond, timeout, f)
	}

	environment := &envtest.Environment{
		BinaryAssetsDirectory:    filepath.Dir(landscape.DefaultBinaries().KubeAPIServer),
		ControlPlaneStartTimeout: 3 * time.Minute,
	}
	config, err := environment.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(environment.Stop)
	config.QPS = -1 // The API server is for this suite alone.
	Expect(landscape.InstallCRDs(ctx, config)).To(Succeed())

	mgr, err = manager.New(config, manager.Options{
		Scheme:  landscape.Scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		NewClient: func(config *rest.Config, options client.Options) (client.Client, error) {
			options.Cache = nil
			return client.New(config, options)
		},
	})
	Expect(err).NotTo(HaveOccurred())
	apiServer = mgr.GetClient()

	started, stop := context.WithCancel(context.Background())
	DeferCleanup(stop)
	go func() {
		defer GinkgoRecover()
		Expect(mgr.Start(started)).To(Succeed())
	}()
})
