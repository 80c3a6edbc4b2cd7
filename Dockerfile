# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

FROM golang:1.26.5 AS builder
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOFLAGS=-trimpath make build

FROM gcr.io/distroless/static-debian12:nonroot AS gardener-extension-provider-hybrid
COPY --from=builder /src/hack/bin/gardener-extension-provider-hybrid /gardener-extension-provider-hybrid
ENTRYPOINT ["/gardener-extension-provider-hybrid"]

FROM gcr.io/distroless/static-debian12:nonroot AS machine-controller-manager-provider-hybrid
COPY --from=builder /src/hack/bin/machine-controller-manager-provider-hybrid /machine-controller-manager-provider-hybrid
ENTRYPOINT ["/machine-controller-manager-provider-hybrid"]

FROM gcr.io/distroless/static-debian12:nonroot AS cloud-controller-manager-hybrid
COPY --from=builder /src/hack/bin/cloud-controller-manager-hybrid /cloud-controller-manager-hybrid
ENTRYPOINT ["/cloud-controller-manager-hybrid"]

# The node service needs what makes and mounts file systems, which the image of cloud-provider-openstack's driver has.
FROM registry.k8s.io/provider-os/cinder-csi-plugin:v1.36.0 AS cinder-csi-plugin-hybrid
COPY --from=builder /src/hack/bin/cinder-csi-plugin-hybrid /cinder-csi-plugin-hybrid
ENTRYPOINT ["/cinder-csi-plugin-hybrid"]
