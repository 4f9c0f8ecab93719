// Starts HAProxy in front of one server: TLS ends there, with a certificate that is made for the run.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findHaproxy } from '../../test/support/compose-front.ts';
import { freePort } from '../../test/support/free-port.ts';
import { findOpenssl, isOpen, makeCertificate } from '../../test/support/nginx-front.ts';
import {
  removeFolder,
  startProcess,
  temporaryFolder,
  waitUntilUp,
} from '../../test/support/server-process.ts';
import { Refusal } from '../benchmark.ts';

export type Reuse = 'safe' | 'always';

const SERVER_NAME = 'updates.example.com';
const START_TIMEOUT_MS = 10_000;

/** Starts HAProxy in front of the server on this loopback port; `tls` is what clients must be told. */
export async function startBalancer(serverPort: number, reuse: Reuse) {
  const [haproxy, openssl] = [findHaproxy(), findOpenssl()];
  if (haproxy === undefined || openssl === undefined) throw new Refusal('no haproxy or no openssl');
  const folder = temporaryFolder('sluice-balancer-');
  makeCertificate(openssl, folder, SERVER_NAME);
  const [certificate, key] = ['cert.pem', 'cert.key'].map((file) =>
    readFileSync(join(folder, file), 'utf8'),
  );
  const pem = join(folder, 'both.pem');
  writeFileSync(pem, `${certificate}${key}`);
  const port = await freePort();
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(file, configuration(port, serverPort, pem, reuse));
  const server = await startProcess(haproxy, ['-db', '-f', file]);
  await waitUntilUp(server, () => isOpen(port), START_TIMEOUT_MS);
  return {
    port,
    pid: server.pid,
    tls: { isTls: true, certificate: certificate ?? '', serverName: SERVER_NAME },
    async end() {
      await server.end('SIGTERM');
      removeFolder(folder);
    },
  };
}

/** One thread, because everything but the measured server shares what processors are left. */
function configuration(port: number, serverPort: number, pem: string, reuse: Reuse): string {
  return `global
  nbthread 1
  tune.bufsize 69632
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 30s
  timeout http-request 10s
  option redispatch 1
  retries 2
  retry-on conn-failure empty-response
frontend front
  bind 127.0.0.1:${port} ssl crt ${pem}
  http-request set-header X-Forwarded-For %[src]
  default_backend nodes
backend nodes
  http-reuse ${reuse}
  server node 127.0.0.1:${serverPort}
`;
}
