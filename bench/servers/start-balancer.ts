// Starts HAProxy in front of one server: TLS ends there, with a certificate that is made for the run.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findHaproxy } from '../../test/support/compose-front.ts';
import { freePort } from '../../test/support/free-port.ts';
import { findOpenssl, isOpen } from '../../test/support/nginx-front.ts';
import {
  removeFolder,
  startProcess,
  temporaryFolder,
  waitUntilUp,
} from '../../test/support/server-process.ts';

/** Rule of HAProxy for connections to the server that stand idle: who may use them. */
export type Reuse = 'safe' | 'always';

export type Balancer = {
  readonly port: number;
  readonly pid: number;
  /** Certificate (PEM) that clients must trust. */
  readonly certificate: string;
  end(): Promise<void>;
};

const START_TIMEOUT_MS = 10_000;

/** Returns the names of the programs that a balancer needs and that are not there. */
export function missingPrograms(): string[] {
  const programs = { haproxy: findHaproxy(), openssl: findOpenssl() };
  return Object.entries(programs).flatMap(([name, file]) => (file === undefined ? [name] : []));
}

/** Starts HAProxy in front of the server on this loopback port. */
export async function startBalancer(serverPort: number, reuse: Reuse): Promise<Balancer> {
  const [haproxy, openssl] = [findHaproxy(), findOpenssl()];
  if (haproxy === undefined || openssl === undefined) throw new Error('No haproxy or no openssl');
  const folder = temporaryFolder('sluice-balancer-');
  const certificate = makeCertificate(openssl, folder);
  const port = await freePort();
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(file, configuration(port, serverPort, join(folder, 'both.pem'), reuse));
  const server = await startProcess(haproxy, ['-db', '-f', file]);
  await waitUntilUp(server, () => isOpen(port), START_TIMEOUT_MS);
  return {
    port,
    pid: server.pid,
    certificate,
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

/** Makes a certificate of the loopback address; returns it, and leaves it beside its key in both.pem. */
function makeCertificate(openssl: string, folder: string): string {
  const [keyFile, file] = [join(folder, 'cert.key'), join(folder, 'cert.pem')];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const name = ['-subj', '/CN=sluice', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2'];
  const args = ['req', '-x509', ...key, '-keyout', keyFile, '-out', file, ...name];
  execFileSync(openssl, args, { stdio: 'pipe' });
  const certificate = readFileSync(file, 'utf8');
  writeFileSync(join(folder, 'both.pem'), certificate + readFileSync(keyFile, 'utf8'));
  return certificate;
}
