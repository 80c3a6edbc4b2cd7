// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

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

// Identity returns what tells the namespace of an inventory from all others of its name, empty if the credentials may not know. Errors
// are classified.
func Identity(ctx context.Context, reader client.Reader, namespace string) (string, error) {
	object := &corev1.Namespace{}
	err := Classify(reader.Get(ctx, client.ObjectKey{Name: namespace}, object))
	if platform.ClassOf(err) == platform.ClassForbidden {
		return "", nil
	}
	return cmp.Or(object.Annotations[AnnotationIdentity], string(object.UID)), IgnoreNotFound(err)
}

// CheckIdentity refuses another namespace than that with the identity: what the shoot has would look as if it were gone. Any will do if it
// is empty.
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

// identityKey is that of the identity that was found the last time.
type identityKey struct{}

// CheckIdentity refuses a session with another inventory than that with the identity. It asks once, unless it refuses.
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
