// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// Finalizer keeps a StaticHost until its host was released.
	Finalizer = GroupName + "/release"
	// AnnotationRetry makes the operator release a dirty host again. The operator removes the annotation.
	AnnotationRetry = GroupName + "/retry"

	// KeyPrivateKey is the key of the Secret of a host with the private key in the format of OpenSSH.
	KeyPrivateKey = corev1.SSHAuthPrivateKey
	// KeySudoPassword is the key of the Secret of a host with the password of sudo. Without it, sudo must not ask for one.
	KeySudoPassword = "sudo-password"
	// KeyUserData is the key of the Secret of a machine with its user data.
	KeyUserData = "userData"
)

// Phase is what the operator makes of a host.
type Phase string

const (
	// PhasePending means that the operator has not yet found the host suitable.
	PhasePending Phase = "Pending"
	// PhaseAvailable means that nothing of a machine is on the host.
	PhaseAvailable Phase = "Available"
	// PhaseProvisioning means that the user data of the machine is about to run, or runs.
	PhaseProvisioning Phase = "Provisioning"
	// PhaseProvisioned means that the user data ran successfully.
	PhaseProvisioned Phase = "Provisioned"
	// PhaseReleasing means that the operator removes the machine from the host.
	PhaseReleasing Phase = "Releasing"
	// PhaseDirty means that something of a machine may be left on the host. The host stays dirty until an administrator has looked at it.
	PhaseDirty Phase = "Dirty"
)

const (
	// ConditionReachable says whether the operator can run commands as root on the host.
	ConditionReachable = "Reachable"
	// ConditionSuitable says whether the host has what a node needs.
	ConditionSuitable = "Suitable"
	// ConditionProvisioned says whether the user data of the machine ran. It is unknown before that has ended.
	ConditionProvisioned = "Provisioned"
	// ConditionClean says whether nothing of a machine is on the host.
	ConditionClean = "Clean"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=statichosts,scope=Namespaced,categories=hybrid
// +kubebuilder:printcolumn:name="Address",type=string,JSONPath=`.spec.address`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Reachable",type=string,JSONPath=`.status.conditions[?(@.type=="Reachable")].status`
// +kubebuilder:printcolumn:name="Suitable",type=string,JSONPath=`.status.conditions[?(@.type=="Suitable")].status`
// +kubebuilder:printcolumn:name="Machine",type=string,JSONPath=`.spec.consumerRef.name`
// +kubebuilder:printcolumn:name="OS",type=string,JSONPath=`.status.facts.osRelease.id`,priority=1
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.facts.osRelease.versionID`,priority=1
// +kubebuilder:printcolumn:name="CPUs",type=integer,JSONPath=`.status.facts.cpus`,priority=1
// +kubebuilder:printcolumn:name="MemoryMiB",type=integer,JSONPath=`.status.facts.memoryMiB`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.spec.consumerRef) || has(self.spec.consumerRef) || !has(self.status) || !has(self.status.phase) || self.status.phase in ['Pending', 'Available']",message="spec.consumerRef may be removed only from a host that was released: status.phase must be Pending or Available"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.userDataSecretRef) || has(self.spec.consumerRef)",message="spec.userDataSecretRef requires spec.consumerRef"

// StaticHost is a host that already has an operating system.
type StaticHost struct {
	metav1.TypeMeta `json:",inline"`
	// Metadata of the host. Machines select hosts by their labels.
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Spec is how the host is reached, and which machine it is to be.
	Spec StaticHostSpec `json:"spec"`
	// Status is what the operator observed.
	// +optional
	Status StaticHostStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// StaticHostList is a list of hosts.
type StaticHostList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the hosts.
	Items []StaticHost `json:"items"`
}

// StaticHostSpec is how a host is reached, and which machine it is to be.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.consumerRef) || !has(self.consumerRef) || self.consumerRef == oldSelf.consumerRef",message="consumerRef may be set and removed, but not changed: another machine must wait for the release of the host"
type StaticHostSpec struct {
	// Address is the IP address or DNS name of the host.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[0-9A-Za-z]([0-9A-Za-z.:-]*[0-9A-Za-z])?$`
	Address string `json:"address"`
	// Port is the port of the SSH server. Default: 22.
	// +kubebuilder:default=22
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port int32 `json:"port,omitempty"`
	// User is root, or a user that may become root with sudo. Default: root.
	// +kubebuilder:default=root
	// +kubebuilder:validation:Pattern=`^[a-z_][a-z0-9_-]{0,31}$`
	// +optional
	User string `json:"user,omitempty"`
	// SSHSecretRef is the Secret in the namespace of the operator with the keys ssh-privatekey and, if sudo asks for a password,
	// sudo-password. Several hosts can have the same one.
	SSHSecretRef LocalReference `json:"sshSecretRef"`
	// HostKeys are the public keys that the SSH server may have, in the format of OpenSSH without a comment: "ssh-ed25519 AAAA...". A
	// server with another key gets neither commands nor a password.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=4096
	// +kubebuilder:validation:items:Pattern=`^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/]+={0,2}$`
	// +listType=set
	HostKeys []string `json:"hostKeys"`
	// Maintenance keeps the operator from connecting to the host, and machines from claiming it.
	// +optional
	Maintenance bool `json:"maintenance,omitempty"`
	// Taints keep away machines that do not tolerate them with the effect NoBind.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=key
	// +optional
	Taints []Taint `json:"taints,omitempty"`
	// Reset is what is done at the release of the host in addition to the removal of what the machine has made.
	// +optional
	Reset Reset `json:"reset,omitempty"`
	// ConsumerRef is the machine that the host belongs to.
	// +optional
	ConsumerRef *corev1.ObjectReference `json:"consumerRef,omitempty"`
	// UserDataSecretRef is the Secret in the namespace of the host with the user data of the machine, a script, under the key userData. The
	// operator runs the script once. When the reference is removed, the operator releases the host.
	// +optional
	UserDataSecretRef *LocalReference `json:"userDataSecretRef,omitempty"`
	// NodeName is the host name while the host is the machine. Default: the host name remains.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	// +optional
	NodeName string `json:"nodeName,omitempty"`
}

// LocalReference names an object.
type LocalReference struct {
	// Name is the name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// Taint keeps machines away from a host.
type Taint struct {
	// Key is the key of the taint.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	Key string `json:"key"`
	// Value is the value of the taint.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Value string `json:"value,omitempty"`
}

// Reset is what is done at the release of a host.
type Reset struct {
	// Hook is a script that runs as root before the reboot. The host is dirty unless it exits with code 0 within 10 minutes.
	// +kubebuilder:validation:MaxLength=16384
	// +optional
	Hook string `json:"hook,omitempty"`
	// Empty are folders that are emptied, such as those of local volumes. Default: /var/lib/local-volumes.
	// +kubebuilder:default={"/var/lib/local-volumes"}
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:Pattern=`^(/[0-9A-Za-z_][0-9A-Za-z._-]*){2,}$`
	// +listType=set
	// +optional
	Empty []string `json:"empty,omitempty"`
}

// StaticHostStatus is what the operator observed.
type StaticHostStatus struct {
	// ObservedGeneration is the generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Phase is what the operator makes of the host.
	// +kubebuilder:validation:Enum=Pending;Available;Provisioning;Provisioned;Releasing;Dirty
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// LastContact is when the operator last ran a command on the host.
	// +optional
	LastContact *metav1.Time `json:"lastContact,omitempty"`
	// Facts are what the host said about itself at the last contact.
	// +optional
	Facts *Facts `json:"facts,omitempty"`
	// Provisioned is the machine that the host is, or whose release is not finished.
	// +optional
	Provisioned *Provisioned `json:"provisioned,omitempty"`
	// Conditions are Reachable, Suitable, Provisioned and Clean.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Facts are what a host says about itself.
type Facts struct {
	// Architecture is that of the CPUs: amd64 or arm64.
	Architecture string `json:"architecture"`
	// CPUs is the number of CPUs.
	CPUs int64 `json:"cpus"`
	// MemoryMiB is the size of the memory in MiB.
	MemoryMiB int64 `json:"memoryMiB"`
	// OSRelease is the operating system.
	OSRelease OSRelease `json:"osRelease"`
	// Kernel is the version of the kernel.
	// +optional
	Kernel string `json:"kernel,omitempty"`
	// MachineID is the content of /etc/machine-id.
	MachineID string `json:"machineID"`
	// BootID identifies the boot.
	BootID string `json:"bootID"`
	// SystemUUID is the UUID that the firmware reports.
	// +optional
	SystemUUID string `json:"systemUUID,omitempty"`
	// Addresses are the IP addresses of global scope.
	// +optional
	Addresses []string `json:"addresses,omitempty"`
	// Disks are the disks.
	// +optional
	Disks []Disk `json:"disks,omitempty"`
	// Systemd is the version of systemd, empty if it is not the first process.
	// +optional
	Systemd string `json:"systemd,omitempty"`
	// Containerd is the version of containerd, empty if it is not installed.
	// +optional
	Containerd string `json:"containerd,omitempty"`
	// Cgroup is the version of the control groups: v1 or v2.
	// +optional
	Cgroup string `json:"cgroup,omitempty"`
}

// OSRelease is an operating system as os-release(5) names it.
type OSRelease struct {
	// ID is the ID of the operating system, such as debian.
	ID string `json:"id"`
	// VersionID is the version, such as 12. It is empty for operating systems without versions.
	// +optional
	VersionID string `json:"versionID,omitempty"`
}

// Disk is a disk of a host.
type Disk struct {
	// Name is the name of the device, such as sda.
	Name string `json:"name"`
	// SizeGiB is the size in GiB.
	SizeGiB int64 `json:"sizeGiB"`
}

// Provisioned is what was done to make a host a machine.
type Provisioned struct {
	// Machine is the name of the machine, and Shoot is the namespace of its consumer reference.
	Machine string `json:"machine"`
	// Shoot is the technical ID of the shoot.
	Shoot string `json:"shoot"`
	// UserDataHash is the SHA-256 hash of the user data in hexadecimal digits.
	UserDataHash string `json:"userDataHash"`
	// MachineID is the machine ID of the host at that time. A host with another one is not touched.
	MachineID string `json:"machineID"`
	// BootID is the boot during which the user data was started, or in which the release was started. A host is clean in another boot at
	// the earliest.
	BootID string `json:"bootID"`
	// BaselineHash is the SHA-256 hash in hexadecimal digits of what the host was before, which the host keeps for the release. The user
	// data does not run without it.
	// +optional
	BaselineHash string `json:"baselineHash,omitempty"`
	// Time is when the user data was started.
	Time metav1.Time `json:"time"`
}
