// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package site_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	rendererhtml "github.com/yuin/goldmark/renderer/html"
	"golang.org/x/net/html"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// filesBelow are the paths of files with an extension, relative to the folder.
func filesBelow(folder, extension string) []string {
	GinkgoHelper()
	var found []string
	Expect(fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(path) == extension {
			found = append(found, path)
		}
		return err
	})).To(Succeed())
	Expect(found).NotTo(BeEmpty())
	return found
}

func parse(data []byte) *html.Node {
	GinkgoHelper()
	page, err := html.Parse(bytes.NewReader(data))
	Expect(err).NotTo(HaveOccurred())
	return page
}

func read(path ...string) []byte {
	GinkgoHelper()
	data, err := os.ReadFile(filepath.Join(path...)) // #nosec G304 -- a file of the site
	Expect(err).NotTo(HaveOccurred())
	return data
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// pageOf is the page of a document.
func pageOf(document string) string {
	path := strings.TrimSuffix(document, ".md")
	if filepath.Base(path) == "README" {
		path = filepath.Dir(path)
	}
	return filepath.Join(path, "index.html")
}

// shape counts the elements below a node that readers tell apart. Code and diagrams count the same.
func shape(n *html.Node) map[string]int {
	counts := map[string]int{}
	for d := range n.Descendants() {
		switch {
		case d.Type != html.ElementNode:
		case d.Data == "div" && attribute(d, "class") == "diagram":
			counts["pre"]++
		default:
			for _, name := range []string{"pre", "table", "tr", "td", "th", "ul", "ol", "li", "h1", "h2", "h3", "img"} {
				if d.Data == name {
					counts[name]++
				}
			}
		}
	}
	return counts
}

var _ = Describe("Pages", func() {
	It("should link only pages and sections that exist, and load nothing from another host", func() {
		pages := map[string]*html.Node{}
		ids := map[string]bool{}
		for _, path := range filesBelow(folder, ".html") {
			page := parse(read(folder, path))
			pages[path] = page
			for n := range page.Descendants() {
				for _, name := range []string{"id", "name"} {
					if id := attribute(n, name); id != "" {
						ids["/"+path+"#"+id] = true
					}
				}
			}
		}
		var (
			checked int
			broken  []string
		)
		for path, page := range pages {
			if path == "404.html" { // its links begin at the address that was not found
				continue
			}
			base := &url.URL{Path: "/" + path}
			for n := range page.Descendants() {
				for _, name := range []string{"href", "src"} {
					value := attribute(n, name)
					if value == "" || strings.HasPrefix(value, "data:") {
						continue
					}
					target, err := base.Parse(value)
					Expect(err).NotTo(HaveOccurred(), value)
					if target.Host != "" || target.Scheme != "" {
						if n.Data != "a" {
							broken = append(broken, path+": loads "+value)
						}
						continue
					}
					checked++
					file := target.Path
					if strings.HasSuffix(file, "/") {
						file += "index.html"
					}
					if info, err := os.Stat(filepath.Join(folder, file)); err != nil || info.IsDir() {
						broken = append(broken, path+": "+value)
					} else if target.Fragment != "" && !ids[file+"#"+target.Fragment] {
						broken = append(broken, path+": no section "+value)
					}
				}
			}
		}
		AddReportEntry(fmt.Sprintf("%d pages with %d links, %d broken", len(pages), checked, len(broken)))
		Expect(checked).To(BeNumerically(">", 5000))
		Expect(broken).To(BeEmpty())
	})

	It("should have the lists, tables, headings and blocks of code that GitHub shows", func() {
		github := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(rendererhtml.WithUnsafe()))
		var different []string
		for _, document := range filesBelow(source, ".md") {
			var expected bytes.Buffer
			Expect(github.Convert(read(source, document), &expected)).To(Succeed())
			var article *html.Node
			for n := range parse(read(folder, pageOf(document))).Descendants() {
				if n.Type == html.ElementNode && n.Data == "article" {
					article = n
				}
			}
			Expect(article).NotTo(BeNil(), document)
			if here, there := shape(article), shape(parse(expected.Bytes())); !maps.Equal(here, there) {
				different = append(different, fmt.Sprintf("%s: %v, on GitHub %v", document, here, there))
			}
		}
		Expect(different).To(BeEmpty())
	})

	It("should be in the navigation, except for decisions, which have a list", func() {
		navigation := string(read(landscape.Root(), "hack", "site", "mkdocs.yml"))
		for _, document := range filesBelow(source, ".md") {
			if !strings.HasPrefix(document, "docs/development/decisions/") || strings.HasSuffix(document, "README.md") {
				Expect(navigation).To(ContainSubstring("- " + document + "\n"))
			}
		}
	})
})
