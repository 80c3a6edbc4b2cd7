// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/relay"
)

// localhost is what every hosts file begins with.
const localhost = "127.0.0.1 localhost\n"

// forwarder passes connections to the address of a Service on to a pod.
type forwarder struct {
	*relay.Relay
	// service and port are what the address is of now. The kubelet's mutex guards them.
	service *corev1.Service
	port    corev1.ServicePort
}

// errNoBackend means that no pod of a Service runs as processes.
var errNoBackend = errors.New("the Service has no pod that runs")

// syncServices brings the addresses of Services and the hosts files up to date.
func (k *Kubelet) syncServices(ctx context.Context) error {
	list := &corev1.ServiceList{}
	if err := k.Client.List(ctx, list); err != nil {
		return fmt.Errorf("list services: %w", err)
	}
	wanted := map[string]forwarder{}
	for i := range list.Items {
		service := &list.Items[i]
		for _, ip := range addressesOf(service) {
			for _, port := range service.Spec.Ports {
				if port.Protocol == corev1.ProtocolTCP {
					wanted[net.JoinHostPort(ip, strconv.Itoa(int(port.Port)))] = forwarder{service: service, port: port}
				}
			}
		}
	}
	return errors.Join(k.listen(wanted), k.writeHosts(ctx, list.Items))
}

// addressesOf are the addresses at which a Service is reached.
func addressesOf(service *corev1.Service) []string {
	var result []string
	if ip := service.Spec.ClusterIP; ip != "" && ip != corev1.ClusterIPNone {
		result = append(result, ip)
	}
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		if ingress.IP != "" {
			result = append(result, ingress.IP)
		}
	}
	return result
}

// listen opens and closes listeners. An address may go to another Service.
func (k *Kubelet) listen(wanted map[string]forwarder) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	var errs []error
	for address, want := range wanted {
		if f := k.listeners[address]; f != nil {
			f.service, f.port = want.service, want.port
			continue
		}
		f := &forwarder{service: want.service, port: want.port}
		var err error
		f.Relay, err = relayIn(k.Network, address, func(ctx context.Context) (net.Conn, error) { return k.dialService(ctx, f) })
		if err != nil {
			errs = append(errs, err)
			continue
		}
		k.listeners[address] = f
	}
	for address, f := range k.listeners {
		if _, ok := wanted[address]; !ok {
			_ = f.Close()
			delete(k.listeners, address)
		}
	}
	return errors.Join(errs...)
}

// dialService connects to a pod of a Service.
func (k *Kubelet) dialService(ctx context.Context, f *forwarder) (net.Conn, error) {
	backend, err := k.backend(f)
	if err != nil {
		return nil, err
	}
	return k.Network.DialContext(ctx, "tcp", backend)
}

// backend is the address of a ready pod of a Service, or of any whose processes run if the Service publishes those.
func (k *Kubelet) backend(f *forwarder) (string, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if f.service.Namespace == corev1.NamespaceDefault && f.service.Name == "kubernetes" {
		return k.APIServer, nil
	}
	selector := labels.SelectorFromSet(f.service.Spec.Selector)
	if selector.Empty() {
		return "", errNoBackend
	}
	for _, p := range k.pods {
		if !p.real || p.object == nil || p.object.DeletionTimestamp != nil || p.key.Namespace != f.service.Namespace ||
			!selector.Matches(labels.Set(p.object.Labels)) {
			continue
		}
		if f.service.Spec.PublishNotReadyAddresses || p.ready() {
			return net.JoinHostPort(p.ip, strconv.Itoa(int(p.targetPort(f.port)))), nil
		}
	}
	return "", errNoBackend
}

// ready is whether the node has reported that the pod is ready.
func (p *Pod) ready() bool {
	return slices.ContainsFunc(p.object.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// targetPort is the port of the pod that a port of a Service stands for.
func (p *Pod) targetPort(port corev1.ServicePort) int32 {
	for i := range p.object.Spec.Containers {
		if number := portOf(&p.object.Spec.Containers[i], port.TargetPort); number != 0 {
			return number
		}
	}
	return port.Port
}

// hostsFile is the path of the file with the host names that containers of a namespace know.
func (k *Kubelet) hostsFile(namespace string) string {
	return filepath.Join(k.Dir, "hosts", namespace)
}

// HostsFile is the path of the file with the host names that processes beside the pods know, below the folder of the kubelet.
func HostsFile(dir string) string {
	return filepath.Join(dir, "hosts", "all")
}

// MakeHostsFile makes the file for processes that start before the kubelet. It stays the same file.
func MakeHostsFile(dir string) error {
	path := HostsFile(dir)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	return writeFile(path, []byte(localhost))
}

// writeHosts writes the hosts files: one for each namespace, in which Services have short names, and one for all.
func (k *Kubelet) writeHosts(ctx context.Context, services []corev1.Service) error {
	names := map[string]string{}
	if k.Names != nil {
		var err error
		if names, err = k.Names(ctx); err != nil {
			return err
		}
	}
	var all strings.Builder
	all.WriteString(localhost)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(&all, "%s %s\n", names[name], name)
	}
	services = slices.SortedFunc(slices.Values(services), func(a, b corev1.Service) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	short := map[string]string{}
	for i := range services {
		s := &services[i]
		if s.Spec.ClusterIP == "" || s.Spec.ClusterIP == corev1.ClusterIPNone {
			continue
		}
		full := s.Name + "." + s.Namespace
		fmt.Fprintf(&all, "%s %s %s.svc %s.svc.cluster.local\n", s.Spec.ClusterIP, full, full, full)
		short[s.Namespace] += s.Spec.ClusterIP + " " + s.Name + "\n"
	}
	var errs []error
	errs = append(errs, k.writeHostsFile(HostsFile(k.Dir), all.String()))
	for _, p := range k.snapshot() {
		if p.real {
			errs = append(errs, k.writeHostsFile(k.hostsFile(p.key.Namespace), all.String()+short[p.key.Namespace]))
		}
	}
	return errors.Join(errs...)
}

// writeHostsFile writes a hosts file in place: containers have it mounted.
func (k *Kubelet) writeHostsFile(path, content string) error {
	if k.hosts[path] == content {
		return nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644) // #nosec G302 G304 -- containers have other users
	if err != nil {
		return err
	}
	defer file.Close()
	// The file is cut after it is written, so that no reader finds it empty.
	if _, err := file.WriteAt([]byte(content), 0); err != nil {
		return err
	}
	if err := file.Truncate(int64(len(content))); err != nil {
		return err
	}
	k.hosts[path] = content
	return nil
}
