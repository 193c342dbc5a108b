# The command alone, for a container beside SillyTavern's: compose.yaml shows how.
# The binaries are built before, by the release or by `cargo xtask dist`, one for each processor.
FROM scratch
ARG TARGETARCH=amd64
COPY built/${TARGETARCH}/forklore /forklore
ENV FORKLORE_DATA=/data FORKLORE_HISTORY=/data-history
VOLUME /data-history
ENTRYPOINT ["/forklore"]
CMD ["watch", "--all-users"]
