// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package played

import (
	"context"
	"errors"
	"fmt"
	"slices"

	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// syncCopies plays etcd-druid: each EtcdCopyBackupsTask is a pod that copies, and has succeeded when that is ready.
func (o *Operators) syncCopies(ctx context.Context) error {
	list := &druidcorev1alpha1.EtcdCopyBackupsTaskList{}
	if err := o.list(ctx, list); err != nil {
		return err
	}
	var errs []error
	for i := range list.Items {
		task := &list.Items[i]
		if task.DeletionTimestamp != nil || len(task.Status.Conditions) > 0 {
			continue
		}
		if err := o.syncCopy(ctx, task); err != nil {
			errs = append(errs, fmt.Errorf("copy of backups %s/%s: %w", task.Namespace, task.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (o *Operators) syncCopy(ctx context.Context, task *druidcorev1alpha1.EtcdCopyBackupsTask) error {
	pod, err := copyPod(task, !o.WithoutFinalSnapshots.Load())
	if err != nil {
		return err
	}
	found := &corev1.Pod{}
	if err := o.createIfMissing(ctx, pod, found); err != nil {
		return err
	}
	if !slices.ContainsFunc(found.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	}) {
		return nil
	}
	before, now := task.DeepCopy(), metav1.Now()
	task.Status.ObservedGeneration = new(task.Generation)
	task.Status.Conditions = []druidcorev1alpha1.Condition{{
		Type: druidcorev1alpha1.EtcdCopyBackupsTaskSucceeded, Status: druidcorev1alpha1.ConditionTrue, Reason: "Played", Message: "Played",
		LastTransitionTime: now, LastUpdateTime: now,
	}}
	return client.IgnoreNotFound(o.Client.Status().Patch(ctx, task, client.MergeFrom(before)))
}

// copyPod is a pod whose init container copies the backups, and may wait for a final snapshot.
func copyPod(task *druidcorev1alpha1.EtcdCopyBackupsTask, mayWait bool) (*corev1.Pod, error) {
	source, target := &task.Spec.SourceStore, &task.Spec.TargetStore
	env := []corev1.EnvVar{{Name: "POD_NAME", Value: task.GetJobName()}, {Name: "POD_NAMESPACE", Value: task.Namespace}}
	var volumes []corev1.Volume
	var mounts []corev1.VolumeMount
	for _, s := range []struct {
		store              *druidcorev1alpha1.StoreSpec
		name, prefix, path string
	}{{target, "backup", "", backupPath}, {source, "source-backup", "SOURCE_", sourcePath}} {
		folder := credentialFolders[ptr.Deref(s.store.Provider, "")]
		if folder == "" || s.store.SecretRef == nil {
			return nil, fmt.Errorf("%s is not a store that etcd-backup-restore knows, or has no Secret", ptr.Deref(s.store.Provider, ""))
		}
		env = append(env, corev1.EnvVar{Name: s.prefix + folder, Value: s.path})
		volumes = append(volumes, corev1.Volume{Name: s.name,
			VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: s.store.SecretRef.Name}}})
		mounts = append(mounts, corev1.VolumeMount{Name: s.name, MountPath: s.path})
	}
	args := append([]string{"copy"}, append(storeArgs("", target), storeArgs("source-", source)...)...)
	if final := task.Spec.WaitForFinalSnapshot; mayWait && final != nil && final.Enabled {
		args = append(args, "--wait-for-final-snapshot=true",
			"--wait-for-final-snapshot-timeout="+ptr.Deref(final.Timeout, metav1.Duration{}).Duration.String())
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: task.GetJobName(), Namespace: task.Namespace, Labels: task.Spec.PodLabels,
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(task, druidcorev1alpha1.SchemeGroupVersion.WithKind("EtcdCopyBackupsTask"))},
		},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: new(false),
			InitContainers:               []corev1.Container{{Name: "copy", Image: BackupRestoreImage, Args: args, Env: env, VolumeMounts: mounts}},
			Containers:                   []corev1.Container{{Name: "copied", Image: "pause"}},
			Volumes:                      volumes,
		},
	}, nil
}
