// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// registration is the name of the extension's MutatingWebhookConfiguration.
const registration = "gardener-extension-provider-hybrid"

// review is what kube-apiserver sends to a webhook for an object.
type review struct {
	admission

	url  string
	body []byte
}

// reviewer sends reviews as kube-apiserver does: over HTTP/2 and the certificates of the registration.
type reviewer struct {
	client *http.Client
}

// newReviews returns a reviewer and the reviews of all objects, with the addresses at which the webhooks are registered.
func newReviews(ctx context.Context, c client.Client, objects []admission) (*reviewer, []review, error) {
	config := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := c.Get(ctx, client.ObjectKey{Name: registration}, config); err != nil {
		return nil, nil, err
	}
	authorities := x509.NewCertPool()
	for _, webhook := range config.Webhooks {
		if !authorities.AppendCertsFromPEM(webhook.ClientConfig.CABundle) {
			return nil, nil, fmt.Errorf("webhook %s has no certificate authority", webhook.Name)
		}
	}
	r := &reviewer{client: &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
	}}}
	reviews := make([]review, 0, len(objects))
	for _, object := range objects {
		next, err := newReview(c, config, object)
		if err != nil {
			return nil, nil, err
		}
		reviews = append(reviews, next)
	}
	return r, reviews, nil
}

// newReview returns the review of an update that gardenlet makes.
func newReview(c client.Client, config *admissionregistrationv1.MutatingWebhookConfiguration, object admission) (review, error) {
	kind, err := c.GroupVersionKindFor(object.object)
	if err != nil {
		return review{}, err
	}
	mapping, err := c.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return review{}, err
	}
	called := slices.IndexFunc(config.Webhooks, func(w admissionregistrationv1.MutatingWebhook) bool {
		return slices.ContainsFunc(w.Rules, func(rule admissionregistrationv1.RuleWithOperations) bool {
			return slices.Contains(rule.APIGroups, kind.Group) && slices.Contains(rule.Resources, mapping.Resource.Resource)
		})
	})
	if called < 0 {
		return review{}, fmt.Errorf("no webhook is registered for %s", object.name())
	}
	object.object.GetObjectKind().SetGroupVersionKind(kind)
	content, err := json.Marshal(object.object)
	if err != nil {
		return review{}, err
	}
	body, err := json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID:       uuid.NewUUID(),
			Kind:      metav1.GroupVersionKind(kind),
			Resource:  metav1.GroupVersionResource(mapping.Resource),
			Namespace: object.object.GetNamespace(), Name: object.object.GetName(),
			Operation: admissionv1.Update,
			Object:    runtime.RawExtension{Raw: content}, OldObject: runtime.RawExtension{Raw: content},
		},
	})
	return review{admission: object, url: *config.Webhooks[called].ClientConfig.URL, body: body}, err
}

// send sends a review and returns the size of the answer, which must change the object.
func (r *reviewer) send(ctx context.Context, review review) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, review.url, bytes.NewReader(review.body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", runtime.ContentTypeJSON)
	response, err := r.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	answer := &admissionv1.AdmissionReview{}
	if err := json.Unmarshal(content, answer); err != nil {
		return 0, err
	}
	switch {
	case answer.Response == nil || !answer.Response.Allowed:
		return 0, fmt.Errorf("%s was refused: %s", review.name(), content)
	case !bytes.Contains(answer.Response.Patch, []byte(review.mark)):
		return 0, errors.New(review.name() + " was not changed")
	}
	return len(content), nil
}
