// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/sitehealth"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	// metricsTimeout limits how long a process may take to answer. Processes are asked concurrently.
	metricsTimeout = 5 * time.Second
	// maxMetrics is the maximum size of an answer.
	maxMetrics = 64 << 20
	// maxPods is the maximum number of pods that are asked.
	maxPods = 10
)

// family is the metrics of a name.
type family = map[string]*dto.MetricFamily

// readings are the metrics of the processes that send requests to sites.
type readings struct {
	shoot    string
	families []family
	// unknown is what could not be read.
	unknown []string
}

// target is a process with metrics.
type target struct {
	name string
	read func(context.Context) (io.ReadCloser, error)
}

// podsWithMetrics are the processes in a seed that send requests to sites.
var podsWithMetrics = []struct {
	what string
	// inShoot is set if the pods are in the namespace of the shoot.
	inShoot bool
	labels  client.MatchingLabels
	port    string
}{
	{"the extension", false, client.MatchingLabels{"app.kubernetes.io/name": "gardener-extension-" + v1alpha1.ExtensionName}, "metrics"},
	{"the driver", true, client.MatchingLabels{v1beta1constants.LabelApp: v1beta1constants.LabelKubernetes,
		v1beta1constants.LabelRole: "machine-controller-manager"}, "10259"},
}

// readMetrics reads the metrics at the URLs, otherwise those of the pods in the seed. Metrics that cannot be
// read are reported as not known.
func (o *statusOptions) readMetrics(ctx context.Context, from *sources, shoot string) *readings {
	ctx, cancel := context.WithTimeout(ctx, metricsTimeout)
	defer cancel()
	r := &readings{shoot: shoot}
	targets, err := o.targets(ctx, from, shoot)
	if err != nil {
		r.unknown = append(r.unknown, "room of sites and requests to them: "+platform.PrintableMessage(err.Error()))
		return r
	}
	found := make([]family, len(targets))
	for i, err := range platform.Each(len(targets), func(i int) (err error) {
		found[i], err = targets[i].families(ctx)
		return err
	}) {
		if err == nil {
			r.families = append(r.families, found[i])
		} else {
			r.unknown = append(r.unknown, fmt.Sprintf("metrics of %s: %s", targets[i].name, platform.PrintableMessage(err.Error())))
		}
	}
	slices.Sort(r.unknown)
	return r
}

func (o *statusOptions) targets(ctx context.Context, from *sources, shoot string) ([]target, error) {
	var targets []target
	for i, url := range o.metricsURLs {
		targets = append(targets, target{fmt.Sprintf("--metrics-url %d", i+1), func(ctx context.Context) (io.ReadCloser, error) {
			return getURL(ctx, url)
		}})
	}
	if len(targets) > 0 {
		return targets, nil
	}
	if from.seedConfig == nil {
		return nil, errors.New("no kubeconfig of the seed")
	}
	config := rest.CopyConfig(from.seedConfig)
	config.GroupVersion, config.APIPath, config.NegotiatedSerializer = &corev1.SchemeGroupVersion, "/api", codecs
	pods, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	for _, wanted := range podsWithMetrics {
		list := &corev1.PodList{}
		options := []client.ListOption{wanted.labels, client.Limit(maxPods)}
		if wanted.inShoot {
			options = append(options, client.InNamespace(shoot))
		}
		if err := from.seed.List(ctx, list, options...); err != nil {
			return nil, err
		}
		for i := range list.Items {
			pod := &list.Items[i]
			targets = append(targets, target{wanted.what + " in pod " + pod.Name, func(ctx context.Context) (io.ReadCloser, error) {
				return pods.Get().Namespace(pod.Namespace).Resource("pods").Name(pod.Name + ":" + wanted.port).SubResource("proxy").
					Suffix("metrics").Stream(ctx)
			}})
		}
	}
	if len(targets) == 0 {
		return nil, errors.New("the seed has no pods of the extension: set --metrics-url")
	}
	return targets, nil
}

func getURL(ctx context.Context, url string) (io.ReadCloser, error) {
	getter, err := rest.HTTPClientFor(&rest.Config{})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := getter.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		return nil, fmt.Errorf("the answer is %s", response.Status)
	}
	return response.Body, nil
}

func (t target) families(ctx context.Context) (family, error) {
	body, err := t.read(ctx)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(io.LimitReader(body, maxMetrics))
}

// sample is a metric with its labels.
type sample struct {
	labels map[string]string
	*dto.Metric
}

// samples returns the metrics of the name, of all processes.
func (r *readings) samples(name string) []sample {
	var found []sample
	for _, families := range r.families {
		for _, metric := range families[name].GetMetric() {
			labels := map[string]string{}
			for _, pair := range metric.GetLabel() {
				labels[pair.GetName()] = pair.GetValue()
			}
			found = append(found, sample{labels, metric})
		}
	}
	return found
}

// resourceHosts is the resource of metrics about hosts.
const resourceHosts = "hosts"

// place is where a resource is.
type place struct{ resource, zone, machineType string }

// complete adds what the metrics say about the sites to the report.
func (r *readings) complete(report *v1alpha1.StatusReport) {
	report.Unknown = append(report.Unknown, r.unknown...)
	if len(r.families) == 0 {
		return
	}
	rooms := r.rooms()
	requests := r.requests()
	for i := range report.Sites {
		s := &report.Sites[i]
		for _, at := range slices.SortedFunc(maps.Keys(rooms[s.Name]), func(a, b place) int {
			return cmp.Or(cmp.Compare(a.zone, b.zone), cmp.Compare(a.resource, b.resource), cmp.Compare(a.machineType, b.machineType))
		}) {
			amounts := rooms[s.Name][at]
			if amounts.used != nil {
				amounts.free = max(0, amounts.total-*amounts.used)
			}
			s.Room = append(s.Room, v1alpha1.StatusRoom{Resource: at.resource, Zone: at.zone, MachineType: at.machineType, Free: amounts.free,
				Total: amounts.total})
		}
		s.Requests = &v1alpha1.StatusRequests{}
		if found := requests[s.Name]; found != nil {
			s.Requests = found
		}
	}
}

// amounts are those of a resource in a place. used is nil if what is free is known.
type amounts struct {
	total, free int64
	used        *int64
}

// rooms returns the amounts of resources by the names of the sites.
func (r *readings) rooms() map[string]map[place]*amounts {
	rooms := map[string]map[place]*amounts{}
	read := func(resource, metric string, set func(*amounts, int64)) {
		for _, found := range r.samples(metric) {
			if found.labels["shoot_namespace"] != r.shoot {
				continue
			}
			at, site := place{resource, found.labels["zone"], found.labels["machine_type"]}, found.labels["site"]
			if rooms[site] == nil {
				rooms[site] = map[place]*amounts{}
			}
			if rooms[site][at] == nil {
				rooms[site][at] = &amounts{}
			}
			set(rooms[site][at], amount(found.GetGauge().GetValue()))
		}
	}
	total := func(a *amounts, value int64) { a.total = value }
	free := func(a *amounts, value int64) { a.free = value }
	for resource, metrics := range sitehealth.QuotaMetrics {
		read(string(resource), metrics.Most, total)
		read(string(resource), metrics.Part, func(a *amounts, value int64) { a.used = &value })
	}
	for resource, metrics := range sitehealth.CapacityMetrics {
		read(string(resource), metrics.Most, total)
		read(string(resource), metrics.Part, free)
	}
	read(resourceHosts, "hybrid_site_hosts", total)
	read(resourceHosts, "hybrid_site_hosts_free", free)
	return rooms
}

// amount returns the value as a whole number.
func amount(value float64) int64 {
	if !(value > 0) { // NaN, too
		return 0
	}
	return int64(min(value, 1<<62))
}

// requests returns the requests of all processes by the names of the sites.
func (r *readings) requests() map[string]*v1alpha1.StatusRequests {
	requests := map[string]*v1alpha1.StatusRequests{}
	for _, found := range r.samples("hybrid_site_request_duration_seconds") {
		site, code := found.labels["site"], found.labels["code"]
		if requests[site] == nil {
			requests[site] = &v1alpha1.StatusRequests{}
		}
		count := int64(found.GetHistogram().GetSampleCount())
		requests[site].Total += count
		switch {
		case code == strconv.Itoa(http.StatusTooManyRequests):
			requests[site].Throttled += count
		case code == "error" || strings.HasPrefix(code, "5"):
			requests[site].Failed += count
		}
	}
	return requests
}
