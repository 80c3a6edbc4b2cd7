// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package pack_test

import (
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/hack/registration/pack"
)

var _ = Describe("Archive", func() {
	It("should pack the same files into the same bytes", func() {
		files := map[string]string{"Chart.yaml": "name: some\nversion: v1.2.3\n", "values.yaml": "{}", "templates/a.yaml": "a: 1"}
		var packed [2][]byte
		for i := range packed {
			dir := GinkgoT().TempDir()
			Expect(os.MkdirAll(filepath.Join(dir, "templates"), 0o700)).To(Succeed())
			for name, content := range files {
				Expect(os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600)).To(Succeed())
			}
			c, err := pack.Read(dir)
			Expect(err).NotTo(HaveOccurred())
			Expect(os.Chtimes(filepath.Join(dir, "values.yaml"), time.Now(), time.Unix(int64(i), 0))).To(Succeed())
			Expect(os.Chmod(filepath.Join(dir, "values.yaml"), os.FileMode(0o600+i*0o44))).To(Succeed())
			packed[i], err = c.Archive()
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(packed[0]).NotTo(BeEmpty())
		Expect(packed[0]).To(Equal(packed[1]))
	})
})
