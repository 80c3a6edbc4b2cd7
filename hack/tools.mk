# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# The project's tools are built from the Go module proxy into hack/bin. A stamp file for each version makes a new version
# replace the old one.

# renovate: github.com/golangci/golangci-lint/v2
GOLANGCI_LINT_VERSION  := v2.12.2
# renovate: k8s.io/code-generator
DEEPCOPY_GEN_VERSION   := v0.36.3
# renovate: github.com/elastic/crd-ref-docs
CRD_REF_DOCS_VERSION   := v0.3.0
# renovate: sigs.k8s.io/controller-tools
CONTROLLER_GEN_VERSION := v0.20.0
# renovate: helm.sh/helm/v3
HELM_VERSION           := v3.19.4
# renovate: github.com/errata-ai/vale/v3
VALE_VERSION           := v3.7.1
# renovate: github.com/go-gremlins/gremlins
GREMLINS_VERSION       := v0.5.0
# renovate: github.com/charmbracelet/freeze
FREEZE_VERSION         := v0.2.2

GOLANGCI_LINT  := $(BIN_DIR)/.golangci-lint_$(GOLANGCI_LINT_VERSION)
DEEPCOPY_GEN   := $(BIN_DIR)/.deepcopy-gen_$(DEEPCOPY_GEN_VERSION)
CRD_REF_DOCS   := $(BIN_DIR)/.crd-ref-docs_$(CRD_REF_DOCS_VERSION)
CONTROLLER_GEN := $(BIN_DIR)/.controller-gen_$(CONTROLLER_GEN_VERSION)
HELM           := $(BIN_DIR)/.helm_$(HELM_VERSION)
VALE           := $(BIN_DIR)/.vale_$(VALE_VERSION)
GREMLINS       := $(BIN_DIR)/.gremlins_$(GREMLINS_VERSION)
FREEZE         := $(BIN_DIR)/.freeze_$(FREEZE_VERSION)
GENERATE_TOOLS := $(DEEPCOPY_GEN) $(CRD_REF_DOCS) $(CONTROLLER_GEN)

export PATH := $(BIN_DIR):$(PATH)

define install-tool
	@echo "> Build $(notdir $@)" >&2
	@mkdir -p $(BIN_DIR) && rm -f $(BIN_DIR)/.$(1)_*
	@cd / && CGO_ENABLED=$(or $(3),0) GOFLAGS= GOBIN=$(BIN_DIR) go install $(2)
	@touch $@
endef

$(GOLANGCI_LINT):
	$(call install-tool,golangci-lint,github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION))

$(DEEPCOPY_GEN):
	$(call install-tool,deepcopy-gen,k8s.io/code-generator/cmd/deepcopy-gen@$(DEEPCOPY_GEN_VERSION))

$(CRD_REF_DOCS):
	$(call install-tool,crd-ref-docs,github.com/elastic/crd-ref-docs@$(CRD_REF_DOCS_VERSION))

$(CONTROLLER_GEN):
	$(call install-tool,controller-gen,sigs.k8s.io/controller-tools/cmd/controller-gen@$(CONTROLLER_GEN_VERSION))

$(HELM):
	$(call install-tool,helm,helm.sh/helm/v3/cmd/helm@$(HELM_VERSION))

# Vale's parsers of source code are written in C.
$(VALE):
	$(call install-tool,vale,github.com/errata-ai/vale/v3/cmd/vale@$(VALE_VERSION),1)

$(GREMLINS):
	$(call install-tool,gremlins,github.com/go-gremlins/gremlins/cmd/gremlins@$(GREMLINS_VERSION))

$(FREEZE):
	$(call install-tool,freeze,github.com/charmbracelet/freeze@$(FREEZE_VERSION))
