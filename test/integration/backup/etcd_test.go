// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

const (
	// prefix and copied are the prefixes of the backups of an etcd, and of those that are copied when its control plane moves.
	prefix = "shoot--local--a--0a1b2c3d/etcd-main"
	copied = "shoot--local--b--0a1b2c3d/etcd-main"
)

// credentialFolders are the variables that tell etcd-backup-restore where the Secret of an Etcd is mounted.
var credentialFolders = map[v1alpha1.BackupStore]string{
	v1alpha1.BackupStoreS3:    "AWS_APPLICATION_CREDENTIALS",
	v1alpha1.BackupStoreSwift: "OPENSTACK_APPLICATION_CREDENTIALS",
}

// snapshots are the specs with the etcd-backup-restore that etcd-druid runs.
func snapshots(p func() peer) {
	It("should keep what etcd-backup-restore writes with the Secret of the store, for a copy and a restoration", func(ctx SpecContext) {
		var (
			bucket = "etcd-" + rand.String(10)
			dir    = GinkgoT().TempDir()
			access = p().access()
			store  = open(ctx, p(), access)
		)
		_, err := store.EnsureBucket(ctx, bucket, owner)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { p().remove(ctx, bucket) })
		runner := newBackupRestore(dir, access, p().opener(), bucket)
		// below are the keys below a prefix. A snapshot may have more than one object.
		below := func(prefix string) func(context.Context) []string {
			return func(ctx context.Context) []string {
				return slices.DeleteFunc(p().keys(ctx, bucket), func(key string) bool { return !strings.HasPrefix(key, prefix+"/") })
			}
		}

		By("a full snapshot, and one of what was written after it")
		endpoint := startEtcd(filepath.Join(dir, "etcd"), "etcd.log")
		put(ctx, endpoint, "before", "1")
		snapshotter := runner.run("snapshot", "--store-prefix="+prefix, "--endpoints="+endpoint, "--delta-snapshot-period=1s",
			"--schedule=0 0 1 1 *")
		Eventually(ctx, below(prefix)).Within(time.Minute).Should(ContainElement(ContainSubstring("/Full-")))
		put(ctx, endpoint, "after", "2")
		Eventually(ctx, below(prefix)).Within(time.Minute).Should(ContainElement(ContainSubstring("/Incr-")))
		snapshotter.Stop(ctx)

		By("a copy, as for a control plane that moves")
		Expect(runner.run("copy", "--store-prefix="+copied, "--source-storage-provider="+runner.provider, "--source-store-container="+bucket,
			"--source-store-prefix="+prefix).Wait(ctx)).To(Succeed())
		Expect(below(copied)(ctx)).To(ContainElements(ContainSubstring("/Full-"), ContainSubstring("/Incr-")))

		By("the deletion of the first backups")
		Expect(store.DeletePrefix(ctx, bucket, filepath.Dir(prefix)+"/")).To(Succeed())
		Expect(below(prefix)(ctx)).To(BeEmpty())
		Expect(below(copied)(ctx)).NotTo(BeEmpty())

		By("the restoration of the copy")
		restored := filepath.Join(dir, "restored")
		Expect(runner.run("restore", "--store-prefix="+copied, "--data-dir="+restored,
			"--restoration-temp-snapshots-dir="+filepath.Join(dir, "temp")).Wait(ctx)).To(Succeed())
		endpoint = startEtcd(restored, "restored.log")
		Expect(get(ctx, endpoint)).To(Equal(map[string]string{"before": "1", "after": "2"}))
	}, SpecTimeout(4*time.Minute))
}

// backupRestore is etcd-backup-restore with a store.
type backupRestore struct {
	dir, bucket, provider string
	env                   []string
}

// newBackupRestore writes the Secret of the store where etcd-druid mounts it.
func newBackupRestore(dir string, access backup.Access, opener backup.Opener, bucket string) *backupRestore {
	GinkgoHelper()
	folder := filepath.Join(dir, "etcd-backup")
	Expect(os.MkdirAll(folder, 0o700)).To(Succeed())
	secret := opener.SecretData(access)
	secret["bucketName"] = []byte(bucket)
	for key, value := range secret {
		Expect(os.WriteFile(filepath.Join(folder, key), value, 0o600)).To(Succeed())
	}
	variable := credentialFolders[access.Config.Store]
	return &backupRestore{dir: dir, bucket: bucket, provider: string(access.Config.Store),
		// Amazon's SDK refuses a transport with authorities of its own in addition to the last one's.
		env: []string{variable + "=" + folder, "SOURCE_" + variable + "=" + folder, "AWS_CA_BUNDLE="}}
}

// run starts a command.
func (b *backupRestore) run(command string, args ...string) *landscape.Process {
	GinkgoHelper()
	return start(&landscape.Process{Name: command, Path: filepath.Join(landscape.Root(), "hack", "bin", "etcd-backup-restore"), Env: b.env,
		LogFile: filepath.Join(b.dir, command+".log"),
		Args: append([]string{command, "--storage-provider=" + b.provider, "--store-container=" + b.bucket,
			"--snapstore-temp-directory=" + b.dir}, args...)})
}

// start starts a process that ends with the spec.
func start(process *landscape.Process) *landscape.Process {
	GinkgoHelper()
	Expect(process.Start()).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		process.Stop(ctx)
		AddReportEntry(process.Name, process.Tail(20), ReportEntryVisibilityFailureOrVerbose)
	})
	return process
}

// startEtcd starts an etcd with the data in a folder, and returns its URL.
func startEtcd(data, log string) string {
	GinkgoHelper()
	ports, err := landscape.FreePorts(2)
	Expect(err).NotTo(HaveOccurred())
	url := func(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", port) }
	start(&landscape.Process{Name: "etcd", Path: landscape.DefaultBinaries().Etcd, LogFile: filepath.Join(filepath.Dir(data), log),
		Args: []string{"--data-dir=" + data, "--unsafe-no-fsync", "--force-new-cluster", "--listen-client-urls=" + url(ports[0]),
			"--advertise-client-urls=" + url(ports[0]), "--listen-peer-urls=" + url(ports[1])}})
	return url(ports[0])
}

func etcdClient(endpoint string) *clientv3.Client {
	GinkgoHelper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: time.Minute})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(c.Close)
	return c
}

func put(ctx context.Context, endpoint, key, value string) {
	GinkgoHelper()
	_, err := etcdClient(endpoint).Put(ctx, key, value)
	Expect(err).NotTo(HaveOccurred())
}

// get returns what is in an etcd.
func get(ctx context.Context, endpoint string) map[string]string {
	GinkgoHelper()
	response, err := etcdClient(endpoint).Get(ctx, "", clientv3.WithPrefix())
	Expect(err).NotTo(HaveOccurred())
	result := map[string]string{}
	for _, pair := range response.Kvs {
		result[string(pair.Key)] = string(pair.Value)
	}
	return result
}
