// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package podspec_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/podspec"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestPodSpec(t *testing.T) {
	suite.Run(t, "Pod Spec Suite")
}

var _ = Describe("Source", func() {
	var source podspec.Source

	BeforeEach(func() {
		meta := metav1.ObjectMeta{Namespace: "shop", Name: "known"}
		source = podspec.Source{Namespace: "shop", Reader: fake.NewClientBuilder().WithObjects(
			&corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"a": []byte("1"), "b": []byte("2")}},
			&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"a": "3"}, BinaryData: map[string][]byte{"b": []byte("4")}},
		).Build()}
	})

	DescribeTable("should give files to volumes",
		func(ctx SpecContext, name string, items []corev1.KeyToPath, optional *bool, secret, configMap OmegaMatcher) {
			fromSecret, err := source.Secret(ctx, name, items, optional)
			Expect([]any{fromSecret, err}).To(secret)
			fromConfigMap, err := source.ConfigMap(ctx, name, items, optional)
			Expect([]any{fromConfigMap, err}).To(configMap)
		},
		Entry("all", "known", nil, nil, files("a", "1", "b", "2"), files("a", "3", "b", "4")),
		Entry("some, with other names", "known", []corev1.KeyToPath{{Key: "b", Path: "x/y"}}, nil, files("x/y", "2"), files("x/y", "4")),
		Entry("not without a key", "known", []corev1.KeyToPath{{Key: "c"}}, nil, failure("no key c"), failure("no key c")),
		Entry("without a key that is optional", "known", []corev1.KeyToPath{{Key: "c"}}, new(true), files(), files()),
		Entry("not of an object that is missing", "unknown", nil, new(false), failure("not found"), failure("not found")),
		Entry("of an object that is missing and optional", "unknown", nil, new(true), files(), files()),
	)

	It("should give variables to containers", func(ctx SpecContext) {
		key := corev1.LocalObjectReference{Name: "known"}
		container := &corev1.Container{
			Env: []corev1.EnvVar{
				{Name: "PLAIN", Value: "$(HOME)-$(LATER)"},
				{Name: "LATER", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: key, Key: "a"}}},
				{Name: "MAP", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: key, Key: "b"}}},
				{Name: "FIELD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
				{Name: "LIMIT", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory"}}},
			},
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Ki")}},
		}
		env := map[string]string{"HOME": "/"}
		Expect(source.Environment(ctx, container, func(path string) (string, error) { return "the " + path, nil }, env)).To(Succeed())
		Expect(env).To(Equal(map[string]string{"HOME": "/", "PLAIN": "/-$(LATER)", "LATER": "1", "MAP": "4", "FIELD": "the metadata.name",
			"LIMIT": "1024"}))

		container.Env = []corev1.EnvVar{{Name: "CPU",
			ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}}}
		Expect(source.Environment(ctx, container, nil, env)).To(MatchError("environment variable CPU: the container has no limits.cpu"))
	})

	It("should expand known variables alone", func() {
		Expect(podspec.Expand("$(A)-$(B)-$C", map[string]string{"A": "1"})).To(Equal("1-$(B)-$C"))
	})
})

// files matches the files with the given paths and contents, and no error.
func files(pathsAndContents ...string) OmegaMatcher {
	expected := map[string][]byte{}
	for i := 0; i < len(pathsAndContents); i += 2 {
		expected[pathsAndContents[i]] = []byte(pathsAndContents[i+1])
	}
	return HaveExactElements(Equal(expected), BeNil())
}

// failure matches no files and an error with the text.
func failure(text string) OmegaMatcher {
	return HaveExactElements(BeNil(), MatchError(ContainSubstring(text)))
}
