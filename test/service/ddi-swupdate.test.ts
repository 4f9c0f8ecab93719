// Runs SWUpdate, unmodified, against a node (docs/contract.md 34): it tells what it is, installs a signed
// image, and is left alone; a wrong checksum fails once; what is paused is broken off while it comes in.

import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { DdiDevice } from '../support/ddi-device.ts';
import { eventually } from '../support/eventually.ts';
import { removeFolder, temporaryFolder } from '../support/server-process.ts';
import { sharedNode, testTenant } from '../support/service-suite.ts';
import {
  artifactOf,
  buildImage,
  installedAt,
  makeKey,
  missingProgram,
  type Swupdate,
  type SwupdateOptions,
  serveFiles,
  startSwupdate,
} from '../support/swupdate.ts';
import { type Json, randomId, send } from '../support/tenant.ts';

const isSkipped = missingProgram !== undefined && process.env.SLUICE_REQUIRE_REAL !== '1';
const why = isSkipped ? ` (skipped: no ${missingProgram})` : '';
const WAIT = 90_000;
/** A file of which the download takes longer than two polls. */
const SLOW_LENGTH = 100_000;

describe.skipIf(isSkipped)(`SWUpdate${why}`, () => {
  const node = sharedNode();
  const tenant = testTenant(node);
  const running: Swupdate[] = [];
  let folder: string;
  let files: Awaited<ReturnType<typeof serveFiles>>;

  beforeAll(async () => {
    folder = temporaryFolder('sluice-swupdate-');
    makeKey(folder);
    files = await serveFiles();
  });
  afterEach(() => Promise.all(running.splice(0).map((each) => each.stop())));
  afterAll(async () => {
    await files.close();
    removeFolder(folder);
  });

  async function turnOn(settings: Json = {}): Promise<void> {
    await tenant.openDdi({ pollSeconds: 10, ...settings });
  }

  /** Publishes an image that writes its version to a file; returns the file's path. */
  async function publish(version: string, options: { isSlow?: boolean; sha1?: string } = {}) {
    const target = join(folder, `installed-${randomId()}`);
    const content = `release ${version}`.padEnd(options.isSlow ? SLOW_LENGTH : 0);
    const image = buildImage(folder, version, content, target);
    const path = `/${tenant.app}/gateway-${version}.swu`;
    files.put(path, image, options.isSlow);
    const { sha1 } = options;
    const artifact = { ...artifactOf(files.url + path, image), ...(sha1 && { sha1 }) };
    await tenant.release(version, { artifacts: [artifact] });
    return target;
  }

  function start(id: string, version: string, more: Partial<SwupdateOptions> = {}): Swupdate {
    const place = { folder, url: node.url, app: tenant.app, channel: 'stable' };
    const attributes = { version, ring: 'inner' };
    const started = startSwupdate({ ...place, id, attributes, ...more });
    running.push(started);
    return started;
  }

  const versionOf = async (id: string) =>
    (await tenant.devices()).find(({ deviceId }) => deviceId === id)?.version;

  it('tells its attributes, installs the release, confirms it after the restart, and is left alone', async () => {
    await turnOn();
    const target = await publish('2.0.0');
    const id = `gw-${randomId()}`;
    const before = start(id, '1.0.0');
    await eventually('it has installed', async () => installedAt(target) === 'release 2.0.0', WAIT);
    const [device] = (await tenant.devices()).filter(({ deviceId }) => deviceId === id);
    expect(device).toMatchObject({ client: 'ddi', platform: 'linux', labels: { ring: 'inner' } });
    await before.stop();
    start(id, '2.0.0', { confirm: '2' });
    await eventually('it runs the release', async () => (await versionOf(id)) === '2.0.0', WAIT);
    expect((await new DdiDevice(node, tenant.app, id).poll()).deployment).toBeUndefined();
  }, 200_000);

  it('fails once where the checksum is wrong, which is counted', async () => {
    await turnOn({ retries: 0 });
    const id = `gw-${randomId()}`;
    start(id, '1.0.0');
    await tenant.untilRecorded(id);
    await publish('2.0.0', { sha1: 'a'.repeat(40) });
    await eventually(
      'the failure is counted',
      async () => {
        const { text } = await send(node, 'GET', '/metrics');
        return new RegExp(`^sluice_app_failures_total\\{app="${tenant.app}".*\\} 1$`, 'm').test(
          text,
        );
      },
      WAIT,
    );
    const { deployment } = await new DdiDevice(node, tenant.app, id).poll();
    expect(deployment).toBeUndefined();
  }, 200_000);

  it('breaks a download off once the release is paused, and is offered it once it goes on', async () => {
    await turnOn();
    const target = await publish('2.0.0', { isSlow: true });
    const id = `gw-${randomId()}`;
    start(id, '1.0.0');
    await eventually('it downloads', () => files.counts.begun > 0, WAIT);
    await tenant.serve('2.0.0', { status: 'paused' });
    await eventually('it breaks off', () => files.counts.brokenOff > 0, WAIT);
    expect(installedAt(target)).toBeUndefined();
    await tenant.serve('2.0.0', { status: 'published' });
    const device = new DdiDevice(node, tenant.app, id);
    await eventually('it is offered again', async () => {
      const { status, text } = await device.ask('GET');
      return status === 200 && text.includes('deploymentBase');
    });
  }, 200_000);
});
