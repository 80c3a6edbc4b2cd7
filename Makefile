# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

REPO_ROOT     := $(shell dirname $(realpath $(lastword $(MAKEFILE_LIST))))
BIN_DIR       := $(REPO_ROOT)/hack/bin
VERSION       := $(shell cat $(REPO_ROOT)/VERSION)
REVISION      ?= $(shell git -C $(REPO_ROOT) rev-parse --short HEAD 2>/dev/null)
VERSION_PKG   := k8s.io/component-base/version
LD_FLAGS      := -w -X $(VERSION_PKG).gitVersion=$(VERSION) -X $(VERSION_PKG).gitCommit=$(REVISION)

.DEFAULT_GOAL := help

include hack/tools.mk

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*##"} /^[a-z-]+:.*##/ {printf "  \033[36m%-10s\033[0m %s\n", $$1, $$2}' $(REPO_ROOT)/Makefile

# The same sources give the same bytes, wherever and whenever they are built.
OUTPUT        ?= $(BIN_DIR)
BINARY        ?= ...
PLATFORMS     ?= linux/amd64,linux/arm64
COMMIT_TIME    = $(shell git -C $(REPO_ROOT) log -1 --format=%ct 2>/dev/null || echo 0)

.PHONY: build
build: ## Build the binaries into hack/bin: BINARY=<name> builds one, OUTPUT=<folder> puts them elsewhere.
	@cd $(REPO_ROOT) && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "$(LD_FLAGS)" -o $(OUTPUT)/ ./cmd/$(BINARY)

.PHONY: images
images: charts ## Build images and charts into hack/bin/oci, in the layout of OCI: IMAGES=<names> builds some, REGISTRY=<prefix> PUSH=1 pushes them.
	@cd $(REPO_ROOT)/hack/oci && go run . -root $(REPO_ROOT) -out $(BIN_DIR)/oci -charts $(BIN_DIR)/charts -registry "$(REGISTRY)" \
		$(if $(PUSH),-push) -platforms $(PLATFORMS) -revision "$(REVISION)" -created $(COMMIT_TIME) $(IMAGES)

.PHONY: charts
charts: ## Pack the charts into hack/bin/charts.
	@cd $(REPO_ROOT) && rm -rf $(BIN_DIR)/charts && go run ./hack/registration -out "" -charts $(BIN_DIR)/charts

.PHONY: release
release: ## Make what a release consists of in hack/bin/release, push images and charts to REGISTRY, and tag the commit: DRY_RUN=1 does neither.
	@REGISTRY="$(REGISTRY)" DRY_RUN="$(DRY_RUN)" hack/release.sh

.PHONY: generate
generate: $(GENERATE_TOOLS) ## Generate deepcopy functions, the API reference, copies of CRDs and the registrations in example/.
	@hack/generate.sh

.PHONY: tools
tools: $(GOLANGCI_LINT) $(HELM) $(VALE) $(GENERATE_TOOLS) ## Build the tools of `make check`, which are Helm and others, into hack/bin.

.PHONY: check
check: tools ## Check format, lint, vet, prose, generated files, go.mod, license headers, charts, scripts and pinned versions.
	@hack/check.sh

.PHONY: fast
fast: ## Run the tests of what differs from BASE=<commit>, without OpenStack and machines.
	@TIER=fast hack/test.sh

.PHONY: test
test: ## Run all tests that a merge needs; starts what they need. PACKAGES=<patterns> picks some, also of the nightly ones.
	@hack/test.sh $(PACKAGES)

.PHONY: nightly
nightly: ## Run what takes long: a real Gardener, kills after each write, long faults, vSphere CSI, race detector, fuzzing, the demo, figures.
	@hack/nightly.sh

.PHONY: fuzz
fuzz: ## Fuzz decoders, validators and mutators for FUZZ_SECONDS (60) together.
	@hack/fuzz.sh

.PHONY: mutation
mutation: $(GREMLINS) ## Change the code of PACKAGES=<folders> in many ways, one at a time, and print the changes that no unit test notices.
	@hack/mutation.sh $(PACKAGES)

.PHONY: demo
demo: ## Run the main job on a local landscape: SITES=cloud,vc,racks,hall picks sites, SITES=own or cloud,own uses own hosts, KEEP=1 leaves it running.
	@hack/demo.sh

.PHONY: garden
garden: ## Let a real Gardener create, change and delete a shoot on all platforms: needs root, KEEP=1 leaves it running.
	@hack/garden.sh

.PHONY: machines
machines: ## Let a shoot live on machines that boot on all platforms, ALL=1 for all tests with such machines; needs root on Debian 12.
	@hack/machines.sh

.PHONY: bench
bench: ## Measure requests to a real OpenStack and a simulated vCenter: ID=<id> runs one figure, ID='vsphere-*' several.
	@go run ./test/bench -o bench.json $(if $(ID),-id '$(ID)')

.PHONY: pictures
pictures: $(FREEZE) ## Run hybridctl on a local landscape and make docs/images, pictures of the terminal: ONLY=<name> makes one.
	@hack/landscape/build.sh >&2 && go run ./test/pictures $(if $(ONLY),-only '$(ONLY)')

.PHONY: site
site: ## Build the site of the documentation into hack/bin/site: needs MkDocs of Debian 12, which root can install, and npm.
	@hack/site.sh

.PHONY: clean
clean: ## Remove everything that was built; caches and a running landscape stay.
	@rm -rf $(BIN_DIR) $(REPO_ROOT)/bench $(REPO_ROOT)/bench.json $(REPO_ROOT)/dev
