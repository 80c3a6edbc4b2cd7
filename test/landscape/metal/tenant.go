// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

const (
	// tenant is the name of the ServiceAccount and of the user of the client certificate.
	tenant = "provider-hybrid"

	tenantTimeout = 30 * time.Second
	fieldOwner    = client.FieldOwner("landscape")
)

// Credentials are a tenant's access: a token or a client certificate.
type Credentials struct {
	// Token is a token of the ServiceAccount.
	Token string
	// ClientCertificate is a PEM certificate.
	ClientCertificate string
	// ClientKey is the PEM key of the certificate.
	ClientKey string
}

// SiteCredentials are the keys of a site in the Secret of a shoot, without the site's prefix.
func (c Credentials) SiteCredentials() map[string]string {
	if c.Token != "" {
		return map[string]string{"token": c.Token}
	}
	return map[string]string{"clientCertificate": c.ClientCertificate, "clientKey": c.ClientKey}
}

// Grant gives the tenant the permissions in example/metal, with their limits, and its ServiceAccount if that is gone. It returns when they
// are in force.
func (i *Inventory) Grant(ctx context.Context) error {
	objects, err := permissions()
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := i.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), fieldOwner, client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	if err := i.waitAllowed(ctx, true); err != nil {
		return err
	}
	return i.waitLimited(ctx)
}

// Revoke takes the tenant's permissions away by deleting the bindings. Its credentials stay valid. It returns when that is in
// force. Grant brings them back.
func (i *Inventory) Revoke(ctx context.Context) error {
	objects, err := permissions()
	if err != nil {
		return err
	}
	for _, o := range objects {
		if o.GetKind() != "RoleBinding" && o.GetKind() != "ClusterRoleBinding" {
			continue
		}
		if err := i.Client.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return i.waitAllowed(ctx, false)
}

// DeleteAccount deletes the tenant's ServiceAccount, and returns when kube-apiserver accepts its tokens no more: one that was used
// is remembered for 10 seconds. After Grant a new Token is needed.
func (i *Inventory) DeleteAccount(ctx context.Context) error {
	credentials, err := i.Token(ctx)
	if err != nil {
		return err
	}
	unknown := func(ctx context.Context) (bool, error) {
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: credentials.Token}}
		err := i.Client.Create(ctx, review)
		return !review.Status.Authenticated, err
	}
	if _, err := unknown(ctx); err != nil {
		return err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: tenant, Namespace: Namespace}}
	if err := i.Client.Delete(ctx, account); err != nil {
		return err
	}
	return until(ctx, tenantTimeout, "the token is unknown", unknown)
}

// Token makes a token of the tenant's ServiceAccount that is valid for a day.
func (i *Inventory) Token(ctx context.Context) (Credentials, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: tenant, Namespace: Namespace}}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(24 * 60 * 60))}}
	err := i.Client.SubResource("token").Create(ctx, account, request)
	return Credentials{Token: request.Status.Token}, err
}

// Certificate makes a client certificate of the tenant.
func (i *Inventory) Certificate() (Credentials, error) {
	pair, err := i.Cluster.ClientCertificate(tenant)
	if err != nil {
		return Credentials{}, err
	}
	return Credentials{ClientCertificate: pair.Certificate, ClientKey: pair.Key}, nil
}

// ClientOf accesses the cluster with a tenant's credentials.
func (i *Inventory) ClientOf(credentials Credentials) (client.Client, error) {
	config := rest.AnonymousClientConfig(i.Cluster.Config)
	config.BearerToken = credentials.Token
	config.CertData, config.KeyData = []byte(credentials.ClientCertificate), []byte(credentials.ClientKey)
	return client.New(config, client.Options{Scheme: landscape.Scheme, Mapper: i.Client.RESTMapper()})
}

// permissions reads the ServiceAccount, the roles and their bindings, and the admission policies that limit them.
func permissions() ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, name := range []string{"inventory-rbac.yaml", "inventory-admission.yaml"} {
		path := filepath.Join(landscape.Root(), "example", "metal", name)
		content, err := os.ReadFile(path) // #nosec G304 -- our own file
		if err != nil {
			return nil, err
		}
		for document := range bytes.SplitSeq(content, []byte("\n---\n")) {
			o := &unstructured.Unstructured{}
			if err := yaml.UnmarshalStrict(document, &o.Object); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			objects = append(objects, o)
		}
	}
	return objects, nil
}

// waitLimited waits until the last admission policy is in force.
func (i *Inventory) waitLimited(ctx context.Context) error {
	credentials, err := i.Token(ctx)
	if err != nil {
		return err
	}
	access, err := i.ClientOf(credentials)
	if err != nil {
		return err
	}
	return until(ctx, tenantTimeout, "the permissions are limited", func(ctx context.Context) (bool, error) {
		foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, GenerateName: "foreign-"}}
		err := access.Create(ctx, foreign, client.DryRunAll)
		return apierrors.IsInvalid(err), ignoreInvalid(err)
	})
}

func ignoreInvalid(err error) error {
	if apierrors.IsInvalid(err) {
		return nil
	}
	return err
}

// waitAllowed waits until the last RoleBinding and the last ClusterRoleBinding are in force or not.
func (i *Inventory) waitAllowed(ctx context.Context, allowed bool) error {
	return until(ctx, tenantTimeout, fmt.Sprintf("the permissions are in force: %t", allowed), func(ctx context.Context) (bool, error) {
		for _, attributes := range []authorizationv1.ResourceAttributes{
			{Verb: "get", Group: ipam.Group, Resource: "ipaddressclaims", Namespace: Namespace},
			{Verb: "get", Group: ipam.Group, Resource: "globalinclusterippools"},
		} {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: tenant,
				ResourceAttributes: &attributes}}
			if err := i.Client.Create(ctx, review); err != nil {
				return false, err
			}
			if review.Status.Allowed != allowed {
				return false, nil
			}
		}
		return true, nil
	})
}
