# The command alone, for a container beside SillyTavern's: compose.yaml shows how.
# The binaries are built before, by the release or by `cargo xtask dist`, one for each processor.

# Files that are alike for every processor, so this runs on the one that builds.
FROM --platform=$BUILDPLATFORM alpine:3.24.1 AS files
RUN apk add --no-cache tzdata && mkdir -p -m 700 /image/data-history

FROM scratch
# Without a default, which would win over the processor that is built for.
ARG TARGETARCH
COPY --from=files /usr/share/zoneinfo /usr/share/zoneinfo
# A volume starts with the owner of this folder.
COPY --from=files --chown=1000:1000 /image /
COPY built/${TARGETARCH}/forklore /forklore
ENV FORKLORE_DATA=/data FORKLORE_HISTORY=/data-history
VOLUME /data-history
USER 1000:1000
ENTRYPOINT ["/forklore"]
CMD ["watch", "--all-users"]
