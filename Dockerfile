# docker build --build-arg UID="$(id -u)" -t wavebench .
# docker run --rm -v "$PWD/results:/wavebench/results" wavebench
# With a GPU (NVIDIA's container toolkit): docker run --rm --gpus all ... wavebench make reproduce LANE=lite
# This recipe has been read, not built: no container engine was at hand.
FROM python:3.11-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc g++ make zlib1g-dev libseqan2-dev \
    && rm -rf /var/lib/apt/lists/*
# Not root: what a run writes into the mounted results belongs to the caller.
ARG UID=1000
RUN useradd --create-home --uid "$UID" --non-unique wavebench \
    && install --directory --owner wavebench /wavebench
USER wavebench
WORKDIR /wavebench
# The set-up alone first: it is built again only when a lock or the Makefile changes.
COPY --chown=wavebench Makefile requirements.lock requirements-native.lock ./
RUN make setup
COPY --chown=wavebench . .
# For the processor that builds the image; on another one `make reproduce` builds the peers again.
RUN make peers
# The git folder is not copied: docker build --build-arg COMMIT="$(git rev-parse --short=12 HEAD)" names the commit.
ARG COMMIT=unknown
ENV WAVEBENCH_COMMIT=$COMMIT
CMD ["make", "reproduce"]
