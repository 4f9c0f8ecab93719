// Examines the machine for `sluice doctor`: the disk, and the ports.

import { once } from 'node:events';
import { createServer } from 'node:net';
import { resolve } from 'node:path';
import { type Check, faulty, sound } from '../../contract/store-fault.ts';
import { callOut } from '../../flow/outgoing-call.ts';
import { portFault } from '../../http/transport/port-fault.ts';
import { type ListenAddress, reachableHost } from '../../settings/settings.ts';
import { readDiskSpace } from '../assemble/data-directory.ts';

const MEBIBYTE = 1024 * 1024;
/** Free space that an embedded database, snapshots and journals need for their next hours. */
const FREE_BYTES_MIN = 256 * MEBIBYTE;
const FREE_SHARE_MIN = 0.05;
/** Free space that is enough on a disk of any size. */
const FREE_BYTES_ENOUGH = 10 * 1024 * MEBIBYTE;
/** Longest wait for an answer of the program that uses the port. */
const ANSWER_MS_MAX = 1000;
const ANSWER_BYTES_MAX = 64 * 1024;

/** Examines the disk of `DATA_DIR`, at this directory or, before the first start, its nearest parent. */
export function examineDisk(directory: string): Check {
  const { free, size } = readDiskSpace(directory);
  if (Number.isNaN(free)) return sound('disk', 'of DATA_DIR: its space is not told');
  const told = `${Math.floor(free / MEBIBYTE)} MB of ${Math.floor(size / MEBIBYTE)} MB are free`;
  return isTight(free, size)
    ? faulty('disk', `${told} where ${resolve(directory)} is: make room`)
    : sound('disk', `${told} for DATA_DIR`);
}

/** Returns whether a disk of `size` bytes, of which `free` are free, is nearly full. */
export function isTight(free: number, size: number): boolean {
  return free < FREE_BYTES_MIN || (free < FREE_BYTES_ENOUGH && free < size * FREE_SHARE_MIN);
}

/** Examines whether the service could listen. `variable` names the setting. */
export async function examinePort(variable: string, { host, port }: ListenAddress): Promise<Check> {
  const name = variable === 'PORT' ? 'port' : 'admin-port';
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
    server.close();
    return sound(name, `${host}:${port} is free`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') {
      return faulty(name, `${variable}: ${portFault(host, port, error)}`);
    }
    return (await isServiceAt(host, port))
      ? sound(name, `${host}:${port} is in use by a running service`)
      : faulty(name, `${variable}: ${host}:${port} is in use by another program: choose another`);
  }
}

async function isServiceAt(host: string, port: number): Promise<boolean> {
  try {
    const { status, body } = await callOut({
      ...{ url: `http://${reachableHost(host)}:${port}/healthz`, method: 'GET', headers: {} },
      ...{ timeoutMs: ANSWER_MS_MAX, answerBytesMax: ANSWER_BYTES_MAX },
    });
    return status === 200 && body.includes('"status"');
  } catch {
    return false;
  }
}
