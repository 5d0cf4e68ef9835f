# For those who prefer a container engine: docker buildx build -f build/agent.Dockerfile --build-arg VERSION=$(cat VERSION) .
# "make images" builds the same content without one, reproducibly.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG TARGETOS TARGETARCH VERSION
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -tags grpcnotrace -ldflags "-s -w -X github.com/skyhook-operator/skyhook.linked=$VERSION" -o /out/skyhook-agent ./cmd/skyhook-agent && \
    mkdir -m 1777 /out/tmp && mkdir -m 700 /out/root

FROM scratch
ARG VERSION
LABEL org.opencontainers.image.title="skyhook-agent" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.source="https://github.com/skyhook-operator/skyhook" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /out/ /
# Steps inherit this and run in the root of the host, so the search path is the host's.
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ENTRYPOINT ["/skyhook-agent"]
