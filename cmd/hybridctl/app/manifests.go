// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	securityv1alpha1 "github.com/gardener/gardener/pkg/apis/security/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	// maxManifest is the maximum size of a file, and maxDocuments that of the number of documents of all files.
	maxManifest  = 16 << 20
	maxDocuments = 10000
	// fromStdin is the name of the standard input among files.
	fromStdin = "-"
)

var (
	// scheme has the kinds that commands read.
	scheme = runtime.NewScheme()
	codecs = serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	// decoder refuses unknown fields, after it has decoded the others.
	decoder = codecs.UniversalDeserializer()
	// kinds are those that commands read from manifests, also in lists.
	kinds = map[schema.GroupVersionKind]bool{}
	// lineNumber finds the line in an error about YAML.
	lineNumber = regexp.MustCompile(`line \d+`)
)

func init() {
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, gardencorev1beta1.AddToScheme, securityv1alpha1.AddToScheme, extensionsv1alpha1.AddToScheme,
		machinev1alpha1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	metav1.AddToGroupVersion(scheme, machinev1alpha1.SchemeGroupVersion)
	for _, object := range []client.Object{
		&corev1.Namespace{}, &corev1.Secret{},
		&gardencorev1beta1.CloudProfile{}, &gardencorev1beta1.NamespacedCloudProfile{}, &gardencorev1beta1.SecretBinding{},
		&gardencorev1beta1.Seed{}, &gardencorev1beta1.Shoot{}, &securityv1alpha1.CredentialsBinding{},
		&extensionsv1alpha1.Cluster{}, &extensionsv1alpha1.ControlPlane{}, &extensionsv1alpha1.Infrastructure{}, &extensionsv1alpha1.Worker{},
		&machinev1alpha1.Machine{}, &machinev1alpha1.MachineClass{}, &machinev1alpha1.MachineDeployment{}, &machinev1alpha1.MachineSet{},
	} {
		kind, err := apiutil.GVKForObject(object, scheme)
		utilruntime.Must(err)
		kinds[kind] = true
	}
}

// manifests are the objects in files.
type manifests struct {
	objects []client.Object
	// notes are about what was not read.
	notes []string
	count int
}

// readManifests reads files, the files in folders, and the standard input.
func readManifests(paths []string, stdin io.Reader) (*manifests, error) {
	m := &manifests{}
	for _, path := range paths {
		if path == fromStdin {
			if err := m.read("standard input", stdin); err != nil {
				return nil, err
			}
			continue
		}
		files, err := filesOf(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if err := m.open(file); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

// filesOf returns the path, or the manifests in it if it is a folder.
func filesOf(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		if _, statErr := os.Stat(path); statErr != nil {
			return nil, fmt.Errorf("file %q cannot be read: %w", path, errors.Unwrap(statErr))
		}
		return []string{path}, nil
	}
	var files []string
	for _, entry := range entries {
		if entry.Type()&fs.ModeDir == 0 && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	return files, nil
}

func (m *manifests) open(path string) error {
	file, err := os.Open(path) // #nosec G304 -- the user names it
	if err != nil {
		return err
	}
	defer file.Close()
	return m.read(path, file)
}

// read reads the documents of a file.
func (m *manifests) read(name string, content io.Reader) error {
	limited := &io.LimitedReader{R: content, N: maxManifest + 1}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(limited))
	for number := 1; ; number++ {
		document, err := documents.Read()
		switch {
		case limited.N == 0:
			return fmt.Errorf("%s is larger than %d MiB", name, maxManifest>>20)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s, document %d: %w", name, number, err)
		}
		if err := m.add(fmt.Sprintf("%s, document %d", name, number), document); err != nil {
			return err
		}
	}
}

// add adds the object of a document. where is the document in errors, which do not show what may be the content of a Secret.
func (m *manifests) add(where string, document []byte) error {
	content, err := yaml.YAMLToJSON(document)
	if err != nil {
		return fmt.Errorf("%s is not valid YAML%s", where, lineOf(err))
	}
	if content = bytes.TrimSpace(content); bytes.Equal(content, []byte("null")) {
		return nil
	}
	if m.count++; m.count > maxDocuments {
		return fmt.Errorf("%s: there are more than %d documents", where, maxDocuments)
	}
	list := &struct {
		metav1.TypeMeta `json:",inline"`

		Items []runtime.RawExtension `json:"items"`
	}{}
	if err := yaml.Unmarshal(content, &list.TypeMeta); err != nil || list.Kind == "" {
		return fmt.Errorf("%s is not an object with apiVersion and kind", where)
	}
	kind := list.GroupVersionKind()
	if isList(kind) {
		if err := yaml.Unmarshal(content, list); err != nil {
			return fmt.Errorf("%s is not a valid %s", where, kind.Kind)
		}
		for i, item := range list.Items {
			if err := m.add(fmt.Sprintf("%s, item %d", where, i+1), item.Raw); err != nil {
				return err
			}
		}
		return nil
	}
	if !kinds[kind] {
		m.notes = append(m.notes, fmt.Sprintf("%s is ignored: its kind is %s of %s", where, platform.Printable(kind.Kind),
			platform.Printable(list.APIVersion)))
		return nil
	}

	decoded, _, err := decoder.Decode(content, nil, nil)
	switch {
	case runtime.IsStrictDecodingError(err) && kind.Kind != "Secret":
		m.notes = append(m.notes, fmt.Sprintf("%s: %s", where, platform.Printable(err.Error())))
	case err != nil && !runtime.IsStrictDecodingError(err) && kind.Kind == "Secret":
		return fmt.Errorf("%s is not a valid Secret", where)
	case err != nil && !runtime.IsStrictDecodingError(err):
		return fmt.Errorf("%s is not a valid %s: %s", where, kind.Kind, platform.Printable(err.Error()))
	}
	object, ok := decoded.(client.Object)
	if !ok {
		return fmt.Errorf("%s is not a valid %s", where, kind.Kind)
	}
	scheme.Default(object)
	if secret, ok := object.(*corev1.Secret); ok {
		takeText(secret)
	}
	m.objects = append(m.objects, object)
	return nil
}

// takeText moves the texts of a Secret to its data, as API servers do.
func takeText(secret *corev1.Secret) {
	for key, value := range secret.StringData {
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		secret.Data[key] = []byte(value)
	}
	secret.StringData = nil
}

// lineOf returns the line of an error about YAML. Its text may contain parts of the document.
func lineOf(err error) string {
	if line := lineNumber.FindString(err.Error()); line != "" {
		return " (" + line + ")"
	}
	return ""
}

// isList returns whether the kind is a list of objects of any kind, or of a kind that is read.
func isList(kind schema.GroupVersionKind) bool {
	of, ok := strings.CutSuffix(kind.Kind, "List")
	return ok && (kind == corev1.SchemeGroupVersion.WithKind("List") || kinds[kind.GroupVersion().WithKind(of)])
}
