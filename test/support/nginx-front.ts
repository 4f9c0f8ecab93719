// Runs deploy/nginx.conf and deploy/nginx-cache.conf in nginx itself, with loopback addresses and a
// certificate of their own.

import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readDocument, sectionOf } from '../docs/document.ts';
import { type Front, type NodeAddresses, replaceAddresses } from './compose-front.ts';
import { findBinary } from './find-binary.ts';
import { freePort } from './free-port.ts';
import { startProcess, waitUntilUp } from './server-process.ts';

const CONFIG_FILE = new URL('../../deploy/nginx.conf', import.meta.url);
const CACHE_CONFIG_FILE = new URL('../../deploy/nginx-cache.conf', import.meta.url);

export function findNginx(): string | undefined {
  return findBinary('nginx', ['/usr/sbin']);
}

/** The program that makes the certificate. */
export function findOpenssl(): string | undefined {
  return findBinary('openssl');
}

/** Starts nginx in front of two nodes. */
export async function startNginxFront(
  nodes: readonly [NodeAddresses, NodeAddresses],
): Promise<Front> {
  const [binary, openssl] = [findNginx(), findOpenssl()];
  if (binary === undefined || openssl === undefined)
    throw new Error('No nginx or no openssl found');
  const [port, adminPort] = [await freePort(), await freePort()];
  const folder = await mkdtemp(join(tmpdir(), 'sluice-nginx-'));
  makeCertificate(openssl, folder);
  const addresses = {
    'listen 443 ': `listen 127.0.0.1:${port} `,
    'listen 8443 ': `listen 127.0.0.1:${adminPort} `,
    'server 127.0.0.1:8080 ': `server ${nodes[0].service} `,
    'server 127.0.0.1:8081 ': `server ${nodes[1].service} `,
    'server 127.0.0.1:9090 ': `server ${nodes[0].admin} `,
    'server 127.0.0.1:9091 ': `server ${nodes[1].admin} `,
    '/etc/ssl/sluice/updates.pem': join(folder, 'cert.pem'),
    '/etc/ssl/sluice/updates.key': join(folder, 'cert.key'),
    '/etc/ssl/sluice/admin.pem': join(folder, 'cert.pem'),
    '/etc/ssl/sluice/admin.key': join(folder, 'cert.key'),
  };
  await includeConfig(folder, CONFIG_FILE, addresses);
  return {
    url: `https://127.0.0.1:${port}`,
    adminUrl: `https://127.0.0.1:${adminPort}`,
    ...(await startIn(binary, folder, port)),
  };
}

export type CacheFront = { readonly url: string; output(): string; stop(): Promise<void> };

/** Starts nginx with deploy/nginx-cache.conf in front of one origin, `host:port`. */
export async function startNginxCache(origin: string): Promise<CacheFront> {
  const [binary, openssl] = [findNginx(), findOpenssl()];
  if (binary === undefined || openssl === undefined)
    throw new Error('No nginx or no openssl found');
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'sluice-nginx-cache-'));
  makeCertificate(openssl, folder);
  await includeConfig(folder, CACHE_CONFIG_FILE, {
    // Load is not to be TLS handshakes.
    'listen 443 ssl': `listen 127.0.0.1:${port}`,
    'server 127.0.0.1:8080 ': `server ${origin} `,
    'server 127.0.0.1:8081 ': `server ${origin} backup `,
    '/var/cache/nginx-sluice': join(folder, 'cache'),
    '/etc/ssl/sluice/updates.pem': join(folder, 'cert.pem'),
    '/etc/ssl/sluice/updates.key': join(folder, 'cert.key'),
  });
  return { url: `http://127.0.0.1:${port}`, ...(await startIn(binary, folder, port)) };
}

/** Starts nginx with the part `Below a path` of docs/operating/proxy.md in front of one node, `host:port`. */
export async function startNginxBelowPath(node: string, port: number): Promise<CacheFront> {
  const binary = findNginx();
  if (binary === undefined) throw new Error('No nginx found');
  const folder = await mkdtemp(join(tmpdir(), 'sluice-nginx-path-'));
  const part = sectionOf(readDocument('docs/operating/proxy.md'), 'Below a path');
  const [map, location] = Array.from(
    part.matchAll(/^```nginx\n(.*?)^```$/gms),
    ([, block]) => block,
  );
  const server = `server {\n  listen 127.0.0.1:${port};\n${location}}\n`;
  await writeFile(
    join(folder, 'sluice.conf'),
    `upstream sluice { server ${node}; }\n${map}${server}`,
  );
  await writeFile(join(folder, 'nginx.conf'), mainConfig(folder));
  return { url: `http://127.0.0.1:${port}`, ...(await startIn(binary, folder, port)) };
}

/** Writes a configuration of deploy/ with other addresses, and one of nginx that includes it. */
async function includeConfig(
  folder: string,
  file: URL,
  addresses: Readonly<Record<string, string>>,
): Promise<void> {
  const config = await readFile(file, 'utf8');
  for (const address of Object.keys(addresses)) {
    if (!config.includes(address)) throw new Error(`${file.pathname} has no \`${address}\``);
  }
  await writeFile(join(folder, 'sluice.conf'), replaceAddresses(config, addresses));
  await writeFile(join(folder, 'nginx.conf'), mainConfig(folder));
}

/** Starts nginx with the configuration of a folder, which `stop` removes. */
async function startIn(
  binary: string,
  folder: string,
  port: number,
): Promise<Pick<CacheFront, 'output' | 'stop'>> {
  const args = ['-p', folder, '-e', 'stderr', '-c', join(folder, 'nginx.conf')];
  const server = await startProcess(binary, args);
  await waitUntilUp(server, () => isOpen(port));
  return {
    output: () => server.output(),
    async stop() {
      await server.end('SIGTERM');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Configuration that includes that of the service, as the packages of nginx have one. */
function mainConfig(folder: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `  ${name}_temp_path ${folder}/${name};\n`,
  );
  return `daemon off;
master_process off;
pid ${folder}/nginx.pid;
events { worker_connections 512; }
http {
  access_log off;
${temporary.join('')}  include ${folder}/sluice.conf;
}
`;
}

/** Makes `cert.pem` and `cert.key` in a folder, for localhost as well. */
export function makeCertificate(openssl: string, folder: string): void {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const files = ['-keyout', join(folder, 'cert.key'), '-out', join(folder, 'cert.pem')];
  const names = ['-subj', '/CN=updates.example.com', '-addext', 'subjectAltName=DNS:localhost'];
  const args = ['req', '-x509', ...key, ...files, '-days', '2', ...names];
  execFileSync(openssl, args, { stdio: 'pipe' });
}

/** Tells whether something listens on this loopback port. */
export function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
