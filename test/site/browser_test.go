// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package site_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/skip"
)

// browserTimeout limits what a spec waits for in the browser.
const browserTimeout = 3 * time.Minute

// browser is a tab of a headless Chromium that notes what goes wrong in it.
type browser struct {
	ctx context.Context

	mutex    sync.Mutex
	errors   []string
	requests int
	// elsewhere are requests to other hosts than that of the site.
	elsewhere []string
}

// openBrowser opens a tab until the spec ends.
func openBrowser(ctx context.Context) *browser {
	GinkgoHelper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		skip.Because("Chromium is not installed (Debian: apt-get install chromium)")
	}
	ctx, cancel := context.WithTimeout(ctx, browserTimeout)
	DeferCleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium),
		chromedp.NoSandbox, chromedp.WindowSize(1400, 1000), chromedp.WSURLReadTimeout(browserTimeout))...)
	DeferCleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	DeferCleanup(cancel)
	b := &browser{ctx: ctx}
	chromedp.ListenTarget(ctx, b.note)
	b.run(log.Enable(), network.Enable(), runtime.Enable())
	return b
}

func (b *browser) note(event any) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError {
			b.errors = append(b.errors, e.Entry.Text+" "+e.Entry.URL)
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError {
			b.errors = append(b.errors, e.Args[0].Value.String())
		}
	case *runtime.EventExceptionThrown:
		b.errors = append(b.errors, e.ExceptionDetails.Error())
	case *network.EventRequestWillBeSent:
		b.requests++
		target, err := url.Parse(e.Request.URL)
		isOwn := err == nil && (target.Scheme == "data" || target.Scheme == "blob" || "http://"+target.Host == address)
		if !isOwn {
			b.elsewhere = append(b.elsewhere, e.Request.URL)
		}
	}
}

func (b *browser) run(actions ...chromedp.Action) {
	GinkgoHelper()
	Expect(chromedp.Run(b.ctx, actions...)).To(Succeed())
}

// js returns the value of an expression.
func js[T any](b *browser, expression string) T {
	GinkgoHelper()
	var value T
	b.run(chromedp.Evaluate(expression, &value))
	return value
}

// screenshot writes what the window shows.
func (b *browser) screenshot(name string) {
	GinkgoHelper()
	var picture []byte
	b.run(chromedp.CaptureScreenshot(&picture))
	Expect(os.WriteFile(filepath.Join(screenshots(), name+".png"), picture, 0o600)).To(Succeed())
}

// findings are the errors, and the requests to other hosts.
func (b *browser) findings() (errors, elsewhere []string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.errors, b.elsewhere
}

func (b *browser) expectFine() {
	GinkgoHelper()
	errors, elsewhere := b.findings()
	Expect(errors).To(BeEmpty())
	Expect(elsewhere).To(BeEmpty())
	b.mutex.Lock()
	defer b.mutex.Unlock()
	Expect(b.requests).To(BeNumerically(">", 5))
}

// The expressions tell diagrams that are drawn, and those that mermaid does not understand.
const (
	drawn = `[...document.querySelectorAll(".diagram > svg")].filter(svg => svg.getBoundingClientRect().height > 50).length`
	wrong = `document.querySelectorAll('svg[aria-roledescription="error"]').length`
)

var _ = Describe("In a browser", func() {
	var b *browser
	BeforeEach(func(ctx SpecContext) {
		b = openBrowser(context.WithoutCancel(ctx))
	})

	It("should have a start page", func() {
		b.run(chromedp.Navigate(address), chromedp.WaitVisible(".md-search__input"))
		Expect(js[string](b, "document.title")).To(ContainSubstring("provider-hybrid"))
		Expect(js[[]string](b, `[...document.querySelectorAll(".md-tabs__link")].map(tab => tab.textContent.trim())`)).To(
			Equal([]string{"Overview", "Usage", "Operations", "Development", "API reference"}))
		b.screenshot("start")
		b.expectFine()
	})

	It("should find pages by words", func() {
		b.run(chromedp.Navigate(address), chromedp.WaitVisible(".md-search__input"), chromedp.Click(".md-search__input"),
			chromedp.SendKeys(".md-search__input", "quarantine"), chromedp.WaitVisible(".md-search-result__item"))
		results := `[...document.querySelectorAll(".md-search-result__link")].map(link => new URL(link.href).pathname)`
		Eventually(func() []string { return js[[]string](b, results) }).WithTimeout(time.Minute).Should(
			ContainElement("/docs/operations/health/"))
		Expect(js[[]string](b, results)).NotTo(ContainElement("/docs/operations/dns/"))
		b.screenshot("search")
		b.expectFine()
	})

	It("should draw each diagram", func() {
		diagrams := 0
		for _, document := range filesBelow(source, ".md") {
			count := strings.Count(string(read(source, document)), "```mermaid\n")
			if count == 0 {
				continue
			}
			diagrams += count
			b.run(chromedp.Navigate(address + "/" + strings.TrimSuffix(pageOf(document), "index.html")))
			Eventually(func() int { return js[int](b, drawn) }).WithTimeout(time.Minute).Should(Equal(count), document)
			Expect(js[int](b, wrong)).To(BeZero(), document)
			b.run(chromedp.ScrollIntoView(".diagram"))
			b.screenshot("diagram-" + strings.ReplaceAll(strings.TrimSuffix(document, ".md"), "/", "-"))
		}
		AddReportEntry(fmt.Sprintf("%d diagrams are drawn", diagrams))
		Expect(diagrams).To(BeNumerically(">=", 5))
		b.expectFine()
	})

	It("should notice a diagram that is wrong, a file that is missing, and a request to another host", func() {
		b.run(chromedp.Navigate(address + "/wrong/"))
		Eventually(func(g Gomega) {
			errors, elsewhere := b.findings()
			g.Expect(errors).To(ContainElements(ContainSubstring("404"), ContainSubstring("Uncaught (in promise)")))
			g.Expect(elsewhere).To(ConsistOf("http://elsewhere.test/a.png"))
		}).WithTimeout(time.Minute).Should(Succeed())
		Expect(js[int](b, drawn)).To(BeZero())
	})
})
