// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/gardener/gardener/pkg/apis/resources/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/controlplane"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/setup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/extension"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestControlPlane(t *testing.T) {
	suite.Run(t, "ControlPlane Suite")
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
	Expect(landscape.InstallCRDs(ctx, config,
		"10-crd-monitoring.coreos.com_prometheusrules.yaml", "10-crd-monitoring.coreos.com_servicemonitors.yaml")).To(Succeed())

	scheme := runtime.NewScheme()
	utilruntime.Must(addToScheme(scheme))
	apiServer, err = client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())

	mgr, err := manager.New(config, manager.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	Expect(err).NotTo(HaveOccurred())
	Expect(controlplane.AddToManagerWithOptions(ctx, mgr, controlplane.AddOptions{
		Platforms: extension.ControlPlanes(),
		Options:   setup.Options{ExtensionClasses: []extensionsv1alpha1.ExtensionClass{extensionsv1alpha1.ExtensionClassShoot}},
	})).To(Succeed())

	started, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(started) }()
	DeferCleanup(func() {
		stop()
		Eventually(done).WithTimeout(20 * time.Second).Should(Receive(BeNil()))
	})
})

func addToScheme(scheme *runtime.Scheme) error {
	return errors.Join(
		clientgoscheme.AddToScheme(scheme),
		extensionsv1alpha1.AddToScheme(scheme),
		resourcesv1alpha1.AddToScheme(scheme),
		machinev1alpha1.AddToScheme(scheme),
		apiextensionsv1.AddToScheme(scheme),
	)
}

// example reads the only document of a file of the shoot on all platforms, or of the folder above.
func example[T any](file string) *T {
	GinkgoHelper()
	data, err := os.ReadFile(filepath.Join("..", "..", "example", file))
	Expect(err).NotTo(HaveOccurred())
	Expect(bytes.Contains(data, []byte("\n---\n"))).To(BeFalse())
	object := new(T)
	Expect(yaml.UnmarshalStrict(data, object)).To(Succeed())
	return object
}
