// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"net/http"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// watching counts its watches.
type watching struct {
	controller.Controller
	watches int
}

func (w *watching) Watch(source.Source) error {
	w.watches++
	return nil
}

var _ = DescribeTable("Machines should be watched where the cluster has them",
	func(selfHosted bool, groupVersions []schema.GroupVersion, expected int) {
		mapper := meta.NewDefaultRESTMapper(groupVersions)
		for _, version := range groupVersions {
			mapper.Add(version.WithKind("Machine"), meta.RESTScopeNamespace)
		}
		mgr, err := manager.New(&rest.Config{Host: "https://127.0.0.1:1"}, manager.Options{
			Scheme: landscape.Scheme, Metrics: server.Options{BindAddress: "0"},
			MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil },
		})
		Expect(err).NotTo(HaveOccurred())
		c := &watching{}
		watches := watchMachines(mgr, selfHosted)
		Expect(watches.AddToController(c)).To(Succeed())
		Expect(c.watches).To(Equal(expected))
	},
	Entry("a seed", false, nil, 2),
	Entry("a self-hosted shoot", true, []schema.GroupVersion{machinev1alpha1.SchemeGroupVersion}, 2),
	Entry("a self-hosted shoot without machines of Gardener", true, nil, 0),
)
