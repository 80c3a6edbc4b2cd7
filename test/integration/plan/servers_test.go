// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/component/extensions/operatingsystemconfig"
	"github.com/gardener/gardener/pkg/component/extensions/worker"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/mutator"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	landscapeshoot "github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
)

const (
	inventoryService = "inventory"
	// hosts is the number of hosts of each inventory: one more than a pool has there, for its replacement.
	hosts = 2
	// userData is the Secret with the user data of all pools. It does not determine machine classes.
	userData = "user-data"
)

// counts are numbers of servers at a site.
type counts struct{ created, deleted int32 }

// pools is a shoot with machines on all platforms. Its sites are behind proxies.
type pools struct {
	*landscapeshoot.Shoot

	hybridctl string
	proxies   []*countproxy.Proxy
	// cluster has the CloudProfile and the first Shoot, and shoot is the next one.
	cluster *extensionscontroller.Cluster
	shoot   *gardencorev1beta1.Shoot
}

func newPools(ctx context.Context) *pools {
	GinkgoHelper()
	own, err := landscape.BuildOwn(ctx, GinkgoT().TempDir(), GinkgoWriter, "./cmd/...")
	Expect(err).NotTo(HaveOccurred())
	inventory := specs.Inventory(ctx, metal.Options{Metal3: true, IronCore: true, IPAM: true})
	Expect(inventory.MakePool(ctx,
		metal.Pool{Name: "racks", Addresses: []string{"10.250.8.10-10.250.11.250"}, Prefix: 22, Gateway: "10.250.8.1"})).To(Succeed())
	_, err = inventory.MakeHosts(ctx, metal.Batch{Prefix: "rack-1-s", Count: hosts, Labels: map[string]string{"rack": "r1", "size": "s"}})
	Expect(err).NotTo(HaveOccurred())
	_, err = inventory.MakeServers(ctx, metal.Batch{Prefix: "hall-1-s", Count: hosts, Labels: map[string]string{"hall": "h1", "size": "s"}})
	Expect(err).NotTo(HaveOccurred())
	pair, err := authority.Server("proxy")
	Expect(err).NotTo(HaveOccurred())
	// The vCenter is not that of other specs, which expect that there is no category of tags.
	server := specs.VCenter(ctx, vcenter.Options{Guest: time.Second})
	proxy, err := countproxy.New(
		countproxy.Service{Name: inventoryService, Upstream: inventory.Server(), CA: inventory.CA(),
			Certificate: pair.Certificate, Key: pair.Key},
		countproxy.Service{Name: vcenterService, Upstream: "https://" + server.Address, CA: server.CA,
			Certificate: pair.Certificate, Key: pair.Key},
	)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(proxy.Close)

	p := &pools{hybridctl: filepath.Join(own, "hybridctl"), proxies: []*countproxy.Proxy{proxies[0], proxy}}
	p.Shoot = specs.Shoot(ctx, landscapeshoot.Options{
		Name: "shoot--it--" + rand.String(5), Bed: bed, VCenter: server, Inventory: inventory, Binaries: landscape.DefaultBinaries().WithOwn(own),
	}, func(site *v1alpha1.CloudProfileSite) {
		switch {
		case site.OpenStack != nil:
			site.OpenStack.AuthURL = proxies[0].Rewrite(site.OpenStack.AuthURL)
		case site.VSphere != nil:
			site.VSphere.Server, site.TLS = proxy.URL(vcenterService), &v1alpha1.TLS{CACert: authority.PEM}
		case site.Metal != nil:
			site.Metal.Server, site.TLS = proxy.URL(inventoryService), &v1alpha1.TLS{CACert: authority.PEM}
		}
	})
	Expect(p.Seed.Client.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: userData, Namespace: p.Name},
		Data: map[string][]byte{extensionsv1alpha1.OperatingSystemConfigSecretDataKey: []byte("#!/bin/sh\n")}})).To(Succeed())
	p.cluster, err = extensionscontroller.GetCluster(ctx, p.Seed.Client, p.Name)
	Expect(err).NotTo(HaveOccurred())
	p.shoot = p.cluster.Shoot.DeepCopy()
	return p
}

// newLabel makes the proxies label requests from now on.
func (p *pools) newLabel(name string) string {
	name += "-" + rand.String(8)
	for _, proxy := range p.proxies {
		proxy.SetLabel(name)
	}
	return name
}

// change changes the next Shoot, and sets the defaults of the garden.
func (p *pools) change(ctx context.Context, change func(*gardencorev1beta1.Shoot)) {
	GinkgoHelper()
	change(p.shoot)
	gardencorev1beta1.SetObjectDefaults_Shoot(p.shoot)
	Expect(mutator.NewShootMutator().Mutate(ctx, p.shoot, p.cluster.Shoot)).To(Succeed())
	if p.shoot.DeletionTimestamp != nil { // No manifest says that.
		p.writeCluster(ctx)
	}
}

// writeCluster writes the next Shoot into the Cluster.
func (p *pools) writeCluster(ctx context.Context) {
	GinkgoHelper()
	raw, err := json.Marshal(p.shoot)
	Expect(err).NotTo(HaveOccurred())
	cluster := &extensionsv1alpha1.Cluster{}
	Expect(p.Seed.Client.Get(ctx, client.ObjectKey{Name: p.Name}, cluster)).To(Succeed())
	cluster.Spec.Shoot = runtime.RawExtension{Raw: raw}
	Expect(p.Seed.Client.Update(ctx, cluster)).To(Succeed())
}

// plan runs hybridctl plan for the next Shoot, and returns the exit code.
func (p *pools) plan(ctx context.Context) (*v1alpha1.PlanReport, int) {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	content, err := json.Marshal(p.shoot)
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(filepath.Join(dir, "shoot.json"), content, 0o600)).To(Succeed())
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	arguments := []string{"plan", "-f", dir, "--seed-kubeconfig", p.Seed.Cluster.Kubeconfig, "-o", "json"}
	command := exec.CommandContext(ctx, p.hybridctl, arguments...) // #nosec G204 -- ours
	command.Env, command.Stdout, command.Stderr = []string{"HOME=" + dir}, &stdout, &stderr
	label := p.newLabel("plan")
	err = command.Run()
	var exit *exec.ExitError
	Expect(err == nil || errors.As(err, &exit)).To(BeTrue(), "%v", err)
	report := &v1alpha1.PlanReport{}
	Expect(json.Unmarshal(stdout.Bytes(), report)).To(Succeed(), stderr.String())
	Expect(report.Errors).To(BeEmpty(), stdout.String())
	Expect(p.countedServers(label)).To(BeEmpty(), "a plan changes nothing")
	return report, command.ProcessState.ExitCode()
}

// apply does what gardenlet does with the next Shoot, and waits until everything is reconciled.
func (p *pools) apply(ctx context.Context) {
	GinkgoHelper()
	p.writeCluster(ctx)
	infrastructure, err := p.Infrastructure()
	Expect(err).NotTo(HaveOccurred())
	if p.shoot.DeletionTimestamp != nil {
		Expect(p.Delete(ctx, &extensionsv1alpha1.Worker{ObjectMeta: metav1.ObjectMeta{Name: p.shoot.Name, Namespace: p.Name}})).To(Succeed())
		Expect(p.Delete(ctx, infrastructure)).To(Succeed())
		return
	}
	since := time.Now()
	asked := infrastructure.DeepCopy()
	if err := p.Seed.Client.Create(ctx, infrastructure); err != nil {
		Expect(err).To(MatchError(apierrors.IsAlreadyExists, "already exists"))
		Expect(p.Seed.Client.Patch(ctx, asked, client.Merge)).To(Succeed())
	}
	Expect(p.Reconciled(ctx, infrastructure, since)).To(Succeed())
	since = time.Now()
	Expect(p.Reconciled(ctx, p.deployWorker(ctx, infrastructure), since)).To(Succeed())
}

// deployWorker writes the Worker with gardenlet's code.
func (p *pools) deployWorker(ctx context.Context, infrastructure *extensionsv1alpha1.Infrastructure) extensionsv1alpha1.Object {
	GinkgoHelper()
	version := semver.MustParse(p.shoot.Spec.Kubernetes.Version)
	configs := map[string]*operatingsystemconfig.OperatingSystemConfigs{}
	for i := range p.shoot.Spec.Provider.Workers {
		pool, kubernetes := &p.shoot.Spec.Provider.Workers[i], &p.shoot.Spec.Kubernetes
		configs[pool.Name] = &operatingsystemconfig.OperatingSystemConfigs{Init: operatingsystemconfig.Data{SecretName: new(userData),
			GardenerNodeAgentSecretName: operatingsystemconfig.Key(version, nil, pool, false, kubernetes.Kubelet, kubernetes.KubeProxy)}}
	}
	deployer := worker.New(logr.Discard(), p.Seed.Client, &worker.Values{
		Namespace: p.Name, Name: p.shoot.Name, Type: v1alpha1.ProviderType, Region: p.shoot.Spec.Region,
		Workers: p.shoot.Spec.Provider.Workers, KubernetesVersion: version, MachineTypes: p.cluster.CloudProfile.Spec.MachineTypes,
	}, 0, 0, 0)
	deployer.SetSSHPublicKey(infrastructure.Spec.SSHPublicKey)
	deployer.SetInfrastructureProviderStatus(infrastructure.Status.ProviderStatus)
	deployer.SetWorkerPoolNameToOperatingSystemConfigsMap(configs)
	Expect(deployer.Deploy(ctx)).To(Succeed())
	written, err := deployer.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	return written
}

// settled returns an error unless the machines are those of the plan, and run.
func (p *pools) settled(ctx context.Context, report *v1alpha1.PlanReport) error {
	var wanted int32
	for _, pool := range report.Pools {
		for _, zone := range pool.Zones {
			wanted += zone.Machines.Existing + zone.Machines.Created - zone.Machines.Deleted
		}
	}
	machines, err := p.Machines(ctx)
	if err != nil {
		return err
	}
	for name, machine := range machines {
		if phase := machine.Status.CurrentStatus.Phase; phase != machinev1alpha1.MachineRunning {
			return fmt.Errorf("machine %s is %q: %s", name, phase, machine.Status.LastOperation.Description)
		}
	}
	if len(machines) != int(wanted) {
		return fmt.Errorf("there are %d machines, not %d", len(machines), wanted)
	}
	return p.Seed.Check()
}

// plannedServers are the numbers of servers in a plan, by site.
func plannedServers(report *v1alpha1.PlanReport) map[string]counts {
	found := map[string]counts{}
	for _, pool := range report.Pools {
		for _, zone := range pool.Zones {
			of := found[zone.Site]
			found[zone.Site] = counts{of.created + zone.Machines.Created, of.deleted + zone.Machines.Deleted}
		}
	}
	return withoutNone(found)
}

// countedServers are the numbers of servers that requests with the label created and deleted, by site. Several requests to delete a server
// count once.
func (p *pools) countedServers(label string) map[string]counts {
	found, deleted := map[string]counts{}, map[string]bool{}
	for _, proxy := range p.proxies {
		for _, r := range proxy.Requests(label) {
			site, isNew := siteOf(&r)
			of := found[site]
			switch key := site + " " + r.Path + r.Object; {
			case site == "":
				continue
			case isNew:
				of.created++
			case !deleted[key]:
				deleted[key] = true
				of.deleted++
			}
			found[site] = of
		}
	}
	return withoutNone(found)
}

// siteOf returns at which site a request creates a server or deletes one. It returns an empty string for other requests. A host of racks
// has an address claim while it is a machine.
func siteOf(r *countproxy.Request) (site string, isNew bool) {
	collection := r.Path
	if isNew = r.Method == http.MethodPost; !isNew {
		collection = path.Dir(r.Path)
	}
	changes := isNew || r.Method == http.MethodDelete
	switch {
	case r.Service == "nova" && changes && path.Base(collection) == "servers":
		return "cloud", isNew
	case r.Service == vcenterService && (r.Operation == "CloneVM_Task" || r.Operation == "InstantClone_Task"):
		return "vc", true
	case r.Service == vcenterService && r.Operation == "Destroy_Task" && strings.HasPrefix(r.Object, "VirtualMachine:"):
		return "vc", false
	case r.Service == inventoryService && changes && path.Base(collection) == "ipaddressclaims":
		return "racks", isNew
	case r.Service == inventoryService && changes && path.Base(collection) == "serverclaims":
		return "hall", isNew
	default:
		return "", false
	}
}

// withoutNone returns the sites with servers.
func withoutNone(found map[string]counts) map[string]counts {
	result := map[string]counts{}
	maps.Copy(result, found)
	maps.DeleteFunc(result, func(_ string, s counts) bool { return s == counts{} })
	return result
}
