// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// AnnotationIdentity is the annotation of an inventory's namespace with the UID of the namespace that it takes the place of, for example
// after the inventory was moved to another cluster with all its hosts.
const AnnotationIdentity = v1alpha1.GroupName + "/identity"

// Identity returns the unique identity of the namespace of an inventory, empty if the credentials are not permitted to get it. Errors are
// classified.
func Identity(ctx context.Context, reader client.Reader, namespace string) (string, error) {
	object := &corev1.Namespace{}
	err := Classify(reader.Get(ctx, client.ObjectKey{Name: namespace}, object))
	if platform.ClassOf(err) == platform.ClassForbidden {
		return "", nil
	}
	return cmp.Or(object.Annotations[AnnotationIdentity], string(object.UID)), IgnoreNotFound(err)
}

// CheckIdentity rejects a namespace with another identity, in which the shoot's objects would seem to be gone. It accepts any if the known
// identity is empty.
func CheckIdentity(namespace, known, found string) error {
	switch {
	case known == "" || known == found:
		return nil
	case found == "":
		return platform.NewError(platform.ClassConfiguration,
			"namespace %q of the inventory does not exist, or the credentials are no longer permitted to get it; "+
				"nothing is touched until they are, because it is known by its UID %s", namespace, known)
	default:
		return platform.NewError(platform.ClassConfiguration,
			"namespace %q of the inventory has the UID %s, but that of the shoot's machines is %s; "+
				"nothing is touched until it is that one again, or has the annotation %s=%s", namespace, found, known, AnnotationIdentity, known)
	}
}

// identityKey is the key of the last identity that was accepted.
type identityKey struct{}

// CheckIdentity rejects a session with another identity. It sends one request per session, unless it rejects it.
func (s *Session) CheckIdentity(ctx context.Context, known string) error {
	if checked, _ := s.values.Load(identityKey{}); known == "" || checked == known {
		return nil
	}
	found, err := Identity(ctx, s.client, s.Namespace)
	if err == nil {
		err = CheckIdentity(s.Namespace, known, found)
	}
	if err == nil {
		s.values.Store(identityKey{}, known)
	}
	return err
}
