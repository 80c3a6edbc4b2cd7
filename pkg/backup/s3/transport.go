// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/minio/minio-go/v7"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	sharedtransport "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

// transport gives each request a deadline and reads its whole response: backups are never read here.
type transport struct {
	next *sharedtransport.Transport
}

func newTransport(endpoint *url.URL, caBundle string) (*transport, error) {
	var tls *v1alpha1.TLS
	if caBundle != "" {
		tls = &v1alpha1.TLS{CACert: caBundle}
	}
	next, err := sharedtransport.New(sharedtransport.Options{
		Server:         endpoint,
		TLS:            tls,
		RequestTimeout: backup.RequestTimeout,
		XML:            true,
		Describe:       func(request *http.Request) (service, method string) { return "s3", request.Method },
	})
	return &transport{next: next}, err
}

// RoundTrip implements http.RoundTripper. Its errors are classified, and keep minio-go from writing addresses into them.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(request.Context(), backup.RequestTimeout)
	defer cancel()
	response, err := t.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		return nil, unanswered(err)
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil {
		return nil, unanswered(err)
	}
	if response.StatusCode == http.StatusNotFound {
		var said minio.ErrorResponse
		if xml.Unmarshal(body, &said) != nil || said.Code == "" {
			// A proxy without a backend responds with 404, too, which does not mean that there is no bucket.
			return nil, platform.NewError(platform.ClassTransient, "404 Not Found is not a response of the S3 API")
		}
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// unanswered classifies the error of a request without a usable response.
func unanswered(err error) error {
	switch {
	case platform.IsClassified(err):
		return err
	case sharedtransport.IsUntrusted(err):
		return &platform.Error{Class: platform.ClassConfiguration, Err: platform.Foreign(err)}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return platform.NewError(platform.ClassTransient, "the connection was closed before the response was complete")
	default:
		return &platform.Error{Class: platform.ClassTransient, Err: platform.Foreign(err)}
	}
}
