// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

// Classify returns an error of a vCenter with its class and a message with the type of the fault. It keeps the class of an error that has
// one, and returns nil for nil.
func Classify(err error) error {
	if err == nil || platform.IsClassified(err) {
		return err
	}
	var f types.BaseMethodFault
	if message, ok := fault.As(err, &f); ok {
		return &platform.Error{Class: classOfFault(err), Err: &apiError{fault: f, message: message, err: err}}
	}
	return &platform.Error{Class: classOfAnswer(err), Err: platform.Foreign(err)}
}

// IgnoreNotFound classifies err and returns nil if the object does not exist.
func IgnoreNotFound(err error) error {
	if err = Classify(err); IsNotFound(err) {
		return nil
	}
	return err
}

// IsNotFound reports whether err is about an object that does not exist.
func IsNotFound(err error) bool {
	return err != nil && platform.ClassOf(Classify(err)) == platform.ClassNotFound
}

// IsMissing reports whether err says that this very object does not exist.
func IsMissing(err error, object types.ManagedObjectReference) bool {
	if err == nil {
		return false
	}
	var missing *types.ManagedObjectNotFound
	_, ok := fault.As(err, &missing)
	return ok && missing.Obj.Value == object.Value
}

// IsDuplicateName reports whether an object of that name exists already.
func IsDuplicateName(err error) bool {
	return fault.Is(err, &types.DuplicateName{})
}

// IsTaskInProgress reports whether an operation failed because another task is still in progress.
func IsTaskInProgress(err error) bool {
	return isA[types.BaseTaskInProgress](err)
}

// IsInvalidPowerState reports whether an operation failed because of the power state of a virtual machine.
func IsInvalidPowerState(err error) bool {
	return fault.Is(err, &types.InvalidPowerState{})
}

// kind maps a type of faults to its class.
type kind struct {
	matches func(error) bool
	class   platform.Class
}

// kinds are ordered: NotAuthenticated is also a NoPermission, for example.
var kinds = []kind{
	{isA[types.BaseInvalidLogin], platform.ClassUnauthenticated},
	{isA[*types.NotAuthenticated], platform.ClassUnauthenticated},
	{isA[types.BaseNoPermission], platform.ClassForbidden},
	{isA[types.BaseInsufficientResourcesFault], platform.ClassExhausted},
	{isA[*types.NoDiskSpace], platform.ClassExhausted},
	{isA[types.BaseNoCompatibleHost], platform.ClassExhausted},
	{isA[types.BaseNotEnoughLicenses], platform.ClassExhausted},
	{isA[*types.ManagedObjectNotFound], platform.ClassNotFound},
	{isA[*types.DuplicateName], platform.ClassConflict},
	{isA[*types.AlreadyExists], platform.ClassConflict},
	{isA[types.BaseTaskInProgress], platform.ClassTransient},
	{isA[*types.ConcurrentAccess], platform.ClassTransient},
	{isA[types.BaseResourceInUse], platform.ClassConflict},
	{isA[types.BaseInvalidState], platform.ClassConflict},
	{isA[types.BaseInvalidArgument], platform.ClassConfiguration},
	{isA[types.BaseInvalidRequest], platform.ClassConfiguration},
	{isA[*types.InvalidName], platform.ClassConfiguration},
	{isA[types.BaseInvalidDatastore], platform.ClassConfiguration},
	{isA[types.BaseNotSupported], platform.ClassConfiguration},
	{isA[types.BaseVmConfigFault], platform.ClassConfiguration},
}

func isA[T any](err error) bool {
	var target T
	if err == nil {
		return false
	}
	_, ok := fault.As(err, &target)
	return ok
}

func classOfFault(err error) platform.Class {
	for _, k := range kinds {
		if k.matches(err) {
			return k.class
		}
	}
	return platform.ClassTransient
}

// classOfAnswer returns the class of an error that is not a fault: an answer of the REST API, which reports errors as text only, or a
// failed request.
func classOfAnswer(err error) platform.Class {
	switch {
	case transport.IsUntrusted(err):
		return platform.ClassConfiguration
	case isStatus(err, http.StatusUnauthorized):
		return platform.ClassUnauthenticated
	case isStatus(err, http.StatusForbidden):
		return platform.ClassForbidden
	case isStatus(err, http.StatusNotFound):
		return platform.ClassNotFound
	case strings.Contains(err.Error(), "com.vmware.vapi.std.errors.already_exists"):
		return platform.ClassConflict
	case strings.HasPrefix(err.Error(), "400 "):
		return platform.ClassConfiguration
	default:
		return platform.ClassTransient
	}
}

// isStatus reports whether err wraps an answer of the REST API with the status.
func isStatus(err error, status int) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if rest.IsStatusError(err, status) {
			return true
		}
	}
	return false
}

// apiError has the type of a fault, its object, and the vCenter's own message.
type apiError struct {
	fault   types.BaseMethodFault
	message string
	err     error
}

func (e *apiError) Error() string {
	message := cmp.Or(e.message, e.err.Error())
	name := platform.Printable(reflect.TypeOf(e.fault).Elem().Name() + detail(e.fault))
	return fmt.Sprintf("%s: %s", name, platform.Printable(message))
}

func (e *apiError) Unwrap() error {
	return e.err
}

// detail returns what the message of a fault lacks.
func detail(f types.BaseMethodFault) string {
	switch f := f.(type) {
	case *types.NoPermission:
		if f.Object != nil {
			return fmt.Sprintf(" (privilege %s on %s)", f.PrivilegeId, f.Object.Value)
		}
		return fmt.Sprintf(" (privilege %s)", f.PrivilegeId)
	case *types.InvalidArgument:
		return fmt.Sprintf(" (%s)", f.InvalidProperty)
	case *types.ManagedObjectNotFound:
		return fmt.Sprintf(" (%s)", f.Obj.Value)
	case *types.NoDiskSpace:
		return fmt.Sprintf(" (datastore %s)", f.Datastore)
	default:
		return ""
	}
}
