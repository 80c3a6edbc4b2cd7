// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	securityv1alpha1 "github.com/gardener/gardener/pkg/apis/security/v1alpha1"
	"github.com/gardener/gardener/pkg/controllermanager/controller/namespacedcloudprofile"
	gardenerutils "github.com/gardener/gardener/pkg/utils/gardener"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/mutator"
)

// inGarden are the readers of objects in the garden.
func (s *sources) inGarden() []client.Reader {
	return readers(s.manifests, s.garden)
}

// inSeed are the readers of objects in the seed.
func (s *sources) inSeed() []client.Reader {
	return readers(s.manifests, s.seed)
}

func readers(manifests objects, live client.Client) []client.Reader {
	if live == nil {
		return []client.Reader{manifests}
	}
	return []client.Reader{manifests, live}
}

// all returns the objects of a type in manifests.
func all[T client.Object](from objects) []T {
	var found []T
	for _, object := range from {
		if typed, ok := object.(T); ok {
			found = append(found, typed)
		}
	}
	return found
}

// loadFrom reads what the sources have about the shoot.
func (i *inputs) loadFrom(ctx context.Context, from *sources) (*shootInput, error) {
	input := &shootInput{}
	var err error
	if input.Seed, err = from.seedClient(); err != nil {
		return nil, err
	}
	if input.Cluster, err = i.cluster(ctx, from); err != nil {
		return nil, err
	}
	if shoot := input.Cluster.Shoot; shoot != nil {
		key := client.ObjectKey{Namespace: input.Cluster.ObjectMeta.Name, Name: shoot.Name}
		if input.Infrastructure, err = optional(ctx, from.inSeed(), key, &extensionsv1alpha1.Infrastructure{}); err != nil {
			return nil, err
		}
		if input.Worker, err = optional(ctx, from.inSeed(), key, &extensionsv1alpha1.Worker{}); err != nil {
			return nil, err
		}
	}
	if !i.withoutSecret {
		input.Secret, err = i.secret(ctx, from, input.Cluster)
	}
	return input, err
}

// seedClient returns a client for the seed, which may consist of manifests. It returns nil if there is nothing of a seed.
func (s *sources) seedClient() (client.Client, error) {
	switch {
	case s.seed != nil:
		return s.seed, nil
	case len(all[*extensionsv1alpha1.Infrastructure](s.manifests)) > 0 || len(all[*extensionsv1alpha1.Worker](s.manifests)) > 0:
		return s.manifests.client()
	default:
		return nil, nil
	}
}

// optional returns nil if the object is missing.
func optional[T client.Object](ctx context.Context, readers []client.Reader, key client.ObjectKey, into T) (T, error) {
	var none T
	err := get(ctx, readers, key, into)
	if isMissing(err) {
		return none, nil
	}
	if err != nil {
		return none, err
	}
	return into, nil
}

// cluster returns the Shoot with its CloudProfile and Seed.
func (i *inputs) cluster(ctx context.Context, from *sources) (*extensionscontroller.Cluster, error) {
	given, err := i.givenShoot(from)
	if err != nil {
		return nil, err
	}
	var current *gardencorev1beta1.Shoot
	if name := i.nameOf(given); from.garden != nil && name.Name != "" {
		if current, err = optional(ctx, []client.Reader{from.garden}, name, &gardencorev1beta1.Shoot{}); err != nil {
			return nil, fmt.Errorf("garden: %w", err)
		}
	}
	deployed, err := i.deployed(ctx, from, given, current)
	if err != nil {
		return nil, err
	}
	if current == nil && deployed != nil {
		current = deployed.Shoot
	}
	cluster := &extensionscontroller.Cluster{}
	switch {
	case given != nil:
		if cluster.Shoot, err = changed(ctx, given, current); err != nil {
			return nil, err
		}
	case current != nil:
		cluster.Shoot = current
	case i.shoot != "" || len(i.files) == 0:
		return nil, fmt.Errorf("there is no Shoot %s", i.nameOf(nil))
	}
	cluster.ObjectMeta = metav1.ObjectMeta{Name: technicalID(ctx, from, cluster.Shoot)}
	if deployed != nil {
		cluster.ObjectMeta, cluster.CloudProfile, cluster.Seed = deployed.ObjectMeta, deployed.CloudProfile, deployed.Seed
	}
	profile, err := cloudProfile(ctx, from, cluster.Shoot)
	if err != nil {
		return nil, err
	}
	if profile != nil {
		cluster.CloudProfile = profile
	}
	if cluster.CloudProfile == nil {
		return nil, errors.New("the CloudProfile of the Shoot is missing: add it with --filename, or the kubeconfig of the garden")
	}
	seed, err := seedOf(ctx, from, cluster.Shoot)
	if err != nil {
		return nil, err
	}
	if seed != nil {
		cluster.Seed = seed
	}
	return cluster, nil
}

// givenShoot returns the Shoot in the manifests. It returns nil if there is none.
func (i *inputs) givenShoot(from *sources) (*gardencorev1beta1.Shoot, error) {
	var found *gardencorev1beta1.Shoot
	for _, shoot := range all[*gardencorev1beta1.Shoot](from.manifests) {
		if i.shoot != "" && shoot.Name != i.shoot {
			continue
		}
		if found != nil {
			return nil, errors.New("the manifests have several Shoots: set --shoot")
		}
		if shoot.Namespace == "" {
			shoot.Namespace = i.namespace
		}
		found = shoot
	}
	return found, nil
}

// nameOf returns the name of the Shoot in the garden.
func (i *inputs) nameOf(given *gardencorev1beta1.Shoot) client.ObjectKey {
	if given != nil {
		return client.ObjectKeyFromObject(given)
	}
	return client.ObjectKey{Namespace: i.namespace, Name: i.shoot}
}

// deployed returns the Cluster in the seed or in the manifests, which has what gardenlet has deployed last. It returns nil if there is
// none.
func (i *inputs) deployed(ctx context.Context, from *sources, given, current *gardencorev1beta1.Shoot) (*extensionscontroller.Cluster,
	error) {
	var names []string
	switch {
	case current != nil:
		names = []string{technicalID(ctx, from, current)}
	case given != nil:
		names = []string{technicalID(ctx, from, given)}
	case from.seed != nil && i.shoot == "":
		names = []string{i.namespace}
	default:
		for _, cluster := range all[*extensionsv1alpha1.Cluster](from.manifests) {
			names = append(names, cluster.Name)
		}
	}
	var found *extensionscontroller.Cluster
	for _, name := range names {
		for _, reader := range from.inSeed() {
			cluster, err := extensionscontroller.GetCluster(ctx, reader, name)
			switch {
			case isMissing(err):
				continue
			case err != nil:
				return nil, fmt.Errorf("reading Cluster %q: %w", name, err)
			case i.shoot != "" && (cluster.Shoot == nil || cluster.Shoot.Name != i.shoot):
				continue
			case found != nil && found.ObjectMeta.Name != name:
				return nil, errors.New("the manifests have several Clusters: set --shoot")
			}
			if found == nil {
				found = cluster
			}
		}
	}
	return found, nil
}

// changed returns the given Shoot as it is after it was applied to the current one, which is nil if it does not exist.
func changed(ctx context.Context, given, current *gardencorev1beta1.Shoot) (*gardencorev1beta1.Shoot, error) {
	after := given.DeepCopy()
	if current == nil && given.Status.TechnicalID != "" {
		return after, nil // It was read from a garden.
	}
	var before client.Object
	if current != nil {
		before = current
		after.ObjectMeta = *current.ObjectMeta.DeepCopy()
		after.Labels, after.Annotations = merged(current.Labels, given.Labels), merged(current.Annotations, given.Annotations)
		after.Status = *current.Status.DeepCopy()
		if after.Spec.SeedName == nil {
			after.Spec.SeedName = current.Spec.SeedName
		}
	}
	if err := mutator.NewShootMutator().Mutate(ctx, after, before); err != nil {
		return nil, fmt.Errorf("applying Shoot %q: %w", given.Name, err)
	}
	return after, nil
}

func merged(current, given map[string]string) map[string]string {
	all := maps.Clone(current)
	if all == nil {
		return given
	}
	maps.Copy(all, given)
	return all
}

// technicalID returns the technical ID of the Shoot, which Gardener computes from its project if it is new. It returns an empty string if
// there is no Shoot.
func technicalID(ctx context.Context, from *sources, shoot *gardencorev1beta1.Shoot) string {
	if shoot == nil {
		return ""
	}
	project := strings.TrimPrefix(shoot.Namespace, v1beta1constants.GardenNamespace+"-")
	namespace := &corev1.Namespace{}
	if err := get(ctx, from.inGarden(), client.ObjectKey{Name: shoot.Namespace}, namespace); err == nil {
		if name := namespace.Labels[v1beta1constants.ProjectName]; name != "" {
			project = name
		}
	}
	return gardenerutils.ComputeTechnicalID(project, shoot)
}

// cloudProfile returns the CloudProfile of the Shoot. Without a Shoot, this is the one in the manifests. It returns nil if it is missing.
func cloudProfile(ctx context.Context, from *sources, shoot *gardencorev1beta1.Shoot) (*gardencorev1beta1.CloudProfile, error) {
	if shoot == nil {
		profiles := all[*gardencorev1beta1.CloudProfile](from.manifests)
		if len(profiles) != 1 {
			return nil, fmt.Errorf("the manifests have %d CloudProfiles and no Shoot, must have one of them", len(profiles))
		}
		return profiles[0], nil
	}
	reference := gardenerutils.BuildV1beta1CloudProfileReference(shoot)
	if reference == nil {
		return nil, fmt.Errorf("no CloudProfile in Shoot %q", shoot.Name)
	}
	if reference.Kind == v1beta1constants.CloudProfileReferenceKindNamespacedCloudProfile {
		return namespacedProfile(ctx, from, client.ObjectKey{Namespace: shoot.Namespace, Name: reference.Name})
	}
	return optional(ctx, from.inGarden(), client.ObjectKey{Name: reference.Name}, &gardencorev1beta1.CloudProfile{})
}

// namespacedProfile returns a CloudProfile with the spec of the NamespacedCloudProfile, as gardenlet does. If the garden has not merged it
// with its parent, this does.
func namespacedProfile(ctx context.Context, from *sources, key client.ObjectKey) (*gardencorev1beta1.CloudProfile, error) {
	namespaced, err := optional(ctx, from.inGarden(), key, &gardencorev1beta1.NamespacedCloudProfile{})
	if err != nil || namespaced == nil {
		return nil, err
	}
	if namespaced.Status.CloudProfileSpec.Type == "" {
		parent, err := optional(ctx, from.inGarden(), client.ObjectKey{Name: namespaced.Spec.Parent.Name}, &gardencorev1beta1.CloudProfile{})
		if err != nil {
			return nil, err
		}
		if parent == nil {
			return nil, fmt.Errorf("NamespacedCloudProfile %q has no status, and its CloudProfile %q is missing", key.Name,
				namespaced.Spec.Parent.Name)
		}
		namespacedcloudprofile.MergeCloudProfiles(namespaced, parent)
		namespaced.Status.ObservedGeneration = namespaced.Generation
		if err := mutator.NewNamespacedCloudProfileMutator().Mutate(ctx, namespaced, nil); err != nil {
			return nil, fmt.Errorf("NamespacedCloudProfile %q: %w", key.Name, err)
		}
	}
	return &gardencorev1beta1.CloudProfile{
		ObjectMeta: metav1.ObjectMeta{Name: namespaced.Name, Namespace: namespaced.Namespace},
		Spec:       namespaced.Status.CloudProfileSpec,
	}, nil
}

// seedOf returns the Seed of the Shoot. It returns nil if the Shoot has none or the Seed is missing, because project members must not read
// Seeds.
func seedOf(ctx context.Context, from *sources, shoot *gardencorev1beta1.Shoot) (*gardencorev1beta1.Seed, error) {
	if shoot == nil || shoot.Spec.SeedName == nil {
		if seeds := all[*gardencorev1beta1.Seed](from.manifests); len(seeds) == 1 {
			return seeds[0], nil
		}
		return nil, nil
	}
	return optional(ctx, from.inGarden(), client.ObjectKey{Name: *shoot.Spec.SeedName}, &gardencorev1beta1.Seed{})
}

// secret returns the Secret that the Shoot's binding refers to, otherwise the one in the manifests, otherwise the one in the seed. It
// returns nil if there is none.
func (i *inputs) secret(ctx context.Context, from *sources, cluster *extensionscontroller.Cluster) (*corev1.Secret, error) {
	if cluster.Shoot != nil {
		key, err := secretKey(ctx, from, cluster.Shoot)
		if err != nil {
			return nil, err
		}
		if key.Name != "" {
			secret, err := optional(ctx, from.inGarden(), key, &corev1.Secret{})
			if err != nil || secret != nil {
				return secret, err
			}
			i.note(fmt.Sprintf("Secret %s of the binding of the Shoot does not exist or must not be read", key))
		}
	}
	switch secrets := all[*corev1.Secret](from.manifests); {
	case len(secrets) == 1:
		return secrets[0], nil
	case len(secrets) > 1:
		return nil, errors.New("the manifests have several Secrets: add the CredentialsBinding of the Shoot")
	case from.seed == nil || cluster.Shoot == nil:
		return nil, nil
	}
	return optional(ctx, []client.Reader{from.seed}, client.ObjectKey{Namespace: cluster.ObjectMeta.Name,
		Name: v1beta1constants.SecretNameCloudProvider}, &corev1.Secret{})
}

// secretKey returns the Secret in the Shoot's binding. It is empty if the binding is missing.
func secretKey(ctx context.Context, from *sources, shoot *gardencorev1beta1.Shoot) (client.ObjectKey, error) {
	switch {
	case shoot.Spec.CredentialsBindingName != nil:
		binding, err := optional(ctx, from.inGarden(), client.ObjectKey{Namespace: shoot.Namespace, Name: *shoot.Spec.CredentialsBindingName},
			&securityv1alpha1.CredentialsBinding{})
		if err != nil || binding == nil {
			return client.ObjectKey{}, err
		}
		if reference := binding.CredentialsRef; reference.Kind != "Secret" {
			return client.ObjectKey{}, fmt.Errorf("CredentialsBinding %q refers to a %s, must refer to a Secret", binding.Name, reference.Kind)
		}
		return client.ObjectKey{Namespace: binding.CredentialsRef.Namespace, Name: binding.CredentialsRef.Name}, nil
	case shoot.Spec.SecretBindingName != nil:
		binding, err := optional(ctx, from.inGarden(), client.ObjectKey{Namespace: shoot.Namespace, Name: *shoot.Spec.SecretBindingName},
			&gardencorev1beta1.SecretBinding{})
		if err != nil || binding == nil {
			return client.ObjectKey{}, err
		}
		return client.ObjectKey{Namespace: binding.SecretRef.Namespace, Name: binding.SecretRef.Name}, nil
	}
	return client.ObjectKey{}, nil
}
