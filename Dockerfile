# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# One stage for each binary. The compiler runs on the platform that builds, for the platform that the image is for.
FROM --platform=$BUILDPLATFORM golang:1.26.5 AS builder
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG REVISION
RUN GOOS=$TARGETOS GOARCH=$TARGETARCH make build OUTPUT=/bin/hybrid REVISION=$REVISION

FROM gcr.io/distroless/static-debian12:nonroot AS gardener-extension-provider-hybrid
COPY --from=builder /bin/hybrid/gardener-extension-provider-hybrid /gardener-extension-provider-hybrid
ENTRYPOINT ["/gardener-extension-provider-hybrid"]

FROM gcr.io/distroless/static-debian12:nonroot AS gardener-extension-admission-hybrid
COPY --from=builder /bin/hybrid/gardener-extension-admission-hybrid /gardener-extension-admission-hybrid
ENTRYPOINT ["/gardener-extension-admission-hybrid"]

FROM gcr.io/distroless/static-debian12:nonroot AS machine-controller-manager-provider-hybrid
COPY --from=builder /bin/hybrid/machine-controller-manager-provider-hybrid /machine-controller-manager-provider-hybrid
ENTRYPOINT ["/machine-controller-manager-provider-hybrid"]

FROM gcr.io/distroless/static-debian12:nonroot AS static-host-operator
COPY --from=builder /bin/hybrid/static-host-operator /static-host-operator
ENTRYPOINT ["/static-host-operator"]

FROM gcr.io/distroless/static-debian12:nonroot AS cloud-controller-manager-hybrid
COPY --from=builder /bin/hybrid/cloud-controller-manager-hybrid /cloud-controller-manager-hybrid
ENTRYPOINT ["/cloud-controller-manager-hybrid"]

# The node service needs what makes and mounts file systems, which the image of cloud-provider-openstack's driver has.
FROM registry.k8s.io/provider-os/cinder-csi-plugin:v1.36.0 AS cinder-csi-plugin-hybrid
COPY --from=builder /bin/hybrid/cinder-csi-plugin-hybrid /cinder-csi-plugin-hybrid
ENTRYPOINT ["/cinder-csi-plugin-hybrid"]
