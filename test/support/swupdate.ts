// Runs SWUpdate itself, as Debian packs it, against a service: its daemon polls by DDI and installs files
// that a server on the loopback interface has, at whatever pace a test wants.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findBinary } from './find-binary.ts';
import { loopbackServer } from './loopback-server.ts';

const PROGRAMS = ['bash', 'openssl', 'cpio', 'swupdate'] as const;
/** The first program that a test of SWUpdate lacks; undefined if all are there. */
export const missingProgram = PROGRAMS.find((name) => findBinary(name) === undefined);

const BUILD = fileURLToPath(new URL('../../examples/swupdate/build.sh', import.meta.url));
const REQUEST = [
  ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=Updates'],
  ...[
    '-addext',
    'extendedKeyUsage=emailProtection',
    '-keyout',
    'key.pem',
    '-out',
    'certificate.pem',
  ],
];

/** Makes the key and the certificate that images are signed with, in a folder of the test. */
export function makeKey(folder: string): void {
  execFileSync('openssl', REQUEST, { cwd: folder, stdio: 'pipe' });
}

/** Builds a signed image that installs `content` at a path; returns its bytes. */
export function buildImage(folder: string, version: string, content: string, path: string): Buffer {
  writeFileSync(join(folder, 'gateway.bin'), content);
  const env = { ...process.env, CERTIFICATE: 'certificate.pem', KEY: 'key.pem' };
  const args = [BUILD, version, 'gateway.bin', path];
  execFileSync('bash', args, { cwd: folder, env: absolute(env, folder), stdio: 'pipe' });
  return readFileSync(join(folder, `gateway-${version}.swu`));
}

/** Returns what a release has of an image at an address. */
export function artifactOf(url: string, image: Buffer) {
  const of = (name: string) => createHash(name).update(image).digest('hex');
  const sums = { sha1: of('sha1'), sha256: of('sha256') };
  return { platform: 'linux', url, size: image.length, ...sums };
}

function absolute(env: NodeJS.ProcessEnv, folder: string): NodeJS.ProcessEnv {
  const of = (name: string) => join(folder, env[name] ?? '');
  return { ...env, CERTIFICATE: of('CERTIFICATE'), KEY: of('KEY') };
}

/** Bytes that a slow file gives at a time, and milliseconds between them: SWUpdate looks up with each. */
const DRIP = { bytes: 200, everyMs: 100 } as const;

/** A server of files; a slow one comes in drips. */
export async function serveFiles() {
  const files = new Map<string, { readonly bytes: Buffer; readonly isSlow: boolean }>();
  const counts = { begun: 0, brokenOff: 0 };
  const fetches = new Map<string, number>();
  const server = await loopbackServer(({ method, url = '' }, response) => {
    const file = files.get(url);
    if (file === undefined) return void response.writeHead(404).end();
    const { bytes, isSlow } = file;
    response.writeHead(200, { 'content-length': bytes.length });
    // SWUpdate asks for the length first.
    if (method === 'HEAD') return void response.end();
    fetches.set(url, (fetches.get(url) ?? 0) + 1);
    if (!isSlow) return void response.end(bytes);
    counts.begun += 1;
    drip(response, bytes, () => {
      counts.brokenOff += 1;
    });
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    put(path: string, bytes: Buffer, isSlow = false) {
      files.set(path, { bytes, isSlow });
    },
    /** Numbers of slow downloads that were begun, and that the client broke off. */
    counts,
    /** Returns how often a file was fetched. */
    fetches: (path: string) => fetches.get(path) ?? 0,
    close: server.close,
  };
}

function drip(response: ServerResponse, bytes: Buffer, onBrokenOff: () => void): void {
  let at = 0;
  const timer = setInterval(() => {
    response.write(bytes.subarray(at, at + DRIP.bytes));
    at += DRIP.bytes;
    if (at < bytes.length) return;
    clearInterval(timer);
    response.end();
  }, DRIP.everyMs);
  response.on('close', () => {
    clearInterval(timer);
    if (!response.writableEnded) onBrokenOff();
  });
}

export type Confirmation = '1' | '2' | '3';

export type SwupdateOptions = {
  /** Folder of the test, with the certificate. */
  readonly folder: string;
  readonly url: string;
  readonly app: string;
  readonly channel: string;
  readonly id: string;
  /** Attributes of its section `identify`. */
  readonly attributes: Readonly<Record<string, string>>;
  /** What it confirms after a restart: 1 that the test is to come, 2 a success, 3 a failure. */
  readonly confirm?: Confirmation | undefined;
  /** Further options of its DDI client. */
  readonly more?: readonly string[];
};

export type Swupdate = { readonly output: () => string; stop(): Promise<void> };

/**
 * Starts the daemon. It has its sockets in a folder of its own, so that several run side by side, but for one
 * whose names are the machine's: an eleventh daemon or so ends at once, and is started until one is free.
 */
export function startSwupdate(options: SwupdateOptions): Swupdate {
  const { folder, url, app, channel, id, attributes, confirm, more = [] } = options;
  const own = join(folder, id);
  mkdirSync(join(own, 'tmp'), { recursive: true });
  const entries = Object.entries(attributes).map(
    ([name, value]) => `{ name = "${name}"; value = "${value}"; }`,
  );
  const config = join(own, 'swupdate.cfg');
  writeFileSync(config, `globals : {\n};\nidentify : (\n  ${entries.join(',\n  ')}\n);\n`);
  const client = [
    ...['-t', channel, '-u', `${url}/ddi/${app}`, '-i', id],
    ...(confirm === undefined ? [] : ['-c', confirm]),
    ...more,
  ];
  const args = [
    ...['-v', '-f', config, '-k', join(folder, 'certificate.pem'), '-H', 'gateway:1.0'],
    ...['-p', '/bin/true', '-u', client.join(' ')],
  ];
  const env = { ...process.env, TMPDIR: join(own, 'tmp') };
  let text = '';
  let isStopped = false;
  let child: ChildProcess;
  const launch = () => {
    if (isStopped) return;
    text = '';
    const begun = spawn('swupdate', args, {
      ...{ cwd: own, env, detached: true },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [begun.stdout, begun.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        text = (text + chunk).slice(-100_000);
      });
    }
    begun.on('close', () => {
      if (text.includes(NO_FREE_NAME)) setTimeout(launch, LAUNCH_AGAIN_MS);
    });
    child = begun;
  };
  launch();
  return {
    output: () => text,
    async stop() {
      isStopped = true;
      await stop(child);
    },
  };
}

const NO_FREE_NAME = 'binding notifier socket: Address already in use';
const LAUNCH_AGAIN_MS = 500;

/** Ends the daemon with the processes that it has forked. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const ended = once(child, 'exit');
  process.kill(-child.pid, 'SIGKILL');
  await ended;
}

/** Returns what a device has installed at a path; undefined if nothing. */
export function installedAt(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}
