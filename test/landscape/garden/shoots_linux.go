// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package garden

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/machines"
)

const (
	// kubernetesVersion is that of the kubelets.
	kubernetesVersion = "v1.36.3"

	shootsPeriod = time.Second
)

// shootMachines are what is played for a shoot.
type shootMachines struct {
	*machines.Machines
	client client.Client
}

// watchShoots plays the machines of each shoot as long as it has a Worker.
func (g *Garden) watchShoots(ctx context.Context, seed client.Client) {
	ticker := time.NewTicker(shootsPeriod)
	defer ticker.Stop()
	for {
		if err := g.syncShoots(ctx, seed); err != nil && ctx.Err() == nil {
			g.options.Log.Info("Not all shoots have machines", "reason", err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (g *Garden) syncShoots(ctx context.Context, seed client.Client) error {
	list := &extensionsv1alpha1.WorkerList{}
	if err := seed.List(ctx, list); err != nil {
		if meta.IsNoMatchError(err) {
			return nil
		}
		return err
	}
	var errs []error
	wanted := map[string]bool{}
	for _, worker := range list.Items {
		wanted[worker.Namespace] = true
		if g.machines(worker.Namespace) == nil {
			errs = append(errs, g.startShoot(ctx, seed, worker.Namespace))
		}
	}
	for _, namespace := range g.played() {
		if !wanted[namespace] {
			g.forgetShoot(namespace)
		}
	}
	return errors.Join(errs...)
}

func (g *Garden) startShoot(ctx context.Context, seed client.Client, namespace string) error {
	config, err := g.ShootConfig(ctx, namespace)
	if err != nil {
		return err
	}
	shoot, err := client.New(config, client.Options{Scheme: Scheme})
	if err != nil {
		return fmt.Errorf("access shoot %s: %w", namespace, err)
	}
	s := &shootMachines{client: shoot, Machines: &machines.Machines{
		Seed: seed, Shoot: shoot, Config: config, Namespace: namespace, Servers: g.options.Servers(namespace), Version: kubernetesVersion,
		Log: g.options.Log,
	}}
	s.Start(ctx)
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.shoots[namespace] = s
	return nil
}

// ShootConfig returns an administrator's access to a shoot, which is the one of gardenlet.
func (g *Garden) ShootConfig(ctx context.Context, namespace string) (*rest.Config, error) {
	secret, service := &corev1.Secret{}, &corev1.Service{}
	if err := g.SeedClient.Get(ctx, client.ObjectKey{Namespace: namespace, Name: v1beta1constants.SecretNameGardenerInternal},
		secret); err != nil {
		return nil, err
	}
	if err := g.SeedClient.Get(ctx, client.ObjectKey{Namespace: namespace, Name: v1beta1constants.DeploymentNameKubeAPIServer},
		service); err != nil {
		return nil, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["kubeconfig"])
	if err != nil {
		return nil, err
	}
	host, err := url.Parse(config.Host)
	if err != nil || host.Host == "" {
		host = &url.URL{Host: config.Host}
	}
	config.ServerName, config.Host = host.Hostname(), "https://"+service.Spec.ClusterIP+":443"
	config.Dial = g.Network.DialContext
	config.QPS, config.Burst = 100, 200
	return config, nil
}

// ShootClient accesses a shoot whose machines are played, nil as long as there are none.
func (g *Garden) ShootClient(namespace string) client.Client {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if s := g.shoots[namespace]; s != nil {
		return s.client
	}
	return nil
}

// machines are those of a shoot, nil as long as there are none.
func (g *Garden) machines(namespace string) *machines.Machines {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if s := g.shoots[namespace]; s != nil {
		return s.Machines
	}
	return nil
}

// played are the namespaces of the shoots whose machines are played.
func (g *Garden) played() []string {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return slices.Collect(maps.Keys(g.shoots))
}

// forgetShoot ends what is played for a shoot.
func (g *Garden) forgetShoot(namespace string) {
	g.mutex.Lock()
	s := g.shoots[namespace]
	delete(g.shoots, namespace)
	g.mutex.Unlock()
	if s != nil {
		s.Stop()
	}
}

func (g *Garden) stopShoots() {
	for _, namespace := range g.played() {
		g.forgetShoot(namespace)
	}
}
