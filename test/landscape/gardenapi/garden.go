// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package gardenapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gardener/gardener/pkg/client/kubernetes"
	gardenenvtest "github.com/gardener/gardener/test/envtest"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

const (
	startTimeout = time.Minute
	// webhookNamespace is where the admission component keeps its certificates.
	webhookNamespace = "garden"
)

// Options are those of a garden.
type Options struct {
	// Dir is the folder for keys, the kubeconfig and logs.
	Dir string
	// Admission is the executable of the admission component.
	Admission string
}

// Garden is the API of a garden and the admission component.
type Garden struct {
	// Client accesses the garden as an administrator, without a cache.
	Client client.Client
	// Config is an administrator's access.
	Config *rest.Config
	// Admission is the admission component, which is not started.
	Admission *landscape.Process
	// Address is the host and the port of the admission component's webhooks.
	Address string

	environment *gardenenvtest.GardenerTestEnvironment
	// auditLog is the path of the log of what the admission component asks for.
	auditLog string
}

// Start starts the API and returns when it is ready.
func Start(ctx context.Context, o Options) (*Garden, error) {
	assets := filepath.Join(landscape.Root(), "hack", "bin")
	servers := assets
	if dir := os.Getenv(landscape.AssetsVariable); dir != "" {
		servers = dir
	}
	g := &Garden{environment: &gardenenvtest.GardenerTestEnvironment{
		Environment: &envtest.Environment{
			BinaryAssetsDirectory:    servers,
			ControlPlaneStartTimeout: startTimeout,
			ControlPlaneStopTimeout:  startTimeout,
		},
		GardenerAPIServer: &gardenenvtest.GardenerAPIServer{Path: filepath.Join(assets, "gardener-apiserver")},
	}}
	if err := g.audit(o.Dir); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(o.Dir, "gardener-apiserver.log"))
	if err != nil {
		return nil, err
	}
	g.environment.GardenerAPIServer.Out, g.environment.GardenerAPIServer.Err = log, log
	if g.Config, err = g.environment.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the API of a garden: %w", err), g.Stop())
	}
	if err := g.prepare(ctx, o); err != nil {
		return nil, errors.Join(err, g.Stop())
	}
	return g, nil
}

// prepare makes what depends on the API that was started.
func (g *Garden) prepare(ctx context.Context, o Options) error {
	g.Config.QPS, g.Config.Burst = 1000, 2000
	var err error
	if g.Client, err = client.New(g.Config, client.Options{Scheme: kubernetes.GardenScheme}); err != nil {
		return err
	}
	if err := g.createNamespace(ctx, webhookNamespace, nil); err != nil {
		return err
	}
	kubeconfig, err := g.access(ctx, g.Client)
	if err != nil {
		return err
	}
	path := filepath.Join(o.Dir, "kubeconfig")
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		return err
	}

	ports, err := landscape.FreePorts(3)
	if err != nil {
		return err
	}
	g.Address = net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
	g.Admission = &landscape.Process{
		Name: filepath.Base(o.Admission), Path: o.Admission, LogFile: filepath.Join(o.Dir, "admission.log"),
		Env: []string{"GARDEN_KUBECONFIG=" + path},
		Args: []string{
			"--webhook-config-mode=url", "--webhook-config-url=" + g.Address, "--webhook-config-namespace=" + webhookNamespace,
			"--webhook-config-server-host=127.0.0.1", "--webhook-config-server-port=" + strconv.Itoa(ports[0]),
			"--webhook-config-cert-dir=" + filepath.Join(o.Dir, "webhook-certificates"),
			"--metrics-bind-address=127.0.0.1:" + strconv.Itoa(ports[1]), "--health-bind-address=127.0.0.1:" + strconv.Itoa(ports[2]),
			"--leader-election=false",
		},
	}
	return nil
}

// StartAdmission starts the admission component and returns when the API calls its webhooks: the object is one that only they refuse.
func (g *Garden) StartAdmission(ctx context.Context, refused client.Object) error {
	if err := g.Admission.Start(); err != nil {
		return err
	}
	var last error
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, startTimeout, true, func(ctx context.Context) (bool, error) {
		if err := g.Admission.Check(); err != nil {
			return false, err
		}
		err := errors.Join(g.serves(ctx), g.registered(ctx, refused))
		if ctx.Err() == nil {
			last = err
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("the admission component is not ready: %w (%w); last lines of %s:\n%s", err, last, g.Admission.LogFile,
			g.Admission.Tail(20))
	}
	return nil
}

// serves returns whether the webhooks' port accepts connections.
func (g *Garden) serves(ctx context.Context) error {
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // #nosec G402 -- whoever it is, it is there
	connection, err := dialer.DialContext(ctx, "tcp", g.Address)
	if err != nil {
		return err
	}
	return connection.Close()
}

// Stop ends all processes.
func (g *Garden) Stop() error {
	if g.Admission != nil {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		g.Admission.Stop(ctx)
	}
	return g.environment.Stop()
}
