# The image of Ringfence, for both engines and every role. docs/containers.md says how to run it.
#
# The version of Node is that of the npm package `node` in package-lock.json, with which all tests run; a test in test/deploy compares the two.
ARG NODE_VERSION=22.23.3

FROM node:${NODE_VERSION}-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc tsconfig.json ./
COPY sdk/package.json sdk/
COPY install install/
# The dashboard is built from these files and its own.
COPY sdk/src sdk/src/
COPY dashboard dashboard/
COPY src/dashboard src/dashboard/
COPY src/geometry/confidence.ts src/geometry/ringCrossing.ts src/geometry/
# No package that the server loads needs an install script, because native packages contain their binaries. `npm run slim` then builds the
# dashboard, and removes the files for other platforms and the package `node`, which the image does not need: 500 MB. After that, the large
# data of packages are compressed: 233 MB become 79.
RUN npm ci --omit=dev --workspaces=false --ignore-scripts --no-audit --no-fund \
 && node install/slim.ts \
 && node install/packData.ts
# What the image can do: `all`; `regions`, which leaves out the data of IP addresses; `tracking`, which also leaves out routing and geocoding.
ARG FEATURES=all
RUN case "$FEATURES" in \
      all) ;; \
      regions) rm -r node_modules/@ip-location-db ;; \
      tracking) npm ci --omit=dev --omit=optional --workspaces=false --ignore-scripts --prefer-offline --no-audit --no-fund \
        && node install/slim.ts ;; \
      *) echo 'FEATURES must be all, regions or tracking' >&2; exit 1 ;; \
    esac

FROM node:${NODE_VERSION}-bookworm-slim
# tini is process 1, because as process 1 Node would ignore a signal that arrives before the server listens for signals. libbsd0: Valhalla needs it.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends tini libbsd0 \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* \
 && install --directory --owner=node --group=node --mode=700 /data
WORKDIR /app
COPY --from=packages /app/node_modules node_modules/
COPY --from=packages /app/dashboard/dist dashboard/dist/
COPY package.json LICENSE ./
COPY config config/
COPY docs docs/
COPY workers workers/
COPY src src/

# docs/adr/0012-gather-under-load.md explains MALLOC_ARENA_MAX and GLIBC_TUNABLES.
ENV RINGFENCE_HOST=0.0.0.0 RINGFENCE_DATA=/data MALLOC_ARENA_MAX=2 GLIBC_TUNABLES=glibc.malloc.hugetlb=1
VOLUME /data
EXPOSE 8080
# This is the user `node` of the image, by its number, so that Kubernetes sees that it is not root.
USER 1000:1000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.RINGFENCE_PORT || 8080) + '/healthz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tini", "--", "node", "--no-flush-bytecode", "--max-semi-space-size=32", "--no-allocation-site-pretenuring", "--max-inlined-bytecode-size=920", "--max-inlined-bytecode-size-cumulative=3680", "src/main.ts"]
