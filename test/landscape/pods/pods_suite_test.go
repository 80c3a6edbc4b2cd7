// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package pods_test

import (
	"net/http"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestPods(t *testing.T) {
	SetDefaultEventuallyTimeout(30 * time.Second)
	suite.Run(t, "Test Landscape Pods Suite")
}

// Environment variables that make the test binary a program of a container: where it listens, and the folder whose files it serves.
const (
	listenVariable = "PODS_TEST_LISTEN"
	folderVariable = "PODS_TEST_FOLDER"
)

func TestProgram(t *testing.T) {
	listen := os.Getenv(listenVariable)
	if listen == "" {
		return // this is the suite's own process
	}
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(os.Getenv(folderVariable))))
	mux.HandleFunc("/crash", func(http.ResponseWriter, *http.Request) { os.Exit(3) })
	server := &http.Server{Addr: listen, Handler: mux, ReadHeaderTimeout: time.Minute}
	t.Fatal(server.ListenAndServe())
}
