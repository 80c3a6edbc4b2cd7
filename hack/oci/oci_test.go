// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

const version = "v1.2.3"

// sources are those of a small program with a dependency, whose Makefile builds it as the project's does.
func sources(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	dependency := regexp.MustCompile(`github\.com/google/uuid v\S+`).FindString(string(module))
	for path, content := range map[string]string{
		"VERSION":  version + "\n",
		"go.mod":   "module example.com/small\n\ngo 1.26.0\n\nrequire " + dependency + "\n",
		"go.sum":   string(sums),
		"main.go":  "package main\n\nimport \"github.com/google/uuid\"\n\nfunc main() { println(uuid.NewString()) }\n",
		"Makefile": "build:\n\t@CGO_ENABLED=0 go build -trimpath -buildvcs=false -o $(OUTPUT)/$(BINARY) .\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// chart packs a chart into a new folder.
func chart(t *testing.T) string {
	t.Helper()
	var content bytes.Buffer
	zipped := gzip.NewWriter(&content)
	packed := tar.NewWriter(zipped)
	text := "apiVersion: v2\nname: some\nversion: " + version + "\n"
	err := packed.WriteHeader(&tar.Header{Name: "some/Chart.yaml", Mode: 0o644, Size: int64(len(text))})
	_, writeErr := io.WriteString(packed, text)
	dir := t.TempDir()
	err = errors.Join(err, writeErr, packed.Close(), zipped.Close(),
		os.WriteFile(filepath.Join(dir, "some-"+version+".tgz"), content.Bytes(), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// registry starts a registry and returns its address.
func registry(t *testing.T) string {
	t.Helper()
	config := &configuration.Configuration{Storage: configuration.Storage{"inmemory": nil}}
	config.Log.Level = "error"
	server := httptest.NewServer(handlers.NewApp(context.Background(), config))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func digestsOf(t *testing.T, o options) digests {
	t.Helper()
	if err := run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(o.out, "digests.json"))
	if err != nil {
		t.Fatal(err)
	}
	var written digests
	if err := json.Unmarshal(content, &written); err != nil {
		t.Fatal(err)
	}
	return written
}

// TestPublish pushes an image and a chart to a registry, and reads them by their digests.
func TestPublish(t *testing.T) {
	o := options{root: sources(t), out: t.TempDir(), charts: chart(t), registry: registry(t) + "/hybrid", revision: "abc", version: version,
		push: true, platforms: []string{"linux/amd64", "linux/arm64"}, names: []string{"static-host-operator"},
		created: time.Unix(1_700_000_000, 0).UTC()}
	written := digestsOf(t, o)

	// The same sources elsewhere give the same digests.
	again := o
	again.root, again.out, again.push, again.registry = sources(t), t.TempDir(), false, ""
	if other := digestsOf(t, again); other.Images["static-host-operator"] != written.Images["static-host-operator"] ||
		other.Charts["some"] != written.Charts["some"] {
		t.Errorf("digests differ: %v, %v", written, other)
	}

	reference, err := name.NewDigest(o.registry + "/static-host-operator@" + written.Images["static-host-operator"])
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(reference)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 2 {
		t.Fatalf("got %v, %v, want two platforms", manifest, err)
	}
	for _, descriptor := range manifest.Manifests {
		image, err := index.Image(descriptor.Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkImage(t, image, *descriptor.Platform)
		checkReferrers(t, reference.Context().Digest(descriptor.Digest.String()), o, *descriptor.Platform)
	}

	reference, err = name.NewDigest(o.registry + "/charts/some@" + written.Charts["some"])
	if err != nil {
		t.Fatal(err)
	}
	artifact, err := remote.Image(reference)
	if err != nil {
		t.Fatal(err)
	}
	config, err := artifact.RawConfigFile()
	if err != nil || !strings.Contains(string(config), `"name":"some"`) {
		t.Errorf("the chart has %s, %v", config, err)
	}
}

// checkImage expects an unprivileged user, authorities and the binary, which is executable and the only one.
func checkImage(t *testing.T, image v1.Image, platform v1.Platform) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Architecture != platform.Architecture || config.Config.User != "65532:65532" ||
		config.Config.Entrypoint[0] != "/static-host-operator" {
		t.Errorf("got %+v", config)
	}
	content := mutate.Extract(image)
	defer content.Close()
	found := map[string]int64{}
	for reader := tar.NewReader(content); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Gid != 0 {
			t.Errorf("%s belongs to %d:%d", header.Name, header.Uid, header.Gid)
		}
		if header.Typeflag == tar.TypeReg {
			found[header.Name] = header.Mode
		}
	}
	want := map[string]int64{"etc/passwd": 0o644, "etc/group": 0o644, "etc/ssl/certs/ca-certificates.crt": 0o644,
		"static-host-operator": 0o755}
	if len(found) != len(want) {
		t.Errorf("got %v, want %v", found, want)
	}
	for path, mode := range want {
		if found[path] != mode {
			t.Errorf("%s has mode %o, want %o", path, found[path], mode)
		}
	}
}

// checkReferrers expects a bill of materials with what the binary says of itself, and a provenance with the commit.
func checkReferrers(t *testing.T, subject name.Digest, o options, platform v1.Platform) {
	t.Helper()
	index, err := remote.Referrers(subject)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string][]byte{}
	for _, descriptor := range manifest.Manifests {
		image, err := remote.Image(subject.Context().Digest(descriptor.Digest.String()))
		if err != nil {
			t.Fatal(err)
		}
		layers, err := image.Layers()
		if err != nil || len(layers) != 1 {
			t.Fatalf("got %v, %v, want one layer", layers, err)
		}
		kind, err := layers[0].MediaType()
		if err != nil {
			t.Fatal(err)
		}
		reader, err := layers[0].Compressed()
		if err != nil {
			t.Fatal(err)
		}
		if contents[string(kind)], err = io.ReadAll(reader); err != nil {
			t.Fatal(err)
		}
	}
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(contents[string(bomType)]), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, component := range *bom.Components {
		got = append(got, component.Name+" "+component.Version)
	}
	want := listed(t, filepath.Join(o.out, "bin", platform.OS+"-"+platform.Architecture, "static-host-operator"))
	if len(want) != 2 || !slices.Equal(got, want) {
		t.Errorf("the bill of materials has %q, go version -m lists %q", got, want)
	}
	if !bytes.Contains(contents[string(provenanceType)], []byte(`"gitCommit":"abc"`)) {
		t.Errorf("got provenance %s", contents[string(provenanceType)])
	}
}

// TestUnpublished refuses what has no binary, and leaves no digests.
// listed are the version of Go and the dependencies of an executable as `go version -m` lists them.
func listed(t *testing.T, path string) []string {
	t.Helper()
	output, err := exec.Command("go", "version", "-m", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := strings.Cut(string(output), "\n")
	_, golang, _ := strings.Cut(first, ": go")
	result := []string{"std " + golang}
	for line := range strings.Lines(rest) {
		if fields := strings.Fields(line); len(fields) >= 3 && fields[0] == "dep" {
			result = append(result, fields[1]+" "+fields[2])
		}
	}
	return result
}

func TestUnpublished(t *testing.T) {
	o := options{root: t.TempDir(), out: t.TempDir(), version: version, platforms: []string{"linux/amd64"}}
	if err := run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "make build") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(o.out, "digests.json")); !os.IsNotExist(err) {
		t.Errorf("got %v", err)
	}
}
