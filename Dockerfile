# docker build -t wavebench . && docker run --rm -v "$PWD/results:/wavebench/results" wavebench
# With a GPU: docker run --rm --gpus all ... wavebench make reproduce LANE=lite
FROM python:3.11-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc g++ make git zlib1g-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /wavebench
# The set-up alone first: it is built again only when a lock changes.
COPY Makefile requirements.lock requirements-native.lock ./
RUN make setup
COPY . .
CMD ["make", "reproduce"]
