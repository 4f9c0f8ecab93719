// Tests what can be told of the image without Docker: its base, what it copies, and what it runs. The steps
// themselves are carried out by scripts/bare-machine.sh, in a root like the image's base.

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import semver from 'semver';
import { describe, expect, it } from 'vitest';

const ROOT = new URL('../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8');

const { version, engines, scripts } = JSON.parse(read('package.json')) as {
  version: string;
  engines: { node: string };
  scripts: Record<string, string>;
};
/** Instructions with their arguments, each on one line. */
const instructions = read('Dockerfile')
  .replace(/^#.*\n/gm, '')
  .replace(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => /^([A-Z]+) (.*)$/.exec(line)?.slice(1) ?? [line, '']);
const argumentsOf = (name: string) =>
  instructions.filter(([each]) => each === name).map(([, rest = '']) => rest);

/** ABI of each line of Node, by which binaries are named. */
const ABIS: Readonly<Record<string, number>> = { 20: 115, 22: 127, 24: 137, 26: 147 };

describe('the Dockerfile', () => {
  it('is built on a slim Debian, which has no compiler, with a Node that has the fast HTTP engine', () => {
    const images = argumentsOf('FROM').map((each) => each.split(' ')[0] ?? '');
    expect(images).toHaveLength(2);
    expect(new Set(images).size).toBe(1);
    const major = /^node:(\d+)-bookworm-slim$/.exec(images[0] ?? '')?.[1] ?? '';
    expect(semver.intersects(major, engines.node), images[0]).toBe(true);
    const binaries = readdirSync(new URL('node_modules/uWebSockets.js/dist/bin/', ROOT));
    expect(binaries).toContain(`uws_linux_x64_${ABIS[major]}.node`);
  });

  it('fails to build where the binary of that engine does not load, so that no image is slow', async () => {
    const load = argumentsOf('RUN').find((each) => each.includes('uWebSockets.js')) ?? '';
    const [, script = ''] = /^node -e "(.+)"$/.exec(load) ?? [];
    const run = (folder: URL) => spawnSync(process.execPath, ['-e', script], { cwd: folder });
    // A folder without the package stands for a Node without its binary: both fail to load.
    expect(run(new URL('file:///')).status).not.toBe(0);
    const engine = await import('uWebSockets.js').catch(() => undefined);
    expect(run(ROOT).status === 0).toBe(engine !== undefined);
  });

  it('installs nothing but the packages of the lockfile', () => {
    expect(argumentsOf('RUN')).toEqual([
      'npm ci',
      `node -e "import('uWebSockets.js')"`,
      'npm run build && npm prune --omit=dev',
      'mkdir /data && chown node:node /data',
    ]);
  });

  it('copies what there is, and what .dockerignore lets through', () => {
    const copied = argumentsOf('COPY')
      .filter((each) => !each.startsWith('--from='))
      .flatMap((each) => each.split(' ').slice(0, -1));
    const passed = [...read('.dockerignore').matchAll(/^!(.*)$/gm)].map(([, path]) => path);
    expect(copied.length).toBeGreaterThan(5);
    expect(copied.filter((path) => !existsSync(new URL(path, ROOT)))).toEqual([]);
    expect(new Set(copied)).toEqual(new Set(passed));
  });

  it('names the version, and the commit that the build is told', () => {
    const labels = argumentsOf('LABEL').join(' ');
    expect(labels).toContain(`org.opencontainers.image.version=${version} `);
    expect(labels).toContain('org.opencontainers.image.revision=$SLUICE_COMMIT ');
    const named = 'SLUICE_COMMIT';
    expect(argumentsOf('ARG')).toEqual([`${named}=unknown`, named, named]);
  });

  it('starts the service as npm start does, but Node itself, which gets the signals', () => {
    const command = JSON.parse(argumentsOf('CMD')[0] ?? '[]') as string[];
    expect(command.join(' ')).toBe(scripts.start);
  });
});
