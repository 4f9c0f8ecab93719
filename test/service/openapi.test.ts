// Tests the OpenAPI document as others use it: as the service answers it, in the page for people, and by a
// client that a generator made of it, which publishes, steers and reads (docs/contract.md 26).

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openapiDocument } from '../../src/http/reference/openapi-document.ts';
import { version } from '../../src/node/version.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { createTenant, report, send, type Tenant } from '../support/tenant.ts';

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

serviceSuite('the OpenAPI document', (node) => {
  it('is answered to everybody, the same until the service changes (§26.1)', async () => {
    const answer = await send(node, 'GET', '/api/v1/openapi.json');
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual(JSON.parse(JSON.stringify(openapiDocument(version()))));
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    const etag = answer.headers.get('etag') ?? '';
    const headers = { 'if-none-match': etag };
    const again = await send(node, 'GET', '/api/v1/openapi.json', { headers });
    expect([again.status, again.text]).toEqual([304, '']);
    const post = await send(node, 'POST', '/api/v1/openapi.json');
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('tells which writes have a dry run; the others refuse one, and the console as well (§23.1)', async () => {
    const { body } = await send(node, 'GET', '/api/v1/openapi.json');
    const { paths } = body as { paths: Record<string, Record<string, { parameters?: unknown }>> };
    const writes = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([method]) => ['post', 'put', 'patch', 'delete'].includes(method))
        .map(([method, { parameters }]) => {
          const names = ((parameters ?? []) as { name: string }[]).map(({ name }) => name);
          return { method: method.toUpperCase(), path, hasDryRun: names.includes('dryRun') };
        }),
    );
    expect(writes.filter(({ hasDryRun }) => hasDryRun).length).toBe(4);
    const console = ['POST', 'PATCH', 'DELETE'].map((method) => ({
      ...{ method, path: '/console/api/releases', hasDryRun: false },
    }));
    for (const { method, path, hasDryRun } of [...writes, ...console]) {
      const address = path.replaceAll(/\{\w+\}/g, 'x');
      const { status, body: refused } = await send(node, method, `${address}?dryRun=true`);
      const isRefused = status === 400 && refused?.error === 'dryRun: Has no dry run';
      expect(isRefused, `${method} ${path}`).toBe(!hasDryRun);
    }
  });

  it('is shown to people by a page that loads nothing from elsewhere (§26.2)', async () => {
    const page = await send(node, 'GET', '/docs');
    expect([page.status, page.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=utf-8',
    ]);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe');
    const addresses = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, to]) => to ?? '');
    expect(addresses.length).toBeGreaterThan(3);
    for (const address of addresses) {
      expect(address).toMatch(/^\/(?!\/)/);
      const { status, headers } = await send(node, 'GET', address);
      expect([address, status]).toEqual([address, 200]);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    }
    expect((await send(node, 'GET', '/docs/assets/nothing.js')).status).toBe(404);
  });

  describe('a client generated from it', () => {
    let folder: string;
    let tenant: Tenant;
    let outcomes: readonly Outcome[];

    beforeAll(async () => {
      tenant = await createTenant(node);
      const device = { deviceId: 'kiosk-1', version: '0.9.0', platform: 'linux', arch: 'x86_64' };
      await report(node, tenant, [device]);
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
    afterAll(() => rmSync(folder, { recursive: true }));

    const of = (step: string) => outcomes.find((outcome) => outcome.step === step);

    it('publishes, once', () => {
      const published = of('publish');
      const taken = 'Version already exists on this app and channel';
      expect(of('rehearse')).toMatchObject({ status: 200, data: 1 });
      expect(published).toMatchObject({ status: 201, data: { release: { version: '1.0.0' } } });
      expect(of('again')).toMatchObject({ status: 201, data: published?.data });
      expect(of('taken')).toMatchObject({ status: 409, data: { error: taken } });
      expect(of('wrong')).toMatchObject({
        status: 400,
        data: { error: 'version: Invalid version' },
      });
    });

    it('steers', () => {
      expect(of('steer')).toMatchObject({ status: 200, data: { release: { rolloutPct: 100 } } });
      expect(of('promote')).toMatchObject({ status: 201, data: { release: { channel: 'beta' } } });
      expect(of('withdraw')).toMatchObject({ status: 200, data: { release: { channel: 'beta' } } });
    });

    it('reads', () => {
      expect(of('list')).toMatchObject({ status: 200, data: '1.0.0' });
      expect(of('read')).toMatchObject({ status: 200, data: { release: { notes: 'First.' } } });
      expect(of('channels')).toMatchObject({
        data: { channels: [{ name: 'beta' }, { name: 'stable' }] },
      });
      expect(of('device')).toMatchObject({ data: { device: { deviceId: 'kiosk-1' } } });
      expect(of('explain')).toMatchObject({ data: { decision: { reason: 'offered' } } });
      expect(of('offer')).toMatchObject({ status: 200, data: { version: '1.0.0' } });
      expect(of('notes')).toMatchObject({ data: { releases: [{ version: '1.0.0' }] } });
    });
  });
});
