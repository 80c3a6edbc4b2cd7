// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// AssetsVariable names the environment variable with the folder of etcd and kube-apiserver.
const AssetsVariable = "KUBEBUILDER_ASSETS"

// Root returns the root folder of the project's sources.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// CacheDir returns the folder for state that outlives a run: below $HYBRID_CACHE or, by default, the user's cache folder.
func CacheDir(elem ...string) (string, error) {
	base := os.Getenv("HYBRID_CACHE")
	if base == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		base = filepath.Join(cache, "provider-hybrid")
	}
	return filepath.Join(append([]string{base}, elem...)...), nil
}

// Binaries are the paths of the processes' executables.
type Binaries struct {
	// Etcd is etcd.
	Etcd string
	// KubeAPIServer is kube-apiserver.
	KubeAPIServer string
	// KubeControllerManager is kube-controller-manager.
	KubeControllerManager string
	// KubeScheduler is kube-scheduler.
	KubeScheduler string
	// ResourceManager is gardener-resource-manager.
	ResourceManager string
	// MCM is machine-controller-manager.
	MCM string
	// Driver is our driver of machine-controller-manager.
	Driver string
	// Extension is our extension.
	Extension string
	// Metal3 is baremetal-operator with played hardware.
	Metal3 string
	// IronCore is metal-operator.
	IronCore string
	// BMCs are the BMCs that metal-operator tests itself with.
	BMCs string
	// IPAM is cluster-api-ipam-provider-in-cluster.
	IPAM string
}

// DefaultBinaries are the executables in hack/bin; etcd and kube-apiserver are taken from $KUBEBUILDER_ASSETS if it is set.
func DefaultBinaries() Binaries {
	bin := filepath.Join(Root(), "hack", "bin")
	assets := os.Getenv(AssetsVariable)
	if assets == "" {
		assets = bin
	}
	return Binaries{
		Etcd:                  filepath.Join(assets, "etcd"),
		KubeAPIServer:         filepath.Join(assets, "kube-apiserver"),
		KubeControllerManager: filepath.Join(bin, "kube-controller-manager"),
		KubeScheduler:         filepath.Join(bin, "kube-scheduler"),
		ResourceManager:       filepath.Join(bin, "gardener-resource-manager"),
		MCM:                   filepath.Join(bin, "machine-controller-manager"),
		Driver:                filepath.Join(bin, "machine-controller-manager-provider-hybrid"),
		Extension:             filepath.Join(bin, "gardener-extension-provider-hybrid"),
		Metal3:                filepath.Join(bin, "baremetal-operator"),
		IronCore:              filepath.Join(bin, "metal-operator"),
		BMCs:                  filepath.Join(bin, "bmcs"),
		IPAM:                  filepath.Join(bin, "ipam-provider-in-cluster"),
	}
}

// Check returns an error that names every missing executable of a shoot.
func (b Binaries) Check() error {
	return check(b.Etcd, b.KubeAPIServer, b.MCM, b.Driver, b.Extension)
}

// CheckMetal returns an error that names every missing executable of a bare-metal site.
func (b Binaries) CheckMetal() error {
	return check(b.Etcd, b.KubeAPIServer, b.Metal3, b.IronCore, b.BMCs, b.IPAM)
}

func check(paths ...string) error {
	var errs []error
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil {
			errs = append(errs, err)
		} else if info.IsDir() || info.Mode()&0o111 == 0 {
			errs = append(errs, fmt.Errorf("%s is not executable", path))
		}
	}
	if len(errs) > 0 {
		errs = append(errs, errors.New("hack/landscape/build.sh builds what is missing"))
	}
	return errors.Join(errs...)
}
