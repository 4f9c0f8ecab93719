// Runs a server program under the tests' control: started, killed, frozen. Programs that a test forgets, or
// cannot end because it crashed, end with the process that started them.

import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type ServerProcess = {
  readonly pid: number;
  readonly child: ChildProcess;
  /** Exit code of the program, once it has ended; null when a signal has ended it. */
  readonly exitCode: Promise<number | null>;
  /** Returns the program's output so far. */
  output(): string;
  hasExited(): boolean;
  /** Sends a signal and waits for the end of the program. A frozen one is thawed for it. */
  end(signal: 'SIGTERM' | 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void>;
};

/** Server of a store, which a test may end and freeze. */
export type StoreServer = {
  readonly url: string;
  readonly port: number;
  /** Ends the server and removes its folder. */
  stop(): Promise<void>;
  /** Ends every process of the server without a farewell (SIGKILL); its folder stays for `restart`. */
  kill(): Promise<void>;
  /** Freezes every process of the server: connections stay open, nothing is answered (SIGSTOP). */
  pause(): void;
  resume(): void;
  /** Ends the server if it runs and starts it on the same port, with what its folder holds. */
  restart(): Promise<void>;
};

const OUTPUT_LENGTH_MAX = 1_000_000;
const START_TIMEOUT_MS = 120_000;
const END_TIMEOUT_MS = 30_000;
/** Milliseconds to end by themselves; the test runner kills its workers after 500. */
const EXIT_GRACE_MS = 150;
const POLL_INTERVAL_MS = 20;
const running = new Set<ChildProcess>();

const folders = new Set<string>();

process.once('exit', endAll);
// The test runner ends a worker, and a terminal or its user a run, by these signals. `process.exit` throws in
// a worker, so that there would be no `exit` event.
for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT'] as const) {
  process.once(signal, () => {
    endAll();
    process.kill(process.pid, 'SIGKILL');
  });
}

/**
 * Ends the programs and removes all folders. Synchronous, because the process exits afterwards.
 */
function endAll(): void {
  if (running.size > 0) {
    for (const child of running) {
      // Both Redis and PostgreSQL end soon and tidily on this signal, with or without clients.
      child.kill('SIGINT');
      child.kill('SIGCONT');
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, EXIT_GRACE_MS);
    for (const child of running) child.kill('SIGKILL');
  }
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}

/** Throws in the part of the tests that everyone can run without servers and without a build. */
export function refuseInUnitTests(): void {
  if (process.env.SLUICE_TEST_PART !== 'unit') return;
  throw new Error(
    'A unit test starts no server: vitest.config.ts names the folders of tests that do',
  );
}

/** Creates a folder for a server. `removeFolder` removes it, and the end of this process. */
export function temporaryFolder(prefix: string, parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, prefix));
  folders.add(folder);
  return folder;
}

/** Linux' file system in memory, and the bytes that are free where it has room for the servers of a run. */
const IN_MEMORY = '/dev/shm';
const IN_MEMORY_BYTES_MIN = 4 * 2 ** 30;

/**
 * Returns where folders of data lie that need not outlive their server: in memory if there is room, for a
 * database has 400 files, which cost a disk more than what is in them.
 */
export function parentInMemory(): string {
  if (!existsSync(IN_MEMORY)) return tmpdir();
  const { bavail, bsize } = statfsSync(IN_MEMORY);
  return bavail * bsize < IN_MEMORY_BYTES_MIN ? tmpdir() : IN_MEMORY;
}

/**
 * Removes a folder. The end of this process does so again: a child of a program that was killed may have
 * written into it meanwhile.
 */
export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

let hasOwnSession = false;

/**
 * Makes later programs start in sessions of their own, as under a service manager: Linux shares processors
 * out by session, and benchmarks give sessions different priorities.
 */
export function useOwnSessions(): void {
  hasOwnSession = true;
}

/** Starts a program; rejects when it cannot be started at all. */
export async function startProcess(
  file: string,
  args: readonly string[],
  options: Pick<SpawnOptions, 'uid' | 'gid' | 'cwd' | 'env'> = {},
): Promise<ServerProcess> {
  refuseInUnitTests();
  const child = spawn(file, args, {
    ...options,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: hasOwnSession,
  });
  let output = '';
  const keep = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-OUTPUT_LENGTH_MAX);
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  const exitCode = new Promise<number | null>((resolve) => child.once('exit', resolve));
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  const hasExited = () => child.exitCode !== null || child.signalCode !== null;
  return {
    pid: child.pid ?? -1,
    child,
    exitCode,
    output: () => output,
    hasExited,
    async end(signal) {
      if (hasExited()) return;
      child.kill(signal);
      // SIGCONT comes after the signal, so that a frozen program does nothing more than receive the signal.
      child.kill('SIGCONT');
      const last = setTimeout(() => child.kill('SIGKILL'), END_TIMEOUT_MS);
      await exitCode;
      clearTimeout(last);
    },
  };
}

/**
 * Waits until `isUp` resolves with anything but false; rejects with the program's output when it ends first
 * or takes too long.
 */
export async function waitUntilUp(
  server: ServerProcess,
  isUp: () => Promise<unknown>,
  timeoutMs = START_TIMEOUT_MS,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while ((await isUp().catch(() => false)) === false) {
    if (server.hasExited()) throw new Error(`The server ended at start:\n${server.output()}`);
    if (Date.now() > deadline) {
      await server.end('SIGKILL');
      throw new Error(`The server did not start within ${timeoutMs} ms:\n${server.output()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS));
  }
}
