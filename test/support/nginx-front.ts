// Runs deploy/nginx.conf and deploy/nginx-cache.conf in nginx itself, with loopback addresses and a
// certificate of their own.

import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { readDocument, sectionOf } from '../docs/document.ts';
import { configWith, type Front, type NodeAddresses, startFront } from './compose-front.ts';
import { findBinary } from './find-binary.ts';
import { freePort } from './free-port.ts';
import { temporaryFolder } from './server-process.ts';

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
  const [port, adminPort] = [await freePort(), await freePort()];
  const running = await startIn(port, async (folder) =>
    configWith(
      {
        'listen 443 ': `listen 127.0.0.1:${port} `,
        'listen 8443 ': `listen 127.0.0.1:${adminPort} `,
        'server 127.0.0.1:8080 ': `server ${nodes[0].service} `,
        'server 127.0.0.1:8081 ': `server ${nodes[1].service} `,
        'server 127.0.0.1:9090 ': `server ${nodes[0].admin} `,
        'server 127.0.0.1:9091 ': `server ${nodes[1].admin} `,
        ...certificateIn(folder, 'updates'),
        ...certificateIn(folder, 'admin'),
      },
      await readFile(CONFIG_FILE, 'utf8'),
    ),
  );
  const [url, adminUrl] = [`https://127.0.0.1:${port}`, `https://127.0.0.1:${adminPort}`];
  return { url, adminUrl, ...running };
}

export type CacheFront = Omit<Front, 'adminUrl'>;

/** Starts nginx with deploy/nginx-cache.conf in front of one origin, `host:port`. */
export async function startNginxCache(origin: string): Promise<CacheFront> {
  const port = await freePort();
  const running = await startIn(port, async (folder) =>
    configWith(
      {
        // Load is not to be TLS handshakes.
        'listen 443 ssl': `listen 127.0.0.1:${port}`,
        'server 127.0.0.1:8080 ': `server ${origin} `,
        'server 127.0.0.1:8081 ': `server ${origin} backup `,
        '/var/cache/nginx-sluice': join(folder, 'cache'),
        ...certificateIn(folder, 'updates'),
      },
      await readFile(CACHE_CONFIG_FILE, 'utf8'),
    ),
  );
  return { url: `http://127.0.0.1:${port}`, ...running };
}

/** Starts nginx with the part `Below a path` of docs/operating/proxy.md in front of one node, `host:port`. */
export async function startNginxBelowPath(node: string, port: number): Promise<CacheFront> {
  const part = sectionOf(readDocument('docs/operating/proxy.md'), 'Below a path');
  const [map, location] = Array.from(
    part.matchAll(/^```nginx\n(.*?)^```$/gms),
    ([, block]) => block,
  );
  const server = `server {\n  listen 127.0.0.1:${port};\n${location}}\n`;
  const config = `upstream sluice { server ${node}; }\n${map}${server}`;
  return { url: `http://127.0.0.1:${port}`, ...(await startIn(port, async () => config)) };
}

/** Makes a certificate, and returns where it lies instead of one of the service's. */
function certificateIn(folder: string, name: string): Record<string, string> {
  makeCertificate(findOpenssl() ?? 'openssl', folder);
  return {
    [`/etc/ssl/sluice/${name}.pem`]: join(folder, 'cert.pem'),
    [`/etc/ssl/sluice/${name}.key`]: join(folder, 'cert.key'),
  };
}

/** Starts nginx, which listens on this port, with a configuration that may name files of its folder. */
async function startIn(port: number, configOf: (folder: string) => Promise<string>) {
  const folder = temporaryFolder('sluice-nginx-');
  await writeFile(join(folder, 'sluice.conf'), await configOf(folder));
  await writeFile(join(folder, 'nginx.conf'), mainConfig(folder));
  const args = ['-p', folder, '-e', 'stderr', '-c', join(folder, 'nginx.conf')];
  return startFront(findNginx() ?? 'nginx', args, folder, () => isOpen(port));
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

/** Makes `cert.pem` and `cert.key` in a folder, also for another name. */
export function makeCertificate(openssl: string, folder: string, name = 'localhost'): void {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const files = ['-keyout', join(folder, 'cert.key'), '-out', join(folder, 'cert.pem')];
  const names = ['-subj', '/CN=updates.example.com', '-addext', `subjectAltName=DNS:${name}`];
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
