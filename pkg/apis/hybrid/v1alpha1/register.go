// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of the provider API.
const GroupName = "hybrid.provider.extensions.gardener.cloud"

var (
	// SchemeGroupVersion is the group and version of the types in this package.
	SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}
	// SchemeBuilder registers the types and their defaults.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes, addDefaultingFuncs)
	// AddToScheme adds the types and their defaults to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&BackupBucketConfig{},
		&BackupBucketStatus{},
		&BastionStatus{},
		&CloudControllerManagerConfiguration{},
		&CloudProfileConfig{},
		&ControlPlaneConfig{},
		&ControlPlaneState{},
		&DiscoveryReport{},
		&DNSRecordState{},
		&InfrastructureConfig{},
		&InfrastructureState{},
		&InfrastructureStatus{},
		&MachineProviderSpec{},
		&PlanReport{},
		&PreflightReport{},
		&SeedConfig{},
		&SelfHostedShootExposureStatus{},
		&StatusReport{},
		&WorkerConfig{},
		&WorkerStatus{},
	)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
