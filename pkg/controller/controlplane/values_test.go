// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/chartrenderer"
	gardenerimagevector "github.com/gardener/gardener/pkg/utils/imagevector"
	secretsmanager "github.com/gardener/gardener/pkg/utils/secrets/manager"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"

	"github.com/gardener/gardener-extension-provider-hybrid/charts"
	"github.com/gardener/gardener-extension-provider-hybrid/imagevector"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

// secretsReader finds each Secret under its name and a suffix, unless it is the one that is missing.
type secretsReader struct {
	secretsmanager.Reader

	missing string
}

func (r secretsReader) Get(name string, _ ...secretsmanager.GetOption) (*corev1.Secret, bool) {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name + "-1"}}, name != r.missing
}

var _ = Describe("Values", func() {
	var (
		f  *fixture
		vp *valuesProvider
	)

	BeforeEach(func() {
		f = newFixture()
	})

	planned := func(ctx SpecContext) *plan {
		p, err := f.plan(ctx)
		Expect(err).NotTo(HaveOccurred())
		vp = &valuesProvider{reader: f.client}
		return p
	}
	expectGolden := func(name, chart string, values map[string]any) {
		GinkgoHelper()
		rendered, err := rendering.Chart(chart, namespace, values)
		Expect(err).NotTo(HaveOccurred())
		golden, err := rendering.Golden(filepath.Join("testdata", name+".yaml"), rendered)
		Expect(err).NotTo(HaveOccurred())
		Expect(rendered).To(Equal(golden), "with UPDATE_GOLDEN=1 the file is written anew")
	}

	It("should be the configuration of what runs", func(ctx SpecContext) {
		p := planned(ctx)
		values, err := vp.GetConfigChartValues(withPlan(ctx, p), f.cp, f.cluster())
		Expect(err).NotTo(HaveOccurred())
		config, err := codec.DecodeBytes[v1alpha1.CloudControllerManagerConfiguration]([]byte(values["config"].(string)))
		Expect(err).NotTo(HaveOccurred())
		config.TypeMeta = metav1.TypeMeta{}
		Expect(config).To(Equal(p.controllers))
		Expect(values["secrets"]).To(HaveLen(1))
		Expect(values["secrets"]).To(HaveKeyWithValue("csi-openstack-config", HaveKey("cloud.conf")))
		expectGolden("config", charts.CloudProviderConfig, values)
	})

	It("should be the configuration that is deployed if there is no plan", func(ctx SpecContext) {
		f.objects = append(f.objects,
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: configMapName},
				Data: map[string]string{configKey: "a: b\n"}},
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "csi-a-config",
				Labels: map[string]string{charts.LabelStorageConfig: "true"}}, Data: map[string][]byte{"x": []byte("y")}},
		)
		planned(ctx)
		values, err := vp.GetConfigChartValues(ctx, f.cp, f.cluster())
		Expect(err).NotTo(HaveOccurred())
		Expect(values).To(Equal(map[string]any{"config": "a: b\n", "secrets": map[string]any{"csi-a-config": map[string]any{"x": "y"}}}))
	})

	It("should be no configuration if there is neither a plan nor one that is deployed", func(ctx SpecContext) {
		planned(ctx)
		values, err := vp.GetConfigChartValues(ctx, f.cp, f.cluster())
		Expect(err).NotTo(HaveOccurred())
		rendered, err := rendering.Chart(charts.CloudProviderConfig, namespace, values)
		Expect(err).NotTo(HaveOccurred())
		Expect(rendered).To(BeEmpty())
	})

	It("should run images by their digests if the image vector has them", func(ctx SpecContext) {
		digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
		var vector gardenerimagevector.ImageVector
		for _, source := range imagevector.ImageVector() {
			vector = append(vector,
				&gardenerimagevector.ImageSource{Name: source.Name, Ref: new("registry.example.com/" + source.Name + ":v1@" + digest)})
		}
		values, err := vp.GetControlPlaneChartValues(withPlan(ctx, planned(ctx)), f.cp, f.cluster(), secretsReader{}, nil, false)
		Expect(err).NotTo(HaveOccurred())
		c := controlPlaneChart(platform.Registry[platform.ControlPlane]{})
		_, rendered, err := c.Render(chartrenderer.NewWithServerVersion(&version.Info{GitVersion: "v1.36.1"}), namespace, vector, "v1.36.1",
			"v1.36.1", values)
		Expect(err).NotTo(HaveOccurred())
		images := regexp.MustCompile(`(?m)^ *image: (.+)$`).FindAllStringSubmatch(string(rendered), -1)
		Expect(len(images)).To(BeNumerically(">=", 2))
		for _, image := range images {
			if image[1] != "null" { // of sub-charts that are not in the list above
				Expect(image[1]).To(HaveSuffix(":v1@" + digest))
			}
		}
	})

	It("should take images as they stand in the image vector", func() {
		templates := 0
		Expect(fs.WalkDir(charts.Internal, charts.InternalPath, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.Contains(path, "/templates/") {
				return err
			}
			content, err := charts.Internal.ReadFile(path)
			for _, image := range regexp.MustCompile(`(?m)^ *image: (.+)$`).FindAllStringSubmatch(string(content), -1) {
				templates++
				Expect(image[1]).To(MatchRegexp(`^\{\{ index (\$|\.root)?\.Values\.images (\.name|"[a-z-]+") \}\}$`), path)
			}
			return err
		})).To(Succeed())
		Expect(templates).To(BeNumerically(">", 10))
	})

	It("should be what runs in the seed", func(ctx SpecContext) {
		f.config.CloudControllerManager = &v1alpha1.CloudControllerManagerConfig{FeatureGates: map[string]bool{"B": false, "A": true}}
		values, err := vp.GetControlPlaneChartValues(withPlan(ctx, planned(ctx)), f.cp, f.cluster(), secretsReader{}, nil, false)
		Expect(err).NotTo(HaveOccurred())
		Expect(values["csi-openstack"]).To(And(HaveKeyWithValue("a", "seed"), HaveKeyWithValue("enabled", true),
			HaveKeyWithValue("configChecksum", Not(BeEmpty()))))
		Expect(values["csi-metal"]).To(HaveKeyWithValue("enabled", true))
		expectGolden("seed", charts.SeedControlPlane, values)

		hibernated := f.cluster()
		hibernated.Shoot.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: new(true)}
		values, err = vp.GetControlPlaneChartValues(withPlan(ctx, planned(ctx)), f.cp, hibernated, secretsReader{}, nil, true)
		Expect(err).NotTo(HaveOccurred())
		Expect(values["global"]).To(And(HaveKeyWithValue("replicas", BeNumerically("==", 0)),
			HaveKeyWithValue("genericTokenKubeconfigSecretName", "generic-token-kubeconfig-1")))
	})

	It("should not be what runs in the seed without its certificates", func(ctx SpecContext) {
		for _, name := range []string{caName, serverCertName} {
			_, err := vp.GetControlPlaneChartValues(withPlan(ctx, planned(ctx)), f.cp, f.cluster(), secretsReader{missing: name}, nil, false)
			Expect(err).To(MatchError(ContainSubstring(name)))
		}
	})

	It("should be what runs in the shoot", func(ctx SpecContext) {
		values, err := vp.GetControlPlaneShootChartValues(withPlan(ctx, planned(ctx)), f.cp, f.cluster(), secretsReader{}, nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(values["csi-openstack"]).To(Equal(map[string]any{"a": "shoot", "enabled": true}))
		Expect(values).NotTo(HaveKey(metalLB))
		expectGolden("shoot", charts.ShootSystemComponents, values)
	})

	It("should be MetalLB and its definitions if a site has it", func(ctx SpecContext) {
		f.config.Sites = []v1alpha1.ControlPlaneSite{{Name: "racks", LoadBalancer: &v1alpha1.SiteLoadBalancer{MetalLB: &v1alpha1.MetalLB{
			AddressPools: []v1alpha1.MetalLBAddressPool{{Name: "a", CIDRs: []string{"10.250.2.240/28"},
				Advertisement: v1alpha1.MetalLBAdvertisementL2}},
		}}}}
		values, err := vp.GetControlPlaneShootChartValues(withPlan(ctx, planned(ctx)), f.cp, f.cluster(), secretsReader{}, nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(values[metalLB]).To(And(HaveKeyWithValue("enabled", true), HaveKeyWithValue("sites", HaveLen(1))))
		values, err = vp.GetControlPlaneShootCRDsChartValues(withPlan(ctx, planned(ctx)), f.cp, f.cluster())
		Expect(err).NotTo(HaveOccurred())
		Expect(values[metalLB]).To(HaveKeyWithValue("enabled", true))
	})

	It("should be definitions of what is deployed", func(ctx SpecContext) {
		values, err := vp.GetControlPlaneShootCRDsChartValues(withPlan(ctx, planned(ctx)), f.cp, f.cluster())
		Expect(err).NotTo(HaveOccurred())
		on, off := map[string]any{"enabled": true}, map[string]any{"enabled": false}
		Expect(values).To(Equal(map[string]any{"snapshots": on, "openstack": on, "metal": on, "metallb": off}))
		rendered, err := rendering.Chart(charts.ShootCRDs, namespace, values)
		Expect(err).NotTo(HaveOccurred())
		objects, err := rendering.Objects(rendered)
		Expect(err).NotTo(HaveOccurred())
		var names []string
		for _, o := range objects {
			names = append(names, o.GetName())
			Expect(o.GetAnnotations()).To(And(HaveKeyWithValue("resources.gardener.cloud/keep-object", "true"),
				HaveKey("api-approved.kubernetes.io")))
		}
		Expect(names).To(ConsistOf("volumesnapshotclasses.snapshot.storage.k8s.io", "volumesnapshotcontents.snapshot.storage.k8s.io",
			"volumesnapshots.snapshot.storage.k8s.io"))

		f.openStack.noStorage = true
		values, err = vp.GetControlPlaneShootCRDsChartValues(withPlan(ctx, planned(ctx)), f.cp, f.cluster())
		Expect(err).NotTo(HaveOccurred())
		Expect(values).To(Equal(map[string]any{"snapshots": off, "metal": on, "metallb": off}))
		rendered, err = rendering.Chart(charts.ShootCRDs, namespace, values)
		Expect(err).NotTo(HaveOccurred())
		Expect(rendered).To(BeEmpty())
	})

	It("should be storage classes", func(ctx SpecContext) {
		values, err := vp.GetStorageClassesChartValues(withPlan(ctx, planned(ctx)), f.cp, f.cluster())
		Expect(err).NotTo(HaveOccurred())
		expectGolden("storageclasses", charts.ShootStorageClasses, values)
	})

	DescribeTable("should have one default class", func(ctx SpecContext, change func(), class, snapshotClass string) {
		change()
		values := planned(ctx).storageClassesValues()
		var classes, snapshotClasses []string
		for _, c := range values.StorageClasses {
			if c.Default {
				classes = append(classes, c.Name)
			}
		}
		for _, c := range values.SnapshotClasses {
			if c.Default {
				snapshotClasses = append(snapshotClasses, c.Name)
			}
		}
		names := func(name string) []string {
			if name == "" {
				return nil
			}
			return []string{name}
		}
		Expect(classes).To(Equal(names(class)))
		Expect(snapshotClasses).To(Equal(names(snapshotClass)))
	},
		Entry("the default class of the default site", func() {}, "fast", "snapshots-cloud"),
		Entry("the first class of the default site", func() { f.config.DefaultSite = "cloud2" }, "other", "snapshots-cloud2"),
		Entry("a site without snapshots", func() { f.config.DefaultSite = "racks" }, "local", ""),
		Entry("none, because the default site has no nodes", func() { f.zones = []string{"racks-a"} }, "", ""),
	)

	It("should not be there without a plan", func(ctx SpecContext) {
		planned(ctx)
		_, err := vp.GetControlPlaneChartValues(ctx, f.cp, f.cluster(), secretsReader{}, nil, false)
		Expect(err).To(MatchError(errNoPlan))
		_, err = vp.GetControlPlaneShootChartValues(ctx, f.cp, f.cluster(), secretsReader{}, nil)
		Expect(err).To(MatchError(errNoPlan))
		_, err = vp.GetControlPlaneShootCRDsChartValues(ctx, f.cp, f.cluster())
		Expect(err).To(MatchError(errNoPlan))
		_, err = vp.GetStorageClassesChartValues(ctx, f.cp, f.cluster())
		Expect(err).To(MatchError(errNoPlan))
	})

	DescribeTable("of a sub-chart", func(values any, expected map[string]any, message string) {
		encoded, err := encodeSubChart(values)
		if message != "" {
			Expect(err).To(MatchError(ContainSubstring(message)))
			return
		}
		Expect(err).NotTo(HaveOccurred())
		Expect(encoded).To(Equal(expected))
	},
		Entry("none", nil, map[string]any{"enabled": true}, ""),
		Entry("struct", struct {
			A int `json:"a"`
		}{1}, map[string]any{"a": 1.0, "enabled": true}, ""),
		Entry("decoding the values of a chart", []int{1}, nil, "decoding the values of a chart"),
		Entry("nothing that can be encoded", func() {}, nil, "encoding the values"),
	)

	It("should have access to the shoot for all that can be deployed, and say what that is", func() {
		var names []string
		for _, secret := range accessSecrets(f.platforms())(namespace) {
			names = append(names, secret.Secret.Name)
		}
		Expect(names).To(Equal([]string{"shoot-access-cloud-controller-manager", "shoot-access-csi-metal-controller",
			"shoot-access-csi-openstack-controller", "shoot-access-csi-snapshot-controller"}))
		Expect(StorageDeployments(f.platforms())).To(Equal([]string{"csi-snapshot-controller", "csi-metal-controller",
			"csi-openstack-controller"}))
		Expect(secretConfigs(namespace)).To(HaveLen(2))
		Expect(controlPlaneChart(f.platforms()).SubCharts).To(HaveLen(4))
		Expect(shootChart(f.platforms()).SubCharts).To(HaveLen(3))
		Expect(newChart(charts.CloudProviderConfig).Path).To(Equal("internal/cloud-provider-config"))
		Expect(newChart(charts.ShootCRDs).Path).To(Equal("internal/shoot-crds"))
		Expect(newChart(charts.ShootStorageClasses).Path).To(Equal("internal/shoot-storageclasses"))
	})
})
