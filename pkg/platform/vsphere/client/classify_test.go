// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"errors"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
)

var _ = Describe("Classify", func() {
	asTask := func(f types.BaseMethodFault) error {
		return task.Error{LocalizedMethodFault: &types.LocalizedMethodFault{Fault: f, LocalizedMessage: "what the vCenter says"}}
	}

	DescribeTable("should know the kind of a fault, as answer of a call and of a task",
		func(f types.BaseMethodFault, class platform.Class, message string) {
			for _, err := range []error{soap.WrapVimFault(f), asTask(f), fmt.Errorf("wrapped: %w", asTask(f))} {
				classified := Classify(err)
				Expect(platform.ClassOf(classified)).To(Equal(class))
				Expect(classified).To(MatchError(ContainSubstring(message)))
				Expect(errors.Is(classified, err)).To(BeTrue())
				Expect(Classify(classified)).To(BeIdenticalTo(classified))
			}
			Expect(Classify(asTask(f))).To(MatchError(ContainSubstring("what the vCenter says")))
		},
		Entry("wrong password", &types.InvalidLogin{}, platform.ClassUnauthenticated, "InvalidLogin"),
		Entry("expired password", &types.PasswordExpired{}, platform.ClassUnauthenticated, "PasswordExpired"),
		Entry("no session", &types.NotAuthenticated{}, platform.ClassUnauthenticated, "NotAuthenticated"),
		Entry("missing privilege",
			&types.NoPermission{PrivilegeId: "VirtualMachine.Provisioning.DeployTemplate", Object: &types.ManagedObjectReference{Value: "vm-7"}},
			platform.ClassForbidden, "NoPermission (privilege VirtualMachine.Provisioning.DeployTemplate on vm-7)"),
		Entry("no memory", &types.InsufficientMemoryResourcesFault{}, platform.ClassExhausted, "InsufficientMemoryResourcesFault"),
		Entry("no space", &types.NoDiskSpace{Datastore: "ds1"}, platform.ClassExhausted, "NoDiskSpace (datastore ds1)"),
		Entry("no storage", &types.InsufficientStorageSpace{}, platform.ClassExhausted, "InsufficientStorageSpace"),
		Entry("no host", &types.NoCompatibleHost{}, platform.ClassExhausted, "NoCompatibleHost"),
		Entry("missing object", &types.ManagedObjectNotFound{Obj: types.ManagedObjectReference{Value: "vm-7"}}, platform.ClassNotFound,
			"ManagedObjectNotFound (vm-7)"),
		Entry("taken name", &types.DuplicateName{}, platform.ClassConflict, "DuplicateName"),
		Entry("wrong power state", &types.InvalidPowerState{}, platform.ClassConflict, "InvalidPowerState"),
		Entry("used object", &types.ResourceInUse{}, platform.ClassConflict, "ResourceInUse"),
		Entry("busy object", &types.TaskInProgress{}, platform.ClassTransient, "TaskInProgress"),
		Entry("changed object", &types.ConcurrentAccess{}, platform.ClassTransient, "ConcurrentAccess"),
		Entry("wrong argument", &types.InvalidArgument{InvalidProperty: "spec.location.pool"}, platform.ClassConfiguration,
			"InvalidArgument (spec.location.pool)"),
		Entry("wrong device", &types.InvalidDeviceSpec{}, platform.ClassConfiguration, "InvalidDeviceSpec"),
		Entry("wrong name", &types.InvalidName{}, platform.ClassConfiguration, "InvalidName"),
		Entry("lost host", &types.HostCommunication{}, platform.ClassTransient, "HostCommunication"),
	)

	DescribeTable("should know what is no fault",
		func(err error, class platform.Class) {
			Expect(platform.ClassOf(Classify(err))).To(Equal(class))
		},
		Entry("a mistake that the REST API reports", errors.New("400 Bad Request: {}"), platform.ClassConfiguration),
		Entry("an object that exists in the REST API", errors.New(`400 Bad Request: {"type":"com.vmware.vapi.std.errors.already_exists"}`),
			platform.ClassConflict),
		Entry("a network that is down", errors.New("connection refused"), platform.ClassTransient),
	)

	It("should leave nil alone and ignore only what is not found", func() {
		Expect(Classify(nil)).To(Succeed())
		Expect(IgnoreNotFound(nil)).To(Succeed())
		Expect(IgnoreNotFound(asTask(&types.ManagedObjectNotFound{}))).To(Succeed())
		Expect(IgnoreNotFound(asTask(&types.InvalidState{}))).NotTo(Succeed())
	})
})
