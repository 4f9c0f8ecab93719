// Tests the OpenAPI document as others use it: by a client that a generator made of it, which publishes,
// steers and reads (docs/contract.md 26). That all answers are those of the document is seen by every test of
// a service (test/support/answer-check.ts).

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startOwnNode } from '../support/backend.ts';
import type { ServingNode } from '../support/node.ts';
import { createTenant, send, type Tenant } from '../support/tenant.ts';

type Outcome = { readonly step: string; readonly status: number; readonly data: unknown };

const run = promisify(execFile);
const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));

/** Program of a publisher with the generated client, which compiles only if the types are right. */
const PROGRAM = `
import { defaults } from './client.ts';
import * as sluice from './client.ts';

const [baseUrl = '', key = '', app = ''] = process.argv.slice(2);
defaults.baseUrl = baseUrl;
defaults.headers = { Authorization: 'Bearer ' + key };
const release: sluice.NewRelease = {
  app, channel: 'stable', version: '1.0.0', rollout: 50, notes: 'First.',
  artifacts: [{ platform: 'linux', arch: 'x86_64', url: 'https://dl.example.com/notes.AppImage' }],
};
const outcomes: { step: string; status: number; data: unknown }[] = [];
async function note(step: string, answer: Promise<{ status: number; data?: unknown }>) {
  const { status, data } = await answer;
  outcomes.push({ step, status, data });
}
const rehearsed = await sluice.publishRelease(release, { dryRun: 'true' });
if (rehearsed.status === 200) {
  const effect: number = rehearsed.data.effect.devices;
  outcomes.push({ step: 'rehearse', status: rehearsed.status, data: effect });
}
await note('publish', sluice.publishRelease(release, { idempotencyKey: 'build-1' }));
await note('again', sluice.publishRelease(release, { idempotencyKey: 'build-1' }));
await note('taken', sluice.publishRelease(release));
await note('wrong', sluice.publishRelease({ ...release, version: 'one' }));
await note('steer', sluice.controlServing({ app, channel: 'stable', version: '1.0.0', rollout: 100 }));
await note('promote', sluice.promoteRelease({ app, version: '1.0.0', 'from': 'stable', to: 'beta' }));
const page = await sluice.listReleases({ app, channel: 'stable' });
if (page.status === 200) {
  const [first] = page.data.releases;
  outcomes.push({ step: 'list', status: 200, data: first?.version });
  await note('read', sluice.readRelease(first?.id ?? ''));
}
await note('channels', sluice.listChannels(app));
await note('device', sluice.readDevice('kiosk-1', app));
await note('explain', sluice.explainDecision(app, { deviceId: 'kiosk-1' }));
await note('offer', sluice.checkForUpdate(app, 'stable', 'linux', 'x86_64', '0.9.0'));
await note('withdraw', sluice.withdrawRelease({ app, channel: 'beta', version: '1.0.0' }));
await note('notes', sluice.readReleaseNotes(app, 'stable'));
console.log(JSON.stringify(outcomes));
`;

describe('a client generated from the OpenAPI document', () => {
  let node: ServingNode;
  let folder: string;
  let tenant: Tenant;
  let outcomes: readonly Outcome[];

  beforeAll(async () => {
    node = await startOwnNode();
    tenant = await createTenant(node);
    const device = { deviceId: 'kiosk-1', version: '0.9.0', platform: 'linux', arch: 'x86_64' };
    await tenant.report([device]);
    folder = mkdtempSync(join(tmpdir(), 'sluice-client-'));
    symlinkSync(MODULES, join(folder, 'node_modules'));
    const { text } = await send(node, 'GET', '/api/v1/openapi.json');
    writeFileSync(join(folder, 'openapi.json'), text);
    writeFileSync(join(folder, 'program.ts'), PROGRAM);
    const bin = (name: string) => join(MODULES, '.bin', name);
    await run(bin('oazapfts'), ['openapi.json', 'client.ts'], { cwd: folder });
    const compiler = ['--strict', '--noEmit', '--target', 'es2024', '--module', 'nodenext'];
    const rest = ['--allowImportingTsExtensions', '--types', 'node', '--skipLibCheck'];
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    await run(bin('tsc'), [...compiler, ...rest, 'program.ts'], { cwd: folder });
    const args = ['program.ts', node.url, tenant.secret, tenant.app];
    const { stdout } = await run(bin('tsx'), args, { cwd: folder });
    outcomes = JSON.parse(stdout) as Outcome[];
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await node.dispose();
  });

  it('publishes once, steers and reads', () => {
    const of = (name: string) => outcomes.find(({ step }) => step === name);
    const taken = 'Version already exists on this app and channel';
    for (const [step, status, data] of [
      ['rehearse', 200, 1],
      ['publish', 201, { release: { version: '1.0.0' } }],
      ['again', 201, of('publish')?.data],
      ['taken', 409, { error: taken }],
      ['wrong', 400, { error: 'version: Invalid version' }],
      ['steer', 200, { release: { rolloutPct: 100 } }],
      ['promote', 201, { release: { channel: 'beta' } }],
      ['list', 200, '1.0.0'],
      ['read', 200, { release: { notes: 'First.' } }],
      ['channels', 200, { channels: [{ name: 'beta' }, { name: 'stable' }] }],
      ['device', 200, { device: { deviceId: 'kiosk-1' } }],
      ['explain', 200, { decision: { reason: 'offered' } }],
      ['offer', 200, { version: '1.0.0' }],
      ['withdraw', 200, { release: { channel: 'beta' } }],
      ['notes', 200, { releases: [{ version: '1.0.0' }] }],
    ] as const) {
      expect(of(step)).toMatchObject({ step, status, data });
    }
  });
});
