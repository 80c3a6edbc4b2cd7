// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Command oci makes what a registry holds of a release. It builds an image of each binary that runs in a cluster, without a container
// engine: a layer of files that all images have, for the node service of a CSI driver a layer of tools of Debian, and a layer with the
// binary. Each image has a bill of materials (CycloneDX) and its provenance (SLSA) as referrers. Packed charts become artifacts as Helm
// pushes them. The same sources, and the same packages of Debian, give the same digests, which it writes into digests.json.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// imageSpec describes an image.
type imageSpec struct {
	// Name is the name of the image and of its binary.
	Name string
	// Title says what runs in the image.
	Title string
	// Root is true if the binary runs as root.
	Root bool
	// Tools are the tools of Debian that the binary calls.
	Tools *debianTools
}

// specs are the images in the order in which they are built.
var specs = []imageSpec{
	{Name: "gardener-extension-provider-hybrid", Title: "Gardener extension provider-hybrid"},
	{Name: "gardener-extension-admission-hybrid", Title: "Admission webhooks of Gardener extension provider-hybrid"},
	{Name: "machine-controller-manager-provider-hybrid", Title: "Driver of machine-controller-manager for shoots of type hybrid"},
	{Name: "cloud-controller-manager-hybrid", Title: "cloud-controller-manager for shoots of type hybrid"},
	{Name: "static-host-operator", Title: "Operator of own hosts"},
	{Name: "cinder-csi-plugin-hybrid", Title: "CSI driver of Cinder for shoots of type hybrid", Root: true, Tools: &fileSystemTools},
	{Name: "manila-csi-plugin-hybrid", Title: "CSI driver of Manila for shoots of type hybrid"},
}

// options are the command line.
type options struct {
	root, out, charts, registry, revision, version string
	push                                           bool
	platforms, names                               []string
	created                                        time.Time
}

func main() {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o, err := parse()
	if err == nil {
		err = run(ctx, o)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func parse() (options, error) {
	var o options
	var platforms string
	flag.StringVar(&o.root, "root", "../..", "folder of the sources")
	flag.StringVar(&o.out, "out", "", "folder for the images, in the layout of OCI")
	flag.StringVar(&o.charts, "charts", "", "folder of packed charts, none if empty")
	flag.StringVar(&o.registry, "registry", "", "registry and prefix of the images' names")
	flag.BoolVar(&o.push, "push", false, "push the images to the registry")
	flag.StringVar(&platforms, "platforms", "linux/amd64,linux/arm64", "platforms, separated by commas")
	flag.StringVar(&o.revision, "revision", "", "commit of the sources")
	seconds := flag.Int64("created", 0, "time of the commit, in seconds since 1970")
	flag.Parse()
	o.platforms, o.names, o.created = strings.Split(platforms, ","), flag.Args(), time.Unix(*seconds, 0).UTC()
	if o.out == "" {
		return o, errors.New("-out is required")
	}
	if o.push && o.registry == "" {
		return o, errors.New("-push requires -registry, the prefix of the images' names")
	}
	for _, wanted := range o.names {
		if !slices.ContainsFunc(specs, func(s imageSpec) bool { return s.Name == wanted }) {
			return o, fmt.Errorf("there is no image %q", wanted)
		}
	}
	version, err := os.ReadFile(filepath.Join(o.root, "VERSION"))
	o.version = strings.TrimSpace(string(version))
	return o, err
}

// digests are those of images and charts by their names, and the content of digests.json.
type digests struct {
	Images map[string]string `json:"images"`
	Charts map[string]string `json:"charts"`
}

func run(ctx context.Context, o options) error {
	base, err := baseFiles(o.created)
	if err != nil {
		return err
	}
	written := digests{Images: map[string]string{}, Charts: map[string]string{}}
	for _, spec := range specs {
		if len(o.names) > 0 && !slices.Contains(o.names, spec.Name) {
			continue
		}
		start := time.Now()
		image, err := o.build(ctx, spec, base)
		if err != nil {
			return fmt.Errorf("%s: %w", spec.Name, err)
		}
		if written.Images[spec.Name], err = o.publish(ctx, image, spec.Name); err != nil {
			return fmt.Errorf("%s: %w", spec.Name, err)
		}
		log.Printf(">   %s, %.0f s", strings.Join(o.platforms, ", "), time.Since(start).Seconds())
	}
	if o.charts != "" {
		archives, err := filepath.Glob(filepath.Join(o.charts, "*-"+o.version+".tgz"))
		if err != nil {
			return err
		}
		for _, archive := range archives {
			name, chart, err := chartOf(archive, o.created)
			if err != nil {
				return fmt.Errorf("%s: %w", archive, err)
			}
			if written.Charts[name], err = o.publish(ctx, chart, "charts/"+name); err != nil {
				return fmt.Errorf("%s: %w", archive, err)
			}
		}
	}
	content, err := json.MarshalIndent(written, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, "digests.json"), append(content, '\n'), 0o644)
}

// publication is an image for several platforms or an artifact, and what describes it.
type publication struct {
	manifest  remote.Taggable
	referrers []v1.Image
}

// publish writes a publication into a folder of its name, and pushes it if that is wanted. It returns its digest.
func (o options) publish(ctx context.Context, p publication, repository string) (string, error) {
	digest, err := partial.Digest(p.manifest)
	if err != nil {
		return "", err
	}
	if err := p.write(filepath.Join(o.out, filepath.FromSlash(repository))); err != nil {
		return "", err
	}
	if o.registry != "" {
		repository = strings.TrimSuffix(o.registry, "/") + "/" + repository
	}
	if o.push {
		if err := o.upload(ctx, p, repository); err != nil {
			return "", fmt.Errorf("pushing: %w", err)
		}
	}
	log.Printf("> %s:%s@%s", repository, o.version, digest)
	return digest.String(), nil
}

// compile builds the binary of an image for a platform, as `make build` does, and returns its path.
func (o options) compile(ctx context.Context, spec imageSpec, platform *v1.Platform) (string, error) {
	dir, err := filepath.Abs(filepath.Join(o.out, "bin", platform.OS+"-"+platform.Architecture))
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "make", "-s", "-C", o.root, "build", "BINARY="+spec.Name, "OUTPUT="+dir, "REVISION="+o.revision)
	cmd.Env = append(os.Environ(), "GOOS="+platform.OS, "GOARCH="+platform.Architecture)
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("make build: %w\n%s", err, output)
	}
	return filepath.Join(dir, spec.Name), nil
}

// write puts a publication into a folder, in the layout of OCI. What was there before goes.
func (p publication) write(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	switch manifest := p.manifest.(type) {
	case v1.ImageIndex:
		err = path.AppendIndex(manifest)
	case v1.Image:
		err = path.AppendImage(manifest)
	}
	for _, referrer := range p.referrers {
		err = errors.Join(err, path.AppendImage(referrer))
	}
	return err
}

// upload pushes a publication with the version as a tag, and its referrers by their digests.
func (o options) upload(ctx context.Context, p publication, repository string) error {
	tag, err := name.NewTag(repository + ":" + o.version)
	if err != nil {
		return err
	}
	access := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	if err := remote.Push(tag, p.manifest, access...); err != nil {
		return err
	}
	for _, referrer := range p.referrers {
		digest, err := referrer.Digest()
		if err != nil {
			return err
		}
		if err := remote.Push(tag.Context().Digest(digest.String()), referrer, access...); err != nil {
			return err
		}
	}
	return nil
}
