// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = Describe("hybridctl in a garden", Ordered, func() {
	var arguments []string

	BeforeAll(func() {
		access := clientcmdapi.NewConfig()
		access.CurrentContext = "garden"
		access.Contexts["garden"] = &clientcmdapi.Context{Cluster: "garden", AuthInfo: "admin"}
		access.Clusters["garden"] = &clientcmdapi.Cluster{Server: garden.Config.Host, CertificateAuthorityData: garden.Config.CAData}
		access.AuthInfos["admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: garden.Config.CertData, ClientKeyData: garden.Config.KeyData}
		path := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
		Expect(clientcmd.WriteToFile(*access, path)).To(Succeed())
		shoot := shootOf(allPlatforms)
		arguments = []string{"status", "-o", "json", "--kubeconfig", path, "-n", shoot.Namespace, "--shoot", shoot.Name}
	})

	status := func(ctx context.Context) (*v1alpha1.StatusReport, int) {
		GinkgoHelper()
		var output bytes.Buffer
		command := exec.CommandContext(ctx, hybridctl, arguments...) // #nosec G204 -- a program of ours
		command.Stdout, command.Stderr = &output, GinkgoWriter
		err := command.Run()
		if failed := (*exec.ExitError)(nil); !errors.As(err, &failed) {
			Expect(err).NotTo(HaveOccurred())
		}
		report := &v1alpha1.StatusReport{}
		Expect(json.Unmarshal(output.Bytes(), report)).To(Succeed(), output.String())
		return report, command.ProcessState.ExitCode()
	}
	tell := func(ctx context.Context, status gardencorev1beta1.ConditionStatus) {
		GinkgoHelper()
		shoot := shootOf(allPlatforms)
		Expect(garden.Client.Get(ctx, client.ObjectKeyFromObject(shoot), shoot)).To(Succeed())
		before := shoot.DeepCopy()
		now := metav1.Now()
		shoot.Status.Conditions = []gardencorev1beta1.Condition{{Type: gardencorev1beta1.ShootControlPlaneHealthy, Status: status,
			Reason: "SitesUnavailable", Message: `site "vc": no route to host`, LastTransitionTime: now, LastUpdateTime: now}}
		Expect(garden.Client.Status().Patch(ctx, shoot, client.MergeFrom(before))).To(Succeed())
	}

	It("should know the sites of a Shoot, and say that it does not know how they are", func(ctx SpecContext) {
		report, code := status(ctx)
		Expect(code).To(Equal(2))
		Expect(report.Unknown).NotTo(BeEmpty())
		names := lists.Map(report.Sites, func(s v1alpha1.StatusSite) string { return s.Name })
		Expect(names).To(HaveLen(3))
		Expect(report.Sites).To(HaveEach(HaveField("Platform", Not(BeEmpty()))))
	})

	It("should show what the Shoot says, and its changes", func(ctx SpecContext) {
		tell(ctx, gardencorev1beta1.ConditionTrue)
		_, code := status(ctx)
		Expect(code).To(Equal(0))

		followed, err := gexec.Start(exec.CommandContext(ctx, hybridctl, append(arguments, "--watch")...), // #nosec G204 -- a program of ours
			gbytes.NewBuffer(), GinkgoWriter)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { followed.Kill().Wait() })
		Eventually(followed).WithTimeout(20 * time.Second).Should(gbytes.Say(`"status": "True"`))
		tell(ctx, gardencorev1beta1.ConditionFalse)
		Eventually(followed).WithTimeout(20 * time.Second).Should(gbytes.Say(`"status": "False"`))
		_, code = status(ctx)
		Expect(code).To(Equal(1))
		followed.Interrupt()
		Eventually(followed).WithTimeout(20 * time.Second).Should(gexec.Exit(0))
	}, SpecTimeout(2*time.Minute))
})
