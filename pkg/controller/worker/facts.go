// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	"github.com/gardener/gardener/extensions/pkg/controller/worker"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/utils/gardener/shootstate"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// documents are the documents of the shoot that describe its sites. Those that cannot be read are nil.
type documents struct {
	region  string
	profile *v1alpha1.CloudProfileConfig
	sites   []site.Site
	// sitesErr is the reason why some sites of the shoot are missing in sites.
	sitesErr error
	status   *v1alpha1.InfrastructureStatus
	// secret is the data of the shoot's Secret.
	secret map[string][]byte
	// err is an error that concerns all sites.
	err error
}

// facts are everything that is known without requests to sites.
type facts struct {
	documents

	worker  *extensionsv1alpha1.Worker
	cluster *extensionscontroller.Cluster
	// images are the machine images that the last reconciliation stored in the status of the Worker.
	images []v1alpha1.MachineImage
	// userData is the user data of the pools, in their order.
	userData []platform.Answer[[]byte]
	// existing are the machine deployments by name.
	existing map[string]*existing
	former   former
	// quarantines are those of sites whose machines stay as they are, and kept are the objects of these machines.
	quarantines quarantines
	kept        keptObjects
}

// existing is an existing machine deployment.
type existing struct {
	deployment *machinev1alpha1.MachineDeployment
	className  string
	secretName string
}

// former are the names of the machine classes and sites of machines to be restored, by machine deployment. The machine state does not
// include the classes themselves. During a rolling update, or in a retained zone, they differ from the desired classes, and without them
// machine-controller-manager would not even delete the machines.
type former struct {
	classes, sites map[string]sets.Set[string]
}

// readFacts returns an error only if the seed cannot be read.
func readFacts(ctx context.Context, c *call, before former) (*facts, error) {
	f := &facts{documents: readDocuments(ctx, c), worker: c.worker, cluster: c.cluster, former: before}

	status, err := readStatus(c.worker)
	if err != nil {
		c.log.Error(err, "Machine images in the status of the Worker cannot be decoded")
	}
	f.images = status.MachineImages
	for _, pool := range c.worker.Spec.Pools {
		data, err := worker.FetchUserData(ctx, c.client, c.worker.Namespace, pool)
		f.userData = append(f.userData, platform.Answer[[]byte]{Value: data, Err: err})
	}
	f.quarantines = quarantinesOf(f.profile, c.quarantinedSince, time.Now())
	if f.kept, err = f.quarantines.keptObjects(ctx, c); err != nil {
		return nil, err
	}
	f.existing, err = readExisting(ctx, c)
	return f, err
}

// readStatus returns the providerStatus. It is empty if there is none, or with an error.
func readStatus(w *extensionsv1alpha1.Worker) (*v1alpha1.WorkerStatus, error) {
	return shootsites.DecodeOptional[v1alpha1.WorkerStatus]("status.providerStatus", w.Status.ProviderStatus)
}

func readDocuments(ctx context.Context, c *call) documents {
	input, configErr, secretErr := shootsites.Read(ctx, c.client, shootsites.OfShoot(c.worker.Namespace, c.worker.Spec.SecretRef, c.cluster),
		c.cluster)
	status, statusErr := shootsites.Decode[v1alpha1.InfrastructureStatus](
		"infrastructureProviderStatus of the Worker", c.worker.Spec.InfrastructureProviderStatus)
	sites, sitesErr := site.Resolve(input.Input)
	if sitesErr != nil {
		sitesErr = platform.NewError(platform.ClassConfiguration, "%w", sitesErr)
	}
	return documents{
		region:   c.worker.Spec.Region,
		profile:  input.Profile,
		sites:    sites,
		sitesErr: sitesErr,
		status:   status,
		secret:   input.Secret,
		err:      errors.Join(configErr, secretErr, statusErr),
	}
}

// readExisting returns the machine deployments that are not being deleted, by name. It reads without a cache: with stale data the zones
// would lose their machines, or could be refused for good.
func readExisting(ctx context.Context, c *call) (map[string]*existing, error) {
	var (
		deployments = &machinev1alpha1.MachineDeploymentList{}
		classes     = &machinev1alpha1.MachineClassList{}
		found       = map[string]*existing{}
		secretNames = map[string]string{}
	)
	if err := c.list(ctx, deployments); err != nil || len(deployments.Items) == 0 {
		return nil, err
	}
	if err := c.list(ctx, classes); err != nil {
		return nil, err
	}
	for _, class := range classes.Items {
		if class.SecretRef != nil {
			secretNames[class.Name] = class.SecretRef.Name
		}
	}
	for i := range deployments.Items {
		deployment := &deployments.Items[i]
		if deployment.DeletionTimestamp != nil {
			continue
		}
		className := deployment.Spec.Template.Spec.Class.Name
		found[deployment.Name] = &existing{deployment, className, cmp.Or(secretNames[className], className)}
	}
	return found, nil
}

// locate finds the site of the zone. With an error the site is nil, and its name may be empty.
func (d *documents) locate(zone string) (*site.Site, string, error) {
	if s, _ := site.FindZone(d.sites, zone); s != nil {
		return s, s.Name, nil
	}
	if profile, _ := helper.FindZone(d.profile, d.region, zone); profile != nil {
		return nil, profile.Name, cmp.Or[error](d.sitesErr, platform.InSite(profile.Name,
			platform.NewError(platform.ClassConfiguration, "the infrastructureConfig of the Shoot does not list the site")))
	}
	return nil, "", cmp.Or[error](d.sitesErr,
		platform.NewError(platform.ClassConfiguration, "no site in region %q of the CloudProfile has the zone", d.region))
}

// siteStatus returns the status of the site's infrastructure, nil if it is not ready.
func (d *documents) siteStatus(name string) *v1alpha1.SiteStatus {
	if d.status == nil {
		return nil
	}
	return lists.Find(d.status.Sites, func(s *v1alpha1.SiteStatus) bool { return s.Name == name })
}

func readFormer(ctx context.Context, garden client.Reader, w *extensionsv1alpha1.Worker, shoot *gardencorev1beta1.Shoot) (former, error) {
	before := former{classes: map[string]sets.Set[string]{}, sites: map[string]sets.Set[string]{}}
	state, err := machineState(ctx, garden, w, shoot)
	if err != nil {
		return before, err
	}
	for name, deployment := range state.MachineDeployments {
		classes, sites := sets.New[string](), sets.New[string]()
		for i := range deployment.MachineSets {
			classes.Insert(deployment.MachineSets[i].Spec.Template.Spec.Class.Name)
		}
		for i := range deployment.Machines {
			classes.Insert(deployment.Machines[i].Spec.Class.Name)
			sites.Insert(deployment.Machines[i].Spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite])
		}
		before.classes[name], before.sites[name] = classes.Delete(""), sites
	}
	return before, nil
}

// machineState reads the state from the same places as Gardener's generic actuator. The garden reader may be nil.
func machineState(
	ctx context.Context, garden client.Reader, w *extensionsv1alpha1.Worker, shoot *gardencorev1beta1.Shoot,
) (*shootstate.MachineState, error) {
	if w.Status.State != nil && len(w.Status.State.Raw) > 0 {
		return shootstate.UnmarshalMachineState(w.Status.State.Raw)
	}
	if garden == nil {
		return &shootstate.MachineState{}, nil
	}
	shootState := &gardencorev1beta1.ShootState{}
	if err := garden.Get(ctx, client.ObjectKeyFromObject(shoot), shootState); err != nil {
		return nil, fmt.Errorf("reading the ShootState: %w", err)
	}
	data := v1beta1helper.GardenerResourceDataList(shootState.Spec.Gardener)
	machines := data.Get(v1beta1constants.DataTypeMachineState)
	if machines == nil {
		return &shootstate.MachineState{}, nil
	}
	return shootstate.UnmarshalMachineState(machines.Data.Raw)
}
