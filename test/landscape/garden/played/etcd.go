// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package played

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	druidcommon "github.com/gardener/etcd-druid/api/common"
	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// EtcdImage is the image of the containers that have to be an etcd.
	EtcdImage = "etcd"

	// BackupRestoreImage is the image of the containers that have to be an etcd-backup-restore.
	BackupRestoreImage = "etcd-backup-restore"

	etcdPort   = 2379
	backupPort = 8080
	volumePath = "/var/etcd/data"
	dataPath   = volumePath + "/new.etcd" // a folder that etcd-backup-restore replaces
	backupPath = "/var/etcd-backup"
	sourcePath = "/var/source-etcd-backup"
	configFile = "etcd.conf.yaml"
	peerURL    = "http://127.0.0.1:2380"
)

// credentialFolders are the variables that tell etcd-backup-restore where its credentials are, for the stores that our extension names.
var credentialFolders = map[druidcorev1alpha1.StorageProvider]string{
	"S3": "AWS_APPLICATION_CREDENTIALS", "Swift": "OPENSTACK_APPLICATION_CREDENTIALS",
}

// syncEtcds plays etcd-druid: each Etcd is a Service and, unless it is hibernated, a pod whose data outlives it.
func (o *Operators) syncEtcds(ctx context.Context) error {
	list := &druidcorev1alpha1.EtcdList{}
	if err := o.list(ctx, list); err != nil {
		return err
	}
	var errs []error
	for i := range list.Items {
		etcd := &list.Items[i]
		if etcd.DeletionTimestamp == nil {
			if err := o.syncEtcd(ctx, etcd); err != nil {
				errs = append(errs, fmt.Errorf("etcd %s/%s: %w", etcd.Namespace, etcd.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}

func (o *Operators) syncEtcd(ctx context.Context, etcd *druidcorev1alpha1.Etcd) error {
	tls := etcd.Spec.Etcd.ClientUrlTLS
	if tls == nil {
		return errors.New("it has no certificates")
	}
	owner := *metav1.NewControllerRef(etcd, druidcorev1alpha1.SchemeGroupVersion.WithKind("Etcd"))
	labels := map[string]string{druidcorev1alpha1.LabelPartOfKey: etcd.Name, "instance": etcd.Name, "app": "etcd-statefulset",
		"role": etcd.Labels["role"]}
	object := metav1.ObjectMeta{Namespace: etcd.Namespace, Labels: labels, OwnerReferences: []metav1.OwnerReference{owner}}
	service := &corev1.Service{ObjectMeta: object, Spec: corev1.ServiceSpec{
		Selector: map[string]string{druidcorev1alpha1.LabelPartOfKey: etcd.Name},
		Ports: []corev1.ServicePort{{Name: "client", Port: etcdPort, TargetPort: intstr.FromInt32(etcdPort)},
			{Name: "backuprestore", Port: backupPort, TargetPort: intstr.FromInt32(backupPort)}},
	}}
	service.Name = etcd.Name + "-client"
	if err := o.createIfMissing(ctx, service, &corev1.Service{}); err != nil {
		return err
	}
	config := &corev1.ConfigMap{ObjectMeta: object, Data: map[string]string{configFile: fmt.Sprintf(
		"initial-cluster: %s\ninitial-advertise-peer-urls: {%s: [%q]}\n", clusterOf(etcd), memberOf(etcd), peerURL)}}
	config.Name = etcd.Name + "-config"
	if err := o.createIfMissing(ctx, config, &corev1.ConfigMap{}); err != nil {
		return err
	}

	pod := etcdPod(etcd, object)
	if err := o.syncEtcdPod(ctx, pod, etcd.Spec.Replicas > 0); err != nil {
		return err
	}
	return o.reportEtcd(ctx, etcd)
}

// memberOf is the name of the only member of an Etcd, which is that of its pod.
func memberOf(etcd *druidcorev1alpha1.Etcd) string {
	return etcd.Name + "-0"
}

// clusterOf is the only member of an Etcd with its address.
func clusterOf(etcd *druidcorev1alpha1.Etcd) string {
	return memberOf(etcd) + "=" + peerURL
}

// etcdPod is the pod of an Etcd. Its data is where no pod of another Etcd looks for it. If it has none, but backups, these are restored
// before etcd starts.
func etcdPod(etcd *druidcorev1alpha1.Etcd, object metav1.ObjectMeta) *corev1.Pod {
	tls := etcd.Spec.Etcd.ClientUrlTLS
	authority := "ca.crt"
	if key := tls.TLSCASecretRef.DataKey; key != nil {
		authority = *key
	}
	secret := func(name string) corev1.VolumeSource {
		return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}
	}
	object.Name = memberOf(etcd)
	object.Labels = maps.Clone(object.Labels)
	pod := &corev1.Pod{ObjectMeta: object, Spec: corev1.PodSpec{
		AutomountServiceAccountToken: new(false),
		Containers: []corev1.Container{{
			Name: "etcd", Image: EtcdImage,
			Args: []string{
				"--name=" + memberOf(etcd), "--data-dir=" + dataPath, "--unsafe-no-fsync", "--log-level=warn", "--quota-backend-bytes=8589934592",
				"--listen-client-urls=https://0.0.0.0:2379", "--advertise-client-urls=https://" + etcd.Name + "-client:2379",
				"--listen-peer-urls=" + peerURL, "--initial-advertise-peer-urls=" + peerURL,
				"--initial-cluster=" + clusterOf(etcd),
				"--cert-file=/server/tls.crt", "--key-file=/server/tls.key", "--client-cert-auth", "--trusted-ca-file=/authority/" + authority,
			},
			VolumeMounts: []corev1.VolumeMount{{Name: "authority", MountPath: "/authority"}, {Name: "server", MountPath: "/server"},
				{Name: "data", MountPath: volumePath}},
		}},
		Volumes: []corev1.Volume{
			{Name: "authority", VolumeSource: secret(tls.TLSCASecretRef.Name)},
			{Name: "server", VolumeSource: secret(tls.ServerTLSSecretRef.Name)},
			{Name: "data", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path.Join("/etcd", string(etcd.UID))}}},
		},
	}}
	if store := etcd.Spec.Backup.Store; store != nil && store.Provider != nil && store.SecretRef != nil {
		env := []corev1.EnvVar{
			{Name: credentialFolders[*store.Provider], Value: backupPath}, {Name: "ETCD_CONF", Value: "/config/" + configFile},
			{Name: "POD_NAME", Value: object.Name}, {Name: "POD_NAMESPACE", Value: object.Namespace},
		}
		mounts := []corev1.VolumeMount{{Name: "backup", MountPath: backupPath}, {Name: "config", MountPath: "/config"}}
		pod.Spec.InitContainers = []corev1.Container{{
			Name: "initialize", Image: BackupRestoreImage,
			Args: append([]string{
				"initialize", "--validation-mode=sanity", "--data-dir=" + dataPath,
				"--restoration-temp-snapshots-dir=" + volumePath + "/restoration",
				"--name=" + memberOf(etcd), "--initial-cluster=" + clusterOf(etcd), "--initial-advertise-peer-urls=" + peerURL,
			}, storeArgs("", store)...),
			Env: env, VolumeMounts: append([]corev1.VolumeMount{{Name: "data", MountPath: volumePath}}, mounts...),
		}}
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Name: "backup-restore", Image: BackupRestoreImage,
			Args: append([]string{
				"server", "--delta-snapshot-period=10s", "--schedule=0 */1 * * *",
				fmt.Sprintf("--server-port=%d", backupPort), "--server-cert=/server/tls.crt", "--server-key=/server/tls.key",
				fmt.Sprintf("--endpoints=https://%s-client:%d", etcd.Name, etcdPort), "--insecure-transport=false", "--insecure-skip-tls-verify=false",
				"--cacert=/authority/" + authority, "--cert=/client/tls.crt", "--key=/client/tls.key",
			}, storeArgs("", store)...),
			Env: env,
			VolumeMounts: append([]corev1.VolumeMount{{Name: "authority", MountPath: "/authority"}, {Name: "server", MountPath: "/server"},
				{Name: "client", MountPath: "/client"}}, mounts...),
		})
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "client", VolumeSource: secret(tls.ClientTLSSecretRef.Name)},
			corev1.Volume{Name: "backup", VolumeSource: secret(store.SecretRef.Name)},
			corev1.Volume{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: etcd.Name + "-config"}}}})
	}
	return pod
}

// storeArgs are the arguments of etcd-backup-restore for a store, which may be the source of a copy.
func storeArgs(prefix string, store *druidcorev1alpha1.StoreSpec) []string {
	args := []string{"--" + prefix + "storage-provider=" + string(*store.Provider),
		"--" + prefix + "store-container=" + ptr.Deref(store.Container, ""), "--" + prefix + "store-prefix=" + store.Prefix}
	if prefix == "" {
		args = append(args, "--snapstore-temp-directory=/tmp")
	}
	return args
}

// syncEtcdPod creates, replaces or deletes the pod.
func (o *Operators) syncEtcdPod(ctx context.Context, pod *corev1.Pod, wanted bool) error {
	found := &corev1.Pod{}
	err := o.Client.Get(ctx, client.ObjectKeyFromObject(pod), found)
	switch {
	case apierrors.IsNotFound(err):
		if wanted {
			return client.IgnoreAlreadyExists(o.Client.Create(ctx, pod))
		}
		return nil
	case err != nil:
		return err
	case found.DeletionTimestamp != nil:
		return nil
	}
	secrets := func(p *corev1.Pod) (names []string) {
		for _, v := range p.Spec.Volumes {
			if v.Secret != nil {
				names = append(names, v.Secret.SecretName)
			}
		}
		return names
	}
	if !wanted || !slices.Equal(secrets(found), secrets(pod)) {
		return client.IgnoreNotFound(o.Client.Delete(ctx, found))
	}
	return nil
}

func (o *Operators) createIfMissing(ctx context.Context, object, found client.Object) error {
	err := o.Client.Get(ctx, client.ObjectKeyFromObject(object), found)
	if apierrors.IsNotFound(err) {
		return client.IgnoreAlreadyExists(o.Client.Create(ctx, object))
	}
	return err
}

// reportEtcd reports what is wanted as done.
func (o *Operators) reportEtcd(ctx context.Context, etcd *druidcorev1alpha1.Etcd) error {
	asked := etcd.Annotations[druidcorev1alpha1.DruidOperationAnnotation] != "" ||
		etcd.Annotations[druidcorev1alpha1.GardenerOperationAnnotation] != ""
	if !asked && etcd.Status.ObservedGeneration != nil && *etcd.Status.ObservedGeneration == etcd.Generation {
		return nil
	}
	before, now := etcd.DeepCopy(), metav1.Now()
	etcd.Status.ObservedGeneration, etcd.Status.Ready = new(etcd.Generation), new(true)
	etcd.Status.Replicas, etcd.Status.CurrentReplicas, etcd.Status.ReadyReplicas = etcd.Spec.Replicas, etcd.Spec.Replicas, etcd.Spec.Replicas
	etcd.Status.LastOperation = &druidcommon.LastOperation{
		Type: druidcorev1alpha1.LastOperationTypeReconcile, State: druidcorev1alpha1.LastOperationStateSucceeded, Description: "Played",
		RunID: "played", LastUpdateTime: now,
	}
	etcd.Status.Conditions = nil
	for _, kind := range []druidcorev1alpha1.ConditionType{
		druidcorev1alpha1.ConditionTypeReady, druidcorev1alpha1.ConditionTypeAllMembersReady, druidcorev1alpha1.ConditionTypeAllMembersUpdated,
	} {
		etcd.Status.Conditions = append(etcd.Status.Conditions, druidcorev1alpha1.Condition{
			Type: kind, Status: druidcorev1alpha1.ConditionTrue, Reason: "Played", Message: "Played", LastTransitionTime: now, LastUpdateTime: now,
		})
	}
	if err := o.Client.Status().Patch(ctx, etcd, client.MergeFrom(before)); err != nil || !asked {
		return client.IgnoreNotFound(err)
	}
	before = etcd.DeepCopy()
	delete(etcd.Annotations, druidcorev1alpha1.DruidOperationAnnotation)
	delete(etcd.Annotations, druidcorev1alpha1.GardenerOperationAnnotation)
	return client.IgnoreNotFound(o.Client.Patch(ctx, etcd, client.MergeFrom(before)))
}
