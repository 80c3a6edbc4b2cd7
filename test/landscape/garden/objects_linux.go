// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package garden

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// ProviderType is the type of shoots and of the seed.
	ProviderType = "hybrid"
	// Region is the region of the seed.
	Region = "local"
	// SeedName is the name of the seed that shoots are scheduled to, SecondName that of the other one.
	SeedName, SecondName = "seed", "second"
	// Domain is the zone of all DNS records.
	Domain = "garden.test"
	// Project is the project of shoots, Namespace its namespace.
	Project   = "e2e"
	Namespace = "garden-" + Project

	// foreignType is the type of seeds and of DNS records of another provider.
	foreignType     = "foreign"
	gardenNamespace = v1beta1constants.GardenNamespace
)

// apiServices are the group versions of gardener-apiserver, with their priority.
var apiServices = map[string]int32{
	"core.gardener.cloud/v1": 10, "core.gardener.cloud/v1beta1": 11, "seedmanagement.gardener.cloud/v1alpha1": 10,
	"operations.gardener.cloud/v1alpha1": 10, "security.gardener.cloud/v1alpha1": 10,
}

// seedType is the type of the seeds.
func (g *Garden) seedType() string {
	if g.options.Foreign {
		return cmp.Or(g.options.SeedType, foreignType)
	}
	return cmp.Or(g.options.SeedType, ProviderType)
}

// dnsType is the type of the DNS records of seeds and shoots.
func (g *Garden) dnsType() string {
	if g.options.Foreign {
		return foreignType
	}
	return "hybrid-rfc2136"
}

// virtualObjects are what gardener-apiserver needs in the virtual garden.
func (g *Garden) virtualObjects() []client.Object {
	var objects []client.Object
	project := func(name string) map[string]string {
		return map[string]string{v1beta1constants.ProjectName: name, v1beta1constants.GardenRole: v1beta1constants.GardenRoleProject}
	}
	for name, labels := range map[string]map[string]string{
		gardenNamespace: project("garden"), Namespace: project(Project),
		"gardener-system-public": nil, "gardener-system-seed-lease": nil, "gardener-system-shoot-issuer": nil,
	} {
		objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	secret := func(name, role string, data, annotations map[string]string) *corev1.Secret {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: gardenNamespace, Annotations: annotations}, StringData: data}
		if role != "" {
			s.Labels = map[string]string{v1beta1constants.GardenRole: role, "app": "gardener"}
		}
		return s
	}
	for kind, role := range map[string]string{"internal": v1beta1constants.GardenRoleInternalDomain,
		"shoots": v1beta1constants.GardenRoleDefaultDomain} {
		objects = append(objects, secret(kind+"-domain", role, g.options.DNS,
			map[string]string{"dns.gardener.cloud/provider": g.dnsType(), "dns.gardener.cloud/domain": kind + "." + Domain}))
	}
	objects = append(objects,
		secret("dns", "", g.options.DNS, nil),
		secret("monitoring", v1beta1constants.GardenRoleGlobalMonitoring,
			map[string]string{"username": "admin", "password": "admin", "auth": "admin:admin"}, nil),
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "gardener-info", Namespace: "gardener-system-public"},
			Data:       map[string]string{"gardenerAPIServer": "version: " + Version + "\n"},
		},
		&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "gardener-apiserver", Namespace: gardenNamespace},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
		})
	backups := g.options.Backups
	if g.options.Foreign {
		backups = nil
	}
	for seed, backup := range backups {
		objects = append(objects, secret("backup-"+seed, "", backup.Credentials, nil))
	}
	for version, priority := range apiServices {
		group, v, _ := strings.Cut(version, "/")
		objects = append(objects, &apiregistrationv1.APIService{
			ObjectMeta: metav1.ObjectMeta{Name: v + "." + group},
			Spec: apiregistrationv1.APIServiceSpec{
				Group: group, Version: v, GroupPriorityMinimum: 9000, VersionPriority: priority, CABundle: g.keys.ca.CertificatePEM,
				Service: &apiregistrationv1.ServiceReference{Namespace: gardenNamespace, Name: "gardener-apiserver", Port: new(int32(8443))},
			},
		})
	}
	return objects
}

// projects are those of the seed and of shoots.
func projects() []client.Object {
	owner := &rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "admin"}
	return []client.Object{
		&gardencorev1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "garden"},
			Spec: gardencorev1beta1.ProjectSpec{Namespace: new(gardenNamespace), Owner: owner}},
		&gardencorev1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: Project},
			Spec: gardencorev1beta1.ProjectSpec{Namespace: new(Namespace), Owner: owner}},
	}
}

// seedObjects are what has to be in a seed before gardenlet.
func seedObjects() []client.Object {
	return []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: gardenNamespace}},
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: v1beta1constants.PriorityClassNameSeedSystemCritical}, Value: 999998950},
	}
}

// create creates objects, of which some may be there.
func create(ctx context.Context, c client.Client, objects []client.Object) error {
	for _, object := range objects {
		if err := c.Create(ctx, object); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("create %T %s: %w", object, client.ObjectKeyFromObject(object), err)
		}
	}
	return nil
}
