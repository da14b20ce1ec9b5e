# The service, and the Python workers that run its ensembles. docs/deploy/containers.md says what each target and argument is
# for, and how to add a package of one's own. Any builder will do, also one without BuildKit.
#
#   docker build --target service -t beam-ensembles-service .
#   docker build --target worker -t beam-ensembles-worker .

# That of beam-ensembles, for the images' labels.
ARG VERSION=0.1.0
ARG PYTHON_VERSION=3.12
ARG BEAM_VERSION=2.77.0
ARG PYTHON_BASE=python:${PYTHON_VERSION}-slim
ARG BEAM_BASE=apache/beam_python${PYTHON_VERSION}_sdk:${BEAM_VERSION}
# The distribution of this one must have the Python of PYTHON_VERSION: Ubuntu 24.04 has 3.12.
ARG CUDA_BASE=nvidia/cuda:13.0.2-cudnn-runtime-ubuntu24.04


# Beam's own image, for the program that starts a worker.
FROM ${BEAM_BASE} AS beam


# The installer, and this project as a wheel.
FROM ${PYTHON_BASE} AS builder
WORKDIR /src
COPY requirements/uv.txt requirements/dev.txt requirements/
RUN python3 -m venv /opt/uv \
 && /opt/uv/bin/pip install --no-cache-dir --require-hashes -r requirements/uv.txt \
 && /opt/uv/bin/uv pip install --no-cache --python /opt/uv/bin/python --constraint requirements/dev.txt hatchling
COPY pyproject.toml README.md CHANGELOG.md LICENSE scripts/image_dependencies.py ./
RUN mkdir /dependencies && python3 image_dependencies.py > /dependencies/pyproject.toml
COPY python_transforms python_transforms
COPY expansion_service expansion_service
RUN /opt/uv/bin/uv build --no-cache --python /opt/uv/bin/python --no-build-isolation --wheel --out-dir /wheels


# No machine-learning framework is part of this one.
FROM ${PYTHON_BASE} AS service
# None are needed, but where ensemble files and models are in a bucket: gcp, aws.
ARG SERVICE_EXTRAS=""
ENV VIRTUAL_ENV=/opt/beam-ensembles PATH=/opt/beam-ensembles/bin:$PATH PYTHONUNBUFFERED=1
WORKDIR /opt/beam-ensembles/src
COPY --from=builder /opt/uv/bin/uv /usr/local/bin/
RUN python3 -m venv "$VIRTUAL_ENV"
COPY --from=builder /dependencies ./
COPY requirements/dev.txt scripts/install_extras.sh ./
RUN ./install_extras.sh dev.txt "$SERVICE_EXTRAS"
COPY --from=builder /wheels /wheels
RUN pip install --no-cache-dir --no-index --no-deps /wheels/*.whl
ARG VERSION
ARG BEAM_VERSION
ARG PYTHON_VERSION
LABEL org.opencontainers.image.title="beam-ensembles-service" \
    org.opencontainers.image.version="$VERSION" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.source="https://github.com/beam-ensembles/beam-ensembles" \
    io.github.beamensembles.beam="$BEAM_VERSION" \
    io.github.beamensembles.python="$PYTHON_VERSION"
USER 65532
EXPOSE 8097
HEALTHCHECK --interval=15s --timeout=10s --start-period=30s CMD ["beam-ensembles", "health"]
ENTRYPOINT ["beam-ensembles", "serve", "--host", "0.0.0.0"]


FROM ${PYTHON_BASE} AS worker
# The extras of pyproject.toml, separated by blanks; fewer make a lean worker.
ARG EXTRAS=all
# PyTorch without the code for GPUs. Empty: PyPI's, which brings gigabytes of it.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ARG WORKER_USER=65532
# Boot would make an environment for each worker that does not see this one.
ENV VIRTUAL_ENV=/opt/beam-ensembles PATH=/opt/beam-ensembles/bin:$PATH RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT=1
# ONNX Runtime needs this locale for graphs of text vectorizers (StringNormalizer).
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends locales \
 && localedef -i en_US -f UTF-8 en_US.UTF-8 \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/beam-ensembles/src
COPY --from=builder /opt/uv/bin/uv /usr/local/bin/
# Boot, as the user below, puts the packages of a pipeline beside those of the image.
RUN python3 -m venv "$VIRTUAL_ENV" \
 && { [ "$WORKER_USER" = 0 ] || useradd --uid "$WORKER_USER" --create-home worker; } \
 && chown "$WORKER_USER" "$VIRTUAL_ENV"/bin "$VIRTUAL_ENV"/lib/python*/site-packages
COPY --from=builder /dependencies ./
COPY requirements/dev.txt scripts/install_extras.sh ./
RUN ./install_extras.sh dev.txt "$EXTRAS" --torch-index "$TORCH_INDEX"
COPY --from=beam /opt/apache/beam /opt/apache/beam
COPY --from=builder /wheels /wheels
RUN pip install --no-cache-dir --no-index --no-deps /wheels/*.whl \
 && python -m beam_ensembles.runtime.prepare_workers
# Boot writes the pipeline's options to where it is started.
WORKDIR /tmp
ARG VERSION
ARG BEAM_VERSION
ARG PYTHON_VERSION
LABEL org.opencontainers.image.title="beam-ensembles-worker" \
    org.opencontainers.image.version="$VERSION" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.source="https://github.com/beam-ensembles/beam-ensembles" \
    io.github.beamensembles.beam="$BEAM_VERSION" \
    io.github.beamensembles.python="$PYTHON_VERSION"
USER ${WORKER_USER}
ENTRYPOINT ["/opt/apache/beam/boot"]


FROM ${CUDA_BASE} AS worker-gpu
ARG PYTHON_VERSION
ARG GPU_EXTRAS="sklearn onnx xgboost lightgbm catboost pytorch tensorrt huggingface open_inference openai vertex_ai image audio keywords lookup gcp aws"
# TensorRT's libraries are on NVIDIA's own index. Empty: without them.
ARG NVIDIA_INDEX=https://pypi.nvidia.com
ARG WORKER_USER=65532
ENV VIRTUAL_ENV=/opt/beam-ensembles PATH=/opt/beam-ensembles/bin:$PATH RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT=1 \
    NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
# The locale is for ONNX Runtime, as above.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends "python${PYTHON_VERSION}" "python${PYTHON_VERSION}-venv" locales \
 && localedef -i en_US -f UTF-8 en_US.UTF-8 \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/beam-ensembles/src
COPY --from=builder /opt/uv/bin/uv /usr/local/bin/
RUN "python${PYTHON_VERSION}" -m venv "$VIRTUAL_ENV" \
 && { [ "$WORKER_USER" = 0 ] || useradd --uid "$WORKER_USER" --create-home worker; } \
 && chown "$WORKER_USER" "$VIRTUAL_ENV"/bin "$VIRTUAL_ENV"/lib/python*/site-packages
COPY --from=builder /dependencies ./
COPY requirements/gpu.txt requirements/gpu-overrides.txt scripts/install_extras.sh ./
RUN ./install_extras.sh gpu.txt "$GPU_EXTRAS" --overrides gpu-overrides.txt -r gpu-overrides.txt
# Their wheel is in no lock, because PyPI has none; the version is that of the bindings.
RUN [ -z "$NVIDIA_INDEX" ] || uv pip install --no-cache --no-deps --index-url "$NVIDIA_INDEX" \
    "tensorrt-cu13-libs==$(sed -n 's/^tensorrt-cu13-bindings==\([^ ]*\).*/\1/p' gpu.txt)"
COPY --from=beam /opt/apache/beam /opt/apache/beam
COPY --from=builder /wheels /wheels
RUN pip install --no-cache-dir --no-index --no-deps /wheels/*.whl \
 && python -m beam_ensembles.runtime.prepare_workers
# Boot writes the pipeline's options to where it is started.
WORKDIR /tmp
ARG VERSION
ARG BEAM_VERSION
LABEL org.opencontainers.image.title="beam-ensembles-worker-gpu" \
    org.opencontainers.image.version="$VERSION" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.source="https://github.com/beam-ensembles/beam-ensembles" \
    io.github.beamensembles.beam="$BEAM_VERSION" \
    io.github.beamensembles.python="$PYTHON_VERSION"
USER ${WORKER_USER}
ENTRYPOINT ["/opt/apache/beam/boot"]
