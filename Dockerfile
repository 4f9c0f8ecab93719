# The service as an image. Node 22 on Debian, not on Alpine: the binary of uWebSockets.js, the faster of the two HTTP
# engines, is built for glibc (decision 0001).

# Commit that the image is built from: scripts/release.mjs fills it in, and there is no repository here to ask.
ARG SLUICE_COMMIT=unknown

FROM node:22-bookworm-slim AS build
ARG SLUICE_COMMIT
WORKDIR /app
# Dependencies first: a change to the sources alone does not fetch them again.
COPY package.json package-lock.json .npmrc ./
RUN npm ci
# An image without the fast engine is not made: the service would take the other one, and answer fewer checks.
RUN node -e "import('uWebSockets.js')"
COPY tsconfig.json LICENSE ./
COPY scripts/build.mjs ./scripts/build.mjs
COPY src ./src
RUN npm run build && npm prune --omit=dev

FROM node:22-bookworm-slim
ARG SLUICE_COMMIT
LABEL org.opencontainers.image.title=sluice org.opencontainers.image.version=0.3.0 \
  org.opencontainers.image.revision=$SLUICE_COMMIT org.opencontainers.image.licenses=Apache-2.0
WORKDIR /app
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
# A named volume takes over the owner of the directory it covers, so it must exist with the right one.
RUN mkdir /data && chown node:node /data

ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 DATA_DIR=/data
VOLUME /data
EXPOSE 8080
USER node
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 CMD ["node", "-e", \
  "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Node itself, not npm: npm would stand between the signal and the service.
# Room for short-lived objects: check-ins live for 50 ms, and should be gone before anybody moves them. And
# no collection of the whole heap after some quiet seconds: it would stop the first checks that come again.
CMD ["node", "--max-semi-space-size=32", "--no-memory-reducer", "dist/main.js"]
