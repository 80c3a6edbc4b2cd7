// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package ironcore

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	metalv1alpha1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/ignition"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/bootdata"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/userdata"
)

const (
	// bindTimeout is how long a claim gets to be bound, including claims for other servers that it takes the place of.
	bindTimeout = 10 * time.Second
	// imageScheme is how the address of an OCI image may begin. The reference itself has none.
	imageScheme = "oci://"
)

// Claim implements inventory.Inventory. It picks a server and claims that one, because metal-operator selects servers by their labels
// alone. If another claim gets the server, or if metal-operator does not bind it, it picks another.
func (i *Inventory) Claim(ctx context.Context, request inventory.Claim) (*inventory.Host, error) {
	reader := i.reader(ctx)
	claim, err := i.claim(ctx, reader, request.Machine, request.Machine)
	if err != nil {
		return nil, err
	}
	claim, server, err := i.bind(ctx, reader, claim, &request)
	if err != nil {
		return nil, err
	}
	if !isComplete(claim) {
		if err := i.complete(ctx, claim, server, &request); err != nil {
			return nil, err
		}
	}
	return new(hostOf(claim, server)), nil
}

// bind returns the claim of the machine when it is bound, and its server. The claim is nil if the machine has none yet.
func (i *Inventory) bind(ctx context.Context, reader client.Reader, claim *metalv1alpha1.ServerClaim,
	request *inventory.Claim) (*metalv1alpha1.ServerClaim, *metalv1alpha1.Server, error) {
	deadline := time.Now().Add(bindTimeout)
	avoid := sets.New[string]()
	for {
		var reserved string
		if claim == nil {
			var err error
			if reserved, err = i.pick(ctx, reader, request, avoid); err != nil {
				return nil, nil, err
			}
			if claim, err = i.create(ctx, reserved, request); err != nil {
				i.Reservations.Release(reserved, false)
				return nil, nil, err
			}
		}
		result, err := i.settle(ctx, reader, claim, &request.Selection, deadline)
		i.Reservations.Release(reserved, false)
		if err != nil {
			return nil, nil, err
		}
		if result.bound {
			return result.claim, result.server, nil
		}
		if result.refused {
			avoid.Insert(serverName(claim))
		}
		if err := i.abandon(ctx, &result, deadline); err != nil {
			return nil, nil, err
		}
		claim = nil
	}
}

// create creates the claim of the machine for the server, powered off, or returns an existing claim of the machine.
func (i *Inventory) create(ctx context.Context, server string, request *inventory.Claim) (*metalv1alpha1.ServerClaim, error) {
	claim := &metalv1alpha1.ServerClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: i.Session.Namespace, Name: request.Machine, Labels: i.Owner.MachineLabels(request.Machine)},
		Spec: metalv1alpha1.ServerClaimSpec{
			Power:       metalv1alpha1.PowerOff,
			ServerRef:   &corev1.LocalObjectReference{Name: server},
			Image:       strings.TrimPrefix(request.Image.URL, imageScheme),
			Tolerations: tolerations(request.Tolerations),
		},
	}
	err := i.Client().Create(ctx, claim)
	if !apierrors.IsAlreadyExists(err) {
		return claim, kubernetes.Classify(err)
	}
	existing, err := i.claim(ctx, i.Client(), request.Machine, request.Machine)
	if err == nil && existing == nil {
		err = platform.NewError(platform.ClassTransient, "server claim %q of an earlier machine was being deleted", request.Machine)
	}
	return existing, err
}

// complete writes the machine's data for its first boot, and powers its server on.
func (i *Inventory) complete(ctx context.Context, claim *metalv1alpha1.ServerClaim, server *metalv1alpha1.Server,
	request *inventory.Claim) error {
	data, err := request.Data(ctx, new(hostOf(claim, server)))
	if platform.ClassOf(err) == platform.ClassExhausted {
		// The machine cannot start for a while, for example because there is no address: let others use the server meanwhile.
		return errors.Join(err, i.delete(ctx, claim))
	}
	if err != nil {
		return err
	}
	if err := i.writeIgnition(ctx, claim, data); err != nil {
		return err
	}
	var patch claimPatch
	patch.Metadata.Annotations = map[string]string{owner.AnnotationNode: data.NodeName}
	patch.Spec.IgnitionSecretRef.Name = claim.Name
	patch.Spec.Power = metalv1alpha1.PowerOn
	raw, err := json.Marshal(patch)
	if err != nil {
		return kubernetes.Classify(err)
	}
	err = i.Client().Patch(ctx, claim, client.RawPatch(types.MergePatchType, raw))
	if kubernetes.IsNotFound(err) {
		return platform.NewError(platform.ClassTransient, "server claim %q was deleted before its server was switched on", claim.Name)
	}
	return kubernetes.Classify(err)
}

// claimPatch has only the fields of a claim that are changed.
type claimPatch struct {
	Metadata struct {
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		IgnitionSecretRef corev1.LocalObjectReference `json:"ignitionSecretRef"`
		Power             metalv1alpha1.Power         `json:"power"`
	} `json:"spec"`
}

// tolerations returns tolerations as metal-operator has them.
func tolerations(of []corev1.Toleration) []metalv1alpha1.Toleration {
	result := make([]metalv1alpha1.Toleration, len(of))
	for i := range of {
		result[i] = metalv1alpha1.Toleration{
			Key:      of[i].Key,
			Operator: metalv1alpha1.TolerationOperator(of[i].Operator),
			Value:    of[i].Value,
			Effect:   metalv1alpha1.TaintEffect(of[i].Effect),
		}
	}
	return result
}

// ignitionKey is the key under which IronCore looks for the Ignition config of a server.
const ignitionKey = "ignition"

// writeIgnition writes the Secret that the claim refers to. It goes with the claim.
func (i *Inventory) writeIgnition(ctx context.Context, claim *metalv1alpha1.ServerClaim, data inventory.Data) error {
	files := []ignition.File{bootdata.HostnameFile(data.NodeName)}
	if len(data.NetworkData) > 0 {
		files = append(files, userdata.NetworkFile(data.NetworkData))
	}
	config, err := userdata.Extend(data.UserData, files)
	if err != nil {
		return err
	}
	return bootdata.WriteSecret(ctx, i.Client(), i.Owner, claim.Name, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       claim.Namespace,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(claim, metalv1alpha1.GroupVersion.WithKind("ServerClaim"))},
		},
		Data: map[string][]byte{ignitionKey: config},
	})
}
