// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const shootNamespace = "shoot--local--hybrid"

var (
	now  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	hour = metav1.NewTime(now.Add(-time.Hour))
)

func conditionSince(conditionType, status, reason, message string) gardencorev1beta1.Condition {
	return gardencorev1beta1.Condition{Type: gardencorev1beta1.ConditionType(conditionType), Status: gardencorev1beta1.ConditionStatus(status),
		Reason: reason, Message: message, LastTransitionTime: hour}
}

func labelsOf(pool, site string) map[string]string {
	return map[string]string{"worker.gardener.cloud/pool": pool, v1alpha1.LabelSite: site}
}

func deploymentOn(pool, site string, replicas int32) *machinev1alpha1.MachineDeployment {
	d := &machinev1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Name: pool + "-" + site, Namespace: shootNamespace}}
	d.Spec.Replicas = replicas
	d.Spec.Template.Spec.NodeTemplateSpec.Labels = labelsOf(pool, site)
	return d
}

// births are the profiles of births of machines by their names.
var births = map[string]string{
	"pool-1": "claimed=3s,powered=14s,registered=41s,initialized=43s,ready=1m0s",
	"pool-2": "registered=1m1s,initialized=1m2s,ready=1m12s",
	"pool-3": "claimed=2s,powered=9s,registered=31s,initialized=33s,ready=40s",
	"gpu-2":  "registered=20m0s,ready=-1s,born\x1b[2J=1s",
	"pool-4": "\x1b[2J",
}

func machineOn(name, pool, site string, phase machinev1alpha1.MachinePhase, failure string) *machinev1alpha1.Machine {
	m := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: shootNamespace}}
	m.Spec.NodeTemplateSpec.Labels = labelsOf(pool, site)
	m.Status.CurrentStatus.Phase = phase
	m.Annotations = map[string]string{v1alpha1.AnnotationBirthProfile: births[name]}
	if failure != "" {
		m.Status.LastOperation = machinev1alpha1.LastOperation{Description: failure, State: machinev1alpha1.MachineStateFailed,
			Type: machinev1alpha1.MachineOperationCreate, LastUpdateTime: hour}
	}
	return m
}

const metricsOfExtension = `
# TYPE hybrid_site_quota_servers_limit gauge
hybrid_site_quota_servers_limit{shoot_namespace="shoot--local--hybrid",site="cloud"} 10
hybrid_site_quota_servers_limit{shoot_namespace="shoot--local--other",site="cloud"} 1
# TYPE hybrid_site_quota_servers_used gauge
hybrid_site_quota_servers_used{shoot_namespace="shoot--local--hybrid",site="cloud"} 4
# TYPE hybrid_site_quota_memory_limit_bytes gauge
hybrid_site_quota_memory_limit_bytes{shoot_namespace="shoot--local--hybrid",site="cloud"} 6.8719476736e+10
# TYPE hybrid_site_quota_memory_used_bytes gauge
hybrid_site_quota_memory_used_bytes{shoot_namespace="shoot--local--hybrid",site="cloud"} 7.8719476736e+10
# TYPE hybrid_site_cpu_capacity_hertz gauge
hybrid_site_cpu_capacity_hertz{shoot_namespace="shoot--local--hybrid",site="vc",zone="vc-1"} 2.4e+10
# TYPE hybrid_site_cpu_free_hertz gauge
hybrid_site_cpu_free_hertz{shoot_namespace="shoot--local--hybrid",site="vc",zone="vc-1"} 1.2e+10
# TYPE hybrid_site_hosts gauge
hybrid_site_hosts{shoot_namespace="shoot--local--hybrid",site="racks",zone="rack-1",machine_type="small"} 3
# TYPE hybrid_site_hosts_free gauge
hybrid_site_hosts_free{shoot_namespace="shoot--local--hybrid",site="racks",zone="rack-1",machine_type="small"} NaN
# TYPE hybrid_site_request_duration_seconds histogram
hybrid_site_request_duration_seconds_bucket{site="cloud",api="compute",method="GET",code="200",le="+Inf"} 40
hybrid_site_request_duration_seconds_sum{site="cloud",api="compute",method="GET",code="200"} 4
hybrid_site_request_duration_seconds_count{site="cloud",api="compute",method="GET",code="200"} 40
hybrid_site_request_duration_seconds_bucket{site="cloud",api="compute",method="GET",code="429",le="+Inf"} 2
hybrid_site_request_duration_seconds_sum{site="cloud",api="compute",method="GET",code="429"} 1
hybrid_site_request_duration_seconds_count{site="cloud",api="compute",method="GET",code="429"} 2
hybrid_site_request_duration_seconds_bucket{site="vc",api="vcenter",method="POST",code="error",le="+Inf"} 7
hybrid_site_request_duration_seconds_sum{site="vc",api="vcenter",method="POST",code="error"} 70
hybrid_site_request_duration_seconds_count{site="vc",api="vcenter",method="POST",code="error"} 7
`

var _ = Describe("Status", func() {
	var (
		out  bytes.Buffer
		o    *statusOptions
		from *sources
		seed []client.Object
	)

	BeforeEach(func() {
		out.Reset()
		o = &statusOptions{streamsAndInputs: &streamsAndInputs{inputs: inputs{namespace: shootNamespace, withoutSecret: true},
			output: output{out: &out, format: formatTable}}}
		read, err := readManifests([]string{filepath.Join("..", "..", "..", "example", "openstack-vsphere-metal")}, nil)
		Expect(err).NotTo(HaveOccurred())
		seed = nil
		for _, object := range read.objects {
			switch typed := object.(type) {
			case *extensionsv1alpha1.Infrastructure:
				typed.Status.Conditions = []gardencorev1beta1.Condition{
					conditionSince("SiteAvailable-cloud", "True", "SiteAvailable", "The site answers."),
					conditionSince("SiteAvailable-vc", "False", "SiteUnreachable", `site "vc": no route to host`),
					conditionSince("SiteAvailable-racks", "True", "SiteAvailable", "The site answers."),
					conditionSince("SiteQuarantined-hall", "True", "SiteCutOff", `Site "hall" is cut off.`),
					conditionSince("SiteAvailable-hall", "True", "SiteAvailable", "The site answers."),
					conditionSince("ControlPlaneHealthy", "Progressing", "SitesUnavailable", `site "vc": no route to host`),
				}
				seed = append(seed, typed)
			case *extensionsv1alpha1.Worker:
				typed.Status.LastError = &gardencorev1beta1.LastError{Description: "machines are not ready after 9m30s", LastUpdateTime: &hour}
				seed = append(seed, typed)
			case *extensionsv1alpha1.Cluster, *extensionsv1alpha1.ControlPlane:
				seed = append(seed, typed)
			}
		}
		exhausted := "Cloud provider message - machine codes error: code = [ResourceExhausted] message = [Quota: site \"cloud\": no\x1b[2J quota]"
		seed = append(seed, deploymentOn("pool", "cloud", 3), deploymentOn("pool", "vc", 1), deploymentOn("gpu", "racks", 1),
			machineOn("pool-1", "pool", "cloud", machinev1alpha1.MachineRunning, ""),
			machineOn("pool-2", "pool", "cloud", machinev1alpha1.MachinePending, exhausted),
			machineOn("pool-3", "pool", "cloud", machinev1alpha1.MachinePending, exhausted),
			machineOn("pool-4", "pool", "vc", machinev1alpha1.MachineRunning, ""),
			machineOn("gpu-1", "gpu", "racks", "", ""),
			machineOn("gpu-2", "gpu", "attic", machinev1alpha1.MachineFailed, ""),
			&machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: shootNamespace}})
	})

	start := func() {
		from = &sources{seed: fakeclient.NewClientBuilder().WithScheme(scheme).WithObjects(seed...).WithStatusSubresource().Build()}
	}
	report := func(ctx context.Context, metrics string) *v1alpha1.StatusReport {
		GinkgoHelper()
		start()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, metrics) }))
		defer server.Close()
		o.metricsURLs = []string{server.URL}
		made, err := o.report(ctx, from)
		Expect(err).NotTo(HaveOccurred())
		o.readMetrics(ctx, from, made.Shoot.TechnicalID).complete(made)
		return made
	}

	DescribeTable("should show what a seed has",
		func(ctx SpecContext, format, golden string) {
			made := report(ctx, metricsOfExtension)
			o.output.format = format
			Expect(o.output.print(made, func(s *screen) { writeStatus(s, made, now) })).To(Succeed())
			expectGolden(golden, out.String())
			Expect(isWell(made)).To(BeFalse())
		},
		Entry("as a table", formatTable, "status.txt"),
		Entry("as a wide table", formatWide, "status-wide.txt"),
		Entry("as YAML", formatYAML, "status.yaml"),
	)

	It("should tell that metrics are not known", func(ctx SpecContext) {
		made := report(ctx, "not metrics")
		Expect(made.Sites[0].Requests).To(BeNil())
		Expect(made.Sites[0].Room).To(BeEmpty())
		Expect(made.Unknown).To(ContainElement(HavePrefix("metrics of --metrics-url 1: ")))
		Expect(o.readMetrics(ctx, &sources{}, shootNamespace).unknown).NotTo(BeEmpty())
	})

	It("should show what the Shoot says if there is a garden alone", func(ctx SpecContext) {
		shoot := object(shootManifest, &gardencorev1beta1.Shoot{})
		shoot.Status.Conditions = []gardencorev1beta1.Condition{
			conditionSince("EveryNodeReady", "False", "SitesQuarantined", "Site is cut off."),
			conditionSince("APIServerAvailable", "True", "HealthzRequestSucceeded", "API server is well."),
		}
		shoot.Status.LastErrors = []gardencorev1beta1.LastError{{Description: "no quota", LastUpdateTime: &hour}}
		shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Reconcile", State: "Error", Progress: 40, LastUpdateTime: hour}
		garden := fakeclient.NewClientBuilder().WithScheme(scheme).
			WithObjects(shoot, object(profileManifest, &gardencorev1beta1.CloudProfile{})).Build()
		o.inputs.namespace, o.inputs.shoot = "garden-local", "first"
		made, err := o.report(ctx, &sources{garden: garden})
		Expect(err).NotTo(HaveOccurred())
		s := &screen{}
		writeStatus(s, made, now)
		expectGolden("status-garden.txt", s.String())
	})

	It("should have exit codes", func(ctx SpecContext) {
		start()
		Expect(o.once(ctx, from)).To(MatchError(errFindings))

		_, _, code := run("hybridctl", "status", "-f", filepath.Join("..", "..", "..", "example", "openstack-vsphere"))
		Expect(code).To(Equal(2))
		_, errors, code := run("hybridctl", "status", "-o", "xml", "--shoot", "first")
		Expect(code).To(Equal(2))
		Expect(errors).To(Equal("error: --output is \"xml\", must be one of table, wide, json, yaml\n"))
		_, errors, code = run("hybridctl", "status")
		Expect(code).To(Equal(2))
		Expect(errors).To(Equal("error: set --filename, --shoot, or --seed-kubeconfig with --namespace\n"))
	})

	It("should print what can be read again", func(ctx SpecContext) {
		made := report(ctx, metricsOfExtension)
		o.output.format = formatJSON
		Expect(o.output.print(made, nil)).To(Succeed())
		again := &v1alpha1.StatusReport{}
		Expect(json.Unmarshal(out.Bytes(), again)).To(Succeed())
		Expect(again.Kind).To(Equal("StatusReport"))
		Expect(again.Sites).To(HaveLen(len(made.Sites)))
		Expect(out.String()).NotTo(ContainSubstring(`\u001b`))
	})

	It("should not read Secrets", func(ctx SpecContext) {
		seed = append(seed, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cloudprovider", Namespace: shootNamespace},
			Data: map[string][]byte{"cloud.password": []byte("top-secret")}})
		start()
		input, err := o.inputs.loadFrom(ctx, from)
		Expect(err).NotTo(HaveOccurred())
		Expect(input.Secret).To(BeNil())
		_ = o.once(ctx, from)
		Expect(strings.ToLower(out.String())).NotTo(ContainSubstring("secret"))
	})
})
