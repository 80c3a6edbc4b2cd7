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
	// KubernetesVersion is that of the kubelets.
	KubernetesVersion = "v1.36.3"

	shootsPeriod = time.Second
)

// shootMachines are what is played for a shoot: nothing if its nodes are real.
type shootMachines struct {
	*machines.Machines
	client client.Client
}

// watchShoots plays the machines of each shoot as long as it has a Worker.
func (s *Seed) watchShoots(ctx context.Context, seed client.Client) {
	ticker := time.NewTicker(shootsPeriod)
	defer ticker.Stop()
	for {
		if err := s.syncShoots(ctx, seed); err != nil && ctx.Err() == nil {
			s.garden.options.Log.Info("Not all shoots have machines", "reason", err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (s *Seed) syncShoots(ctx context.Context, seed client.Client) error {
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
		if s.ShootClient(worker.Namespace) == nil {
			errs = append(errs, s.startShoot(ctx, seed, worker.Namespace))
		}
	}
	for _, namespace := range s.played() {
		if !wanted[namespace] {
			s.forgetShoot(namespace)
		}
	}
	return errors.Join(errs...)
}

func (s *Seed) startShoot(ctx context.Context, seed client.Client, namespace string) error {
	config, err := s.ShootConfig(ctx, namespace)
	if err != nil {
		return err
	}
	shoot, err := client.New(config, client.Options{Scheme: Scheme})
	if err != nil {
		return fmt.Errorf("access shoot %s: %w", namespace, err)
	}
	m := &shootMachines{client: shoot}
	if s.garden.options.DialNode == nil {
		m.Machines = &machines.Machines{
			Seed: seed, Shoot: shoot, Config: config, Namespace: namespace, Servers: s.garden.options.Servers(namespace),
			Version: KubernetesVersion, Log: s.garden.options.Log,
		}
		m.Start(ctx)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.shoots[namespace] = m
	return nil
}

// ShootConfig returns an administrator's access to a shoot, which is the one of gardenlet.
func (s *Seed) ShootConfig(ctx context.Context, namespace string) (*rest.Config, error) {
	secret, service := &corev1.Secret{}, &corev1.Service{}
	if err := s.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: v1beta1constants.SecretNameGardenerInternal},
		secret); err != nil {
		return nil, err
	}
	if err := s.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: v1beta1constants.DeploymentNameKubeAPIServer},
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
	config.Dial = s.garden.Network.DialContext
	config.QPS, config.Burst = 100, 200
	return config, nil
}

// ShootClient accesses a shoot whose machines are played in one of the seeds, nil as long as there are none.
func (g *Garden) ShootClient(namespace string) client.Client {
	for _, seed := range g.seeds() {
		if c := seed.ShootClient(namespace); c != nil {
			return c
		}
	}
	return nil
}

// ShootClient accesses a shoot whose machines are played in the seed, nil as long as there are none.
func (s *Seed) ShootClient(namespace string) client.Client {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if m := s.shoots[namespace]; m != nil {
		return m.client
	}
	return nil
}

// machines are those of a shoot, nil as long as there are none.
func (s *Seed) machines(namespace string) *machines.Machines {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if m := s.shoots[namespace]; m != nil {
		return m.Machines
	}
	return nil
}

// played are the namespaces of the shoots whose machines are played.
func (s *Seed) played() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Collect(maps.Keys(s.shoots))
}

// forgetShoot ends what is played for a shoot.
func (s *Seed) forgetShoot(namespace string) {
	s.mutex.Lock()
	m := s.shoots[namespace]
	delete(s.shoots, namespace)
	s.mutex.Unlock()
	if m != nil {
		m.Stop()
	}
}

func (s *Seed) stopShoots() {
	for _, namespace := range s.played() {
		s.forgetShoot(namespace)
	}
}
