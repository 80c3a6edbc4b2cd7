// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"context"
	"fmt"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/profile"
)

// kindShoot is the kind of the requests that get warnings.
const kindShoot = "Shoot"

// WithWarnings adds the warnings of Shoots to what the handler answers.
func WithWarnings(handler admission.Handler, mgr manager.Manager) admission.Handler {
	return &warningHandler{
		Handler: handler,
		decoder: admission.NewDecoder(mgr.GetScheme()),
		cache:   mgr.GetClient(),
		seeds:   mgr.GetAPIReader(),
		log:     mgr.GetLogger().WithName("warnings"),
	}
}

type warningHandler struct {
	admission.Handler

	decoder admission.Decoder
	cache   client.Reader
	seeds   client.Reader
	log     logr.Logger
}

// Handle implements admission.Handler. A mistake in finding warnings is none of the Shoot's.
func (h *warningHandler) Handle(ctx context.Context, request admission.Request) admission.Response {
	response := h.Handler.Handle(ctx, request)
	if !response.Allowed || request.Kind.Kind != kindShoot || request.Operation != admissionv1.Create && request.Operation != admissionv1.Update {
		return response
	}
	warnings, err := h.warnings(ctx, request)
	if err != nil {
		h.log.Info("There are no warnings", "namespace", request.Namespace, "name", request.Name, "error", err.Error())
	}
	response.Warnings = append(response.Warnings, warnings...)
	return response
}

func (h *warningHandler) warnings(ctx context.Context, request admission.Request) ([]string, error) {
	var shoot, old *gardencorev1beta1.Shoot
	shoot = &gardencorev1beta1.Shoot{}
	if err := h.decoder.DecodeRaw(request.Object, shoot); err != nil {
		return nil, fmt.Errorf("decoding the Shoot: %w", err)
	}
	if len(request.OldObject.Raw) > 0 {
		old = &gardencorev1beta1.Shoot{}
		if err := h.decoder.DecodeRaw(request.OldObject, old); err != nil {
			return nil, fmt.Errorf("decoding the old Shoot: %w", err)
		}
	}
	if !isConcerned(shoot, old) {
		return nil, nil
	}
	p, err := profile.Of(ctx, h.cache, shoot)
	if err != nil {
		return nil, err
	}
	var seed *gardencorev1beta1.Seed
	if name := shoot.Spec.SeedName; name != nil {
		found := &gardencorev1beta1.Seed{}
		if err := h.seeds.Get(ctx, client.ObjectKey{Name: *name}, found); err == nil {
			seed = found
		} else {
			h.log.Info("The Seed is not looked at", "seed", *name, "error", err.Error())
		}
	}
	return Warnings(p, shoot, old, seed), nil
}
