# Potato's server in a container: docker build -t potato . (docs/administration.md, "In a container").
#
# The version of Python is the one that the tests run on most. For more than the core: --build-arg EXTRAS=postgres,export
# For an index of your own: --secret id=pip,src=pip.conf (it stays out of every layer)
ARG PYTHON_VERSION=3.11

FROM docker.io/library/python:${PYTHON_VERSION}-slim-bookworm AS build
ARG EXTRAS=""
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
COPY . .
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    python -m venv /opt/potato \
    && /opt/potato/bin/pip install -c constraints.txt ".${EXTRAS:+[$EXTRAS]}" \
    && /opt/potato/bin/pip uninstall --yes pip setuptools

FROM docker.io/library/python:${PYTHON_VERSION}-slim-bookworm
RUN useradd --uid 1000 --create-home potato \
    && install --directory --owner=potato --group=potato /project
COPY --from=build /opt/potato /opt/potato
ENV PATH=/opt/potato/bin:$PATH PYTHONUNBUFFERED=1
USER potato
WORKDIR /project
VOLUME /project
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD ["python", "-c", "\
from http.client import HTTPConnection; \
server = HTTPConnection('127.0.0.1', 8000, timeout=8); \
server.request('GET', '/healthz'); \
raise SystemExit(server.getresponse().status != 200)"]
ENTRYPOINT ["potato"]
CMD ["start", "config.yaml", "--host", "0.0.0.0"]
