// Tests that SWUpdate installs the image that the recipe below examples/swupdate builds, with the key and by
// the commands of docs/publishing.md.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findBinary } from '../support/find-binary.ts';
import { removeFolder, temporaryFolder } from '../support/server-process.ts';
import { readDocument, repositoryPath, sectionOf } from './document.ts';

const PROGRAMS = ['bash', 'openssl', 'cpio', 'swupdate'] as const;
const missing = PROGRAMS.find((name) => findBinary(name) === undefined);
const isSkipped = missing !== undefined && process.env.SLUICE_REQUIRE_REAL !== '1';
const SECTION = sectionOf(readDocument('docs/publishing.md'), 'Images for devices');

/** Returns the command of the section that begins so, with the lines that continue it and without `sudo`. */
function commandOf(beginning: string): string {
  const lines = SECTION.replaceAll('\nsudo ', '\n').replaceAll('\\\n', ' ').split('\n');
  const command = lines.find((line) => line.startsWith(beginning));
  if (command === undefined) throw new Error(`no command begins with ${beginning}`);
  return command;
}

describe.skipIf(isSkipped)(`SWUpdate${isSkipped ? ` (skipped: no ${missing})` : ''}`, () => {
  const folder = temporaryFolder('sluice-swupdate-');
  const target = join(folder, 'gateway.squashfs-of-the-device');

  /** Runs a command in the folder, which is also where SWUpdate has its sockets. */
  function run(command: string): string {
    const env = { ...process.env, TMPDIR: join(folder, 'tmp') };
    return execFileSync('bash', ['-ec', command], {
      cwd: folder,
      env,
      encoding: 'utf8',
      stdio: 'pipe',
    });
  }

  /** Installs the image; returns what SWUpdate says. It ends with 1 at times although it has installed. */
  function install(): string {
    return run(`${commandOf('swupdate')} 2>&1 || true`);
  }

  beforeAll(() => {
    mkdirSync(join(folder, 'tmp'));
    writeFileSync(join(folder, 'gateway.squashfs'), 'what the device runs & more');
    run(commandOf('openssl req'));
  });
  afterAll(() => removeFolder(folder));

  it('installs the image that the recipe builds', () => {
    const build = commandOf('CERTIFICATE=');
    run(
      build
        .replace('examples/', `${repositoryPath}/examples/`)
        .replace('/opt/gateway.squashfs', target),
    );
    expect(install()).toContain('SWUPDATE successful');
    expect(readFileSync(target, 'utf8')).toBe('what the device runs & more');
  });

  it('installs the same image made by hand', () => {
    run(`rm '${target}' && cpio --quiet -i sw-description < gateway-1.4.0.swu`);
    for (const beginning of ['openssl cms', 'printf']) run(commandOf(beginning));
    expect(install()).toContain('SWUPDATE successful');
    expect(readFileSync(target, 'utf8')).toBe('what the device runs & more');
  });

  it('installs none whose file is another than the one that was signed', () => {
    const image = readFileSync(join(folder, 'gateway-1.4.0.swu'), 'latin1');
    const other = image.replace('what the device runs', 'what the device rung');
    expect(other).not.toBe(image);
    writeFileSync(join(folder, 'gateway-1.4.0.swu'), other, 'latin1');
    rmSync(target);
    expect(install()).toContain('HASH mismatch');
    expect(existsSync(target)).toBe(false);
  });
});
