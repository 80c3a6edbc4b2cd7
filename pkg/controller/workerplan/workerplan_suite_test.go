// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package workerplan

import (
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform/toyapi"
)

func TestWorkerPlan(t *testing.T) {
	defer toyapi.Install()()
	RegisterFailHandler(Fail)
	RunSpecs(t, "Controller Worker Plan Suite")
}

var apiServer client.WithWatch

var _ = BeforeSuite(func(ctx SpecContext) {
	environment := &envtest.Environment{
		BinaryAssetsDirectory:    filepath.Dir(landscape.DefaultBinaries().KubeAPIServer),
		ControlPlaneStartTimeout: 3 * time.Minute,
	}
	config, err := environment.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(environment.Stop)
	config.QPS = -1 // The API server is for this suite alone.
	Expect(landscape.InstallCRDs(ctx, config)).To(Succeed())
	apiServer, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
})
