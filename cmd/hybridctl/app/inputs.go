// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// loadTimeout limits how long a garden and a seed may take to answer all requests about a shoot.
const loadTimeout = time.Minute

// shootInput is what is known about a shoot.
type shootInput struct {
	// Cluster has CloudProfile, Shoot and Seed as the controllers see them. Its name is the technical ID of the shoot. The Seed is nil if it
	// is not known. The Shoot is nil if only a CloudProfile was given.
	Cluster *extensionscontroller.Cluster
	// Secret is nil if it was not given.
	Secret *corev1.Secret
	// Infrastructure and Worker are nil if they do not exist or are not known.
	Infrastructure *extensionsv1alpha1.Infrastructure
	Worker         *extensionsv1alpha1.Worker
	// Seed reads the objects in the seed. It is nil without access to them. It does not write.
	Seed client.Client
}

// inputs are what the user gives: manifests, a garden, a seed, or several of these. Manifests have precedence over the garden, and the
// garden over the seed.
type inputs struct {
	streams Streams
	// withoutSecret is set by commands that do not use the Secret.
	withoutSecret bool

	files          []string
	kubeconfig     string
	context        string
	namespace      string
	shoot          string
	seedKubeconfig string
}

func (i *inputs) addFlags(command *cobra.Command) {
	flags := command.Flags()
	flags.StringArrayVarP(&i.files, "filename", "f", nil, "File or folder with manifests, - for the standard input. May be repeated.")
	flags.StringVar(&i.kubeconfig, "kubeconfig", "", "Kubeconfig of the garden. Default: as of kubectl, if --shoot is set without --filename.")
	flags.StringVar(&i.context, "context", "", "Context in the kubeconfig of the garden.")
	flags.StringVarP(&i.namespace, "namespace", "n", "", "Namespace of the project in the garden. With --seed-kubeconfig alone, namespace of "+
		"the shoot in the seed.")
	flags.StringVar(&i.shoot, "shoot", "", "Name of the Shoot. It may be omitted if there is one in the manifests.")
	flags.StringVar(&i.seedKubeconfig, "seed-kubeconfig", "", "Kubeconfig of the seed, for the objects of existing shoots.")
	_ = command.RegisterFlagCompletionFunc("context", i.completeContext)
	_ = command.RegisterFlagCompletionFunc("shoot", i.completeShoot)
	validated(command, func() error {
		if len(i.files) == 0 && i.shoot == "" && (i.seedKubeconfig == "" || i.namespace == "") {
			return errors.New("set --filename, --shoot, or --seed-kubeconfig with --namespace")
		}
		return nil
	})
}

// sources are the readers of the objects that are known.
type sources struct {
	manifests objects
	// garden and seed are nil if they were not given.
	garden, seed client.Client
	// gardenConfig and seedConfig are nil if they were not given. They only read.
	gardenConfig, seedConfig *rest.Config
}

// load reads everything that was given about the shoot. Notes about what could not be read are written to the error stream.
func (i *inputs) load(ctx context.Context) (*shootInput, error) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	from, err := i.open()
	if err != nil {
		return nil, err
	}
	return i.loadFrom(ctx, from)
}

// open reads the manifests, and prepares the access to the garden and to the seed.
func (i *inputs) open() (*sources, error) {
	read, err := readManifests(i.files, i.streams.In)
	if err != nil {
		return nil, err
	}
	for _, note := range read.notes {
		i.note(note)
	}
	from := &sources{manifests: read.objects}
	if i.kubeconfig != "" || i.context != "" || len(i.files) == 0 && i.shoot != "" {
		config, namespace, err := i.gardenConfig()
		if err != nil {
			return nil, fmt.Errorf("kubeconfig of the garden: %w", err)
		}
		if i.namespace == "" {
			i.namespace = namespace
		}
		from.gardenConfig = readOnly(config)
		if from.garden, err = newClient(from.gardenConfig); err != nil {
			return nil, fmt.Errorf("garden: %w", err)
		}
	}
	if i.seedKubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", i.seedKubeconfig)
		if err != nil {
			return nil, fmt.Errorf("kubeconfig of the seed: %w", err)
		}
		from.seedConfig = readOnly(config)
		if from.seed, err = newClient(from.seedConfig); err != nil {
			return nil, fmt.Errorf("seed: %w", err)
		}
	}
	return from, nil
}

func (i *inputs) clientConfig() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = i.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: i.context})
}

// gardenConfig returns the configuration of the garden's client, and the namespace in its kubeconfig.
func (i *inputs) gardenConfig() (*rest.Config, string, error) {
	config := i.clientConfig()
	namespace, _, err := config.Namespace()
	if err != nil {
		return nil, "", err
	}
	restConfig, err := config.ClientConfig()
	return restConfig, namespace, err
}

func (i *inputs) note(text string) {
	fmt.Fprintf(i.streams.Err, "note: %s\n", text)
}

func (i *inputs) completeContext(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	config, err := i.clientConfig().RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var contexts []cobra.Completion
	for name := range config.Contexts {
		contexts = append(contexts, name)
	}
	slices.Sort(contexts)
	return contexts, cobra.ShellCompDirectiveNoFileComp
}

func (i *inputs) completeShoot(command *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	config, namespace, err := i.gardenConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	garden, err := newClient(readOnly(config))
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ctx, cancel := context.WithTimeout(command.Context(), loadTimeout)
	defer cancel()
	shoots := &gardencorev1beta1.ShootList{}
	if i.namespace != "" {
		namespace = i.namespace
	}
	if err := garden.List(ctx, shoots, client.InNamespace(namespace)); err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []cobra.Completion
	for n := range shoots.Items {
		names = append(names, shoots.Items[n].Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// isMissing returns whether an object does not exist or must not be read.
func isMissing(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsForbidden(err)
}
