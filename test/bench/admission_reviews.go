// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/gardenapi"
)

// admissionSender sends reviews of Shoots to the webhooks of the admission component.
type admissionSender struct {
	reviewer

	mutating, validating admissionregistrationv1.WebhookClientConfig
}

// newAdmissionSender finds out where the webhooks for Shoots are registered.
func newAdmissionSender(ctx context.Context, garden *gardenapi.Garden) (*admissionSender, error) {
	mutating, validating := &admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
	key := client.ObjectKey{Name: admissionBinary}
	if err := errors.Join(garden.Client.Get(ctx, key, mutating), garden.Client.Get(ctx, key, validating)); err != nil {
		return nil, err
	}
	s := &admissionSender{}
	for _, webhook := range mutating.Webhooks {
		if isForShoots(webhook.Rules) {
			s.mutating = webhook.ClientConfig
		}
	}
	for _, webhook := range validating.Webhooks {
		if isForShoots(webhook.Rules) {
			s.validating = webhook.ClientConfig
		}
	}
	if s.mutating.URL == nil || s.validating.URL == nil {
		return nil, errors.New("no webhooks are registered for Shoots")
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(s.mutating.CABundle) {
		return nil, errors.New("the webhook for Shoots has no certificate authority")
	}
	s.client = &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
	}}
	return s, nil
}

func isForShoots(rules []admissionregistrationv1.RuleWithOperations) bool {
	return slices.ContainsFunc(rules, func(rule admissionregistrationv1.RuleWithOperations) bool {
		return slices.Contains(rule.APIGroups, gardencorev1beta1.GroupName) && slices.Contains(rule.Resources, "shoots")
	})
}

// review returns what the API server sends to a webhook when the Shoot is created.
func (s *admissionSender) review(webhook admissionregistrationv1.WebhookClientConfig, object *gardencorev1beta1.Shoot) (review, error) {
	kind := gardencorev1beta1.SchemeGroupVersion.WithKind("Shoot")
	object.SetGroupVersionKind(kind)
	content, err := json.Marshal(object)
	if err != nil {
		return review{}, fmt.Errorf("encoding Shoot %s: %w", object.Name, err)
	}
	body, err := json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID:       uuid.NewUUID(),
			Kind:      metav1.GroupVersionKind(kind),
			Resource:  metav1.GroupVersionResource(gardencorev1beta1.SchemeGroupVersion.WithResource("shoots")),
			Namespace: object.Namespace, Name: object.Name,
			Operation: admissionv1.Create,
			Object:    runtime.RawExtension{Raw: content},
		},
	})
	return review{admission: admission{object: object}, url: *webhook.URL, body: body}, err
}
