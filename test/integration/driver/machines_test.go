// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gophercloud/gophercloud/v2"
	gopheropenstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/machine"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
)

var _ = Describe("Machines", Ordered, func() {
	secret := func(password string) *corev1.Secret {
		data := map[string][]byte{"userData": []byte("#!/bin/sh\n")}
		for key, value := range credentials.SiteCredentials() {
			data[siteName+"."+key] = []byte(value)
		}
		if password != "" {
			data[siteName+".password"] = []byte(password)
		}
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cloudprovider", Namespace: shoot}, Data: data}
	}
	// create makes a machine of the flavor, which goes in the end.
	create := func(ctx SpecContext, name, flavor string) *machinev1alpha1.Machine {
		GinkgoHelper()
		raw, err := codec.Encode(resolve(ctx, flavor))
		Expect(err).NotTo(HaveOccurred())
		class := &machinev1alpha1.MachineClass{
			ObjectMeta:   metav1.ObjectMeta{Name: name, Namespace: shoot},
			Provider:     machine.Provider,
			ProviderSpec: *raw,
			SecretRef:    &corev1.SecretReference{Name: "cloudprovider", Namespace: shoot},
		}
		m := &machinev1alpha1.Machine{
			ObjectMeta: metav1.ObjectMeta{Name: shoot + "-" + name, Namespace: shoot},
			Spec:       machinev1alpha1.MachineSpec{Class: machinev1alpha1.ClassSpec{Kind: "MachineClass", Name: name}},
		}
		Expect(seed.Client.Create(ctx, class)).To(Succeed())
		Expect(seed.Client.Create(ctx, m)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(client.IgnoreNotFound(seed.Client.Delete(ctx, m))).To(Succeed())
			Eventually(func(ctx context.Context) error { return seed.Client.Get(ctx, client.ObjectKeyFromObject(m), m) }).
				WithContext(ctx).Within(2 * time.Minute).ProbeEvery(time.Second).Should(MatchError(apierrors.IsNotFound, "not found"))
			Expect(inspector.Servers(ctx, m.Name)).To(BeEmpty())
		}, NodeTimeout(6*time.Minute))
		return m
	}
	statusOf := func(ctx context.Context, m *machinev1alpha1.Machine) (machinev1alpha1.MachineStatus, error) {
		err := seed.Client.Get(ctx, client.ObjectKeyFromObject(m), m)
		return m.Status, err
	}

	BeforeAll(func(ctx SpecContext) { Expect(seed.Client.Create(ctx, secret(""))).To(Succeed()) })

	It("should be out of resources long before their time is over if no host can take them, although the site took the request",
		func(ctx SpecContext) {
			m := create(ctx, "huge", "m1.huge")
			Eventually(statusOf).WithContext(ctx).WithArguments(m).Within(2 * time.Minute).ProbeEvery(500 * time.Millisecond).Should(And(
				HaveField("LastOperation.ErrorCode", "ResourceExhausted"),
				HaveField("LastOperation.Description", ContainSubstring("No valid host")),
				HaveField("CurrentStatus.Phase", machinev1alpha1.MachineCrashLoopBackOff),
			))
			AddReportEntry("seconds", time.Since(m.CreationTimestamp.Time).Seconds())
			Expect(m.Spec.ProviderID).To(HavePrefix("openstack:///"))
		}, SpecTimeout(4*time.Minute))

	// leave makes a server of the flavor for a machine that there is no object of.
	leave := func(ctx SpecContext, name, flavor string) string {
		GinkgoHelper()
		request := platform.MachineRequest{
			Name: shoot + "-" + name, Spec: resolve(ctx, flavor), Credentials: site.Credentials(credentials.SiteCredentials()),
			UserData: []byte("#!/bin/sh\n"),
		}
		made, err := parts.Create(ctx, request)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			Eventually(ctx, parts.Delete).WithArguments(request).Within(time.Minute).ProbeEvery(time.Second).Should(Succeed())
		}, NodeTimeout(4*time.Minute))
		return made.ProviderID
	}

	It("should know a server that will never run although its creation was interrupted, and delete it at once", func(ctx SpecContext) {
		id := leave(ctx, "interrupted", "m1.huge")
		Eventually(func(ctx context.Context) (map[string]openstack.Server, error) {
			return inspector.Servers(ctx, shoot+"-interrupted")
		}).WithContext(ctx).Within(2 * time.Minute).Should(ContainElement(HaveField("Status", "ERROR")))
		m := create(ctx, "interrupted", "m1.huge")
		Eventually(statusOf).WithContext(ctx).WithArguments(m).Within(2 * time.Minute).ProbeEvery(500 * time.Millisecond).
			Should(HaveField("LastOperation.ErrorCode", "ResourceExhausted"))
		Expect(m.Spec.ProviderID).To(Equal(id))

		Expect(seed.Client.Delete(ctx, m)).To(Succeed())
		Eventually(func(ctx context.Context) error { return seed.Client.Get(ctx, client.ObjectKeyFromObject(m), m) }).
			WithContext(ctx).Within(time.Minute).ProbeEvery(time.Second).Should(MatchError(apierrors.IsNotFound, "not found"))
	}, SpecTimeout(6*time.Minute))

	It("should stay when somebody renames, stops, rebuilds or copies their servers, while orphans go", func(ctx SpecContext) {
		provider, err := gopheropenstack.AuthenticatedClient(ctx, gophercloud.AuthOptions{
			IdentityEndpoint: credentials.AuthURL, Username: credentials.Username, Password: credentials.Password,
			DomainName: credentials.Domain, TenantName: credentials.Project,
		})
		Expect(err).NotTo(HaveOccurred())
		compute, err := gopheropenstack.NewComputeV2(provider, gophercloud.EndpointOpts{Region: credentials.Region})
		Expect(err).NotTo(HaveOccurred())
		idOf := func(m *machinev1alpha1.Machine) string {
			GinkgoHelper()
			Eventually(statusOf).WithContext(ctx).WithArguments(m).Within(time.Minute).ProbeEvery(500 * time.Millisecond).
				Should(HaveField("CurrentStatus.Phase", machinev1alpha1.MachinePending))
			id := strings.TrimPrefix(m.Spec.ProviderID, "openstack:///")
			Eventually(func(g Gomega) {
				server, err := servers.Get(ctx, compute, id).Extract()
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(server.Status).To(Equal("ACTIVE"))
			}).WithContext(ctx).Within(2 * time.Minute).ProbeEvery(time.Second).Should(Succeed())
			return id
		}
		rename := func(m *machinev1alpha1.Machine, id string) {
			GinkgoHelper()
			Expect(servers.Update(ctx, compute, id, servers.UpdateOpts{Name: m.Name + "-renamed-by-admin"}).Extract()).Error().NotTo(HaveOccurred())
		}
		var copied string
		changes := map[string]func(m *machinev1alpha1.Machine, id string){
			"marked": rename,
			"of-version-0-1": func(m *machinev1alpha1.Machine, id string) {
				GinkgoHelper()
				Expect(servers.DeleteMetadatum(ctx, compute, id, "gardener-machine").ExtractErr()).To(Succeed())
				rename(m, id)
			},
			"stopped": func(_ *machinev1alpha1.Machine, id string) {
				GinkgoHelper()
				Expect(servers.Stop(ctx, compute, id).ExtractErr()).To(Succeed())
			},
			"rebuilt": func(m *machinev1alpha1.Machine, id string) {
				GinkgoHelper()
				image := resolve(ctx, "m1.tiny").OpenStack.ImageID
				Expect(servers.Rebuild(ctx, compute, id,
					servers.RebuildOpts{ImageRef: image, Name: m.Name + "-rebuilt"}).Extract()).Error().NotTo(HaveOccurred())
			},
			"copied": func(m *machinev1alpha1.Machine, id string) {
				GinkgoHelper()
				original, err := servers.Get(ctx, compute, id).Extract()
				Expect(err).NotTo(HaveOccurred())
				spec := resolve(ctx, "m1.tiny").OpenStack
				twin, err := servers.Create(ctx, compute, servers.CreateOpts{
					Name: m.Name, Metadata: original.Metadata, ImageRef: spec.ImageID, FlavorRef: original.Flavor["id"].(string),
					Networks: []servers.Network{{UUID: spec.NetworkID}},
				}, nil).Extract()
				Expect(err).NotTo(HaveOccurred())
				copied = twin.ID
			},
		}
		kept := map[*machinev1alpha1.Machine]string{}
		for name, change := range changes {
			m := create(ctx, name, "m1.tiny")
			kept[m] = idOf(m)
			change(m, kept[m])
		}

		// Orphans are looked for once a Machine is gone. The second search comes after the end of the first.
		for round := range 2 {
			orphan := fmt.Sprintf("orphan-%d", round)
			leave(ctx, orphan, "m1.tiny")
			deleted := create(ctx, fmt.Sprintf("deleted-%d", round), "m1.tiny")
			idOf(deleted)
			Expect(seed.Client.Delete(ctx, deleted)).To(Succeed())
			Eventually(inspector.Servers).WithContext(ctx).WithArguments(shoot + "-" + orphan).Within(2 * time.Minute).ProbeEvery(time.Second).
				Should(BeEmpty())
		}
		Eventually(func() error { return servers.Get(ctx, compute, copied).Err }).WithContext(ctx).Within(2*time.Minute).ProbeEvery(time.Second).
			Should(Satisfy(func(err error) bool { return gophercloud.ResponseCodeIs(err, http.StatusNotFound) }), "the copy is of no Machine")
		for m, id := range kept {
			Expect(servers.Get(ctx, compute, id).Extract()).To(HaveField("TaskState", BeEmpty()), m.Name)
			Expect(statusOf(ctx, m)).NotTo(HaveField("CurrentStatus.Phase", machinev1alpha1.MachineTerminating))
			Expect(m.Spec.ProviderID).To(HaveSuffix(id))
		}
	}, SpecTimeout(8*time.Minute))

	It("should use credentials that were rotated in the Secret", func(ctx SpecContext) {
		Expect(seed.Client.Update(ctx, secret("wrong"))).To(Succeed())
		refused := create(ctx, "refused", "m1.tiny")
		Eventually(statusOf).WithContext(ctx).WithArguments(refused).Within(2 * time.Minute).ProbeEvery(500 * time.Millisecond).
			Should(HaveField("LastOperation.ErrorCode", "Unauthenticated"))

		Expect(seed.Client.Update(ctx, secret(""))).To(Succeed())
		created := create(ctx, "created", "m1.tiny")
		Eventually(statusOf).WithContext(ctx).WithArguments(created).Within(2 * time.Minute).ProbeEvery(500 * time.Millisecond).
			Should(HaveField("CurrentStatus.Phase", machinev1alpha1.MachinePending))
	}, SpecTimeout(4*time.Minute))
})
