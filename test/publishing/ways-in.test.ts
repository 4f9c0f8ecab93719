// Tests that every way in finds the same in a release (docs/contract.md 23.8): the command that publishes files,
// the one that imports releases, and the webhook of a code host. The service that the commands ask answers with
// its findings alone.

import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Finding } from '../../src/contract/dry-run.ts';
import type { Artifact, Release } from '../../src/contract/resource.ts';
import { compileCatalog } from '../../src/domain/decision/catalog.ts';
import type { ServingSnapshot } from '../../src/domain/decision/serving-snapshot.ts';
import { classifyAssets } from '../../src/domain/release/asset/classify-assets.ts';
import { servedFindings } from '../../src/domain/release/finding/findings.ts';
import { readReleaseEvent } from '../../src/http/webhook/read-release-event.ts';
import { type ReleaseEvent, receiveRelease } from '../../src/publishing/receive-release.ts';
import type { OpenWebhook } from '../../src/publishing/webhooks.ts';
import type { Ledger } from '../../src/store/ledger.ts';
import { findingText } from '../../src/words/finding.ts';
import { release, snapshot } from '../domain/sample.ts';
import { releaseEvent } from '../support/github.ts';
import { loopbackServer } from '../support/loopback-server.ts';
import { runSluiceHere } from '../support/sluice-command.ts';

const MAC = 'Note-mac-universal.zip';
const HOST = 'https://dl.example.com/15';

/** A release 1.0.15 of `MAC` for all devices, unless told otherwise. */
type Case = {
  readonly version?: string;
  readonly files?: readonly string[];
  readonly host?: string;
  readonly rolloutPct?: number;
  /** Artifacts of 1.0.14, which is published before. */
  readonly before?: readonly Artifact[];
  readonly settings?: Partial<ServingSnapshot>;
};

const old = (parts: Partial<Artifact> = {}): Artifact => ({
  ...{ platform: 'darwin', arch: 'universal', url: 'https://dl.example.com/14/a.zip' },
  ...parts,
});
const EXE = old({ platform: 'windows', arch: 'x86_64', url: 'https://dl.example.com/14/a.exe' });
const sumOf = (name: string) => createHash('sha256').update(name).digest('hex');

/** Returns the files as a code host lists them; the content of each is its name. */
function assetsOf({ files = [MAC], host = HOST }: Case) {
  return files.map((name) => {
    const digest = `sha256:${sumOf(name)}`;
    return { name, state: 'uploaded', browser_download_url: `${host}/${name}`, digest };
  });
}

/** Returns the channel with the release of these artifacts on it. */
function placeOf(
  { version = '1.0.15', rolloutPct, before, settings }: Case,
  artifacts: readonly Artifact[],
) {
  const standing = before === undefined ? [] : [release('1.0.14', { artifacts: before })];
  const own = release(version, { artifacts, rolloutPct: rolloutPct ?? 100 });
  return snapshot([...standing, own], settings);
}

function findingsIn(each: Case, artifacts: readonly Artifact[]): readonly Finding[] {
  const { version = '1.0.15' } = each;
  return servedFindings({ version, status: 'published', artifacts }, placeOf(each, artifacts));
}

let home = '';
let asked: Case = {};
let service: Awaited<ReturnType<typeof loopbackServer>>;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'sluice-ways-'));
  service = await loopbackServer(async (request, response) => {
    const body = JSON.parse((await request.toArray()).join('')) as Release;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ release: body, findings: findingsIn(asked, body.artifacts) }));
  });
});
afterAll(() => {
  service.close();
  rmSync(home, { recursive: true });
});

function write(name: string, content: string): string {
  writeFileSync(join(home, name), content);
  return join(home, name);
}

type Told = { readonly outcome: string; readonly findings?: readonly Finding[] };

async function sluice(...args: readonly string[]): Promise<Told & { readonly releases: [Told] }> {
  const env = { SLUICE_URL: `http://127.0.0.1:${service.port}`, SLUICE_KEY: 'key' };
  const place = ['--app', 'note', '--channel', 'stable', '--json'];
  const { stdout, stderr } = await runSluiceHere([...args, ...place], env);
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

function byCommand({ version = '1.0.15', files = [MAC], host = HOST }: Case): Promise<Told> {
  const paths = files.map((name) => write(name, name));
  return sluice('release', 'publish', ...paths, '--version', version, '--url-base', host);
}

async function byImport(each: Case): Promise<Told> {
  const tag = { tag_name: `v${each.version ?? '1.0.15'}`, draft: false, prerelease: false };
  const listed = { ...tag, created_at: '2026-01-01T00:00:00Z', assets: assetsOf(each) };
  const file = write('releases.json', JSON.stringify([listed]));
  return (await sluice('import', '--github-json', file)).releases[0];
}

/** Returns the reason in the answer to the event, which creates the release. */
async function byWebhook(each: Case): Promise<unknown> {
  const artifacts: Artifact[] = [];
  const announceRelease = async (
    _: string,
    announced: Parameters<Ledger['announceRelease']>[1],
  ) => {
    for (const { digest, ...artifact } of announced.artifacts) {
      artifacts.push({ ...artifact, ...(digest && { sha256: digest }) });
    }
    const version = announced.version;
    return { value: { outcome: 'created', release: { version, artifacts } }, changed: [] };
  };
  const told = releaseEvent(`v${each.version ?? '1.0.15'}`, { assets: assetsOf(each) });
  const event = Buffer.from(JSON.stringify({ ...told, repository: undefined }));
  const received = await receiveRelease(
    {
      ledger: { announceRelease } as unknown as Ledger,
      propagate: async () => undefined,
      catalogs: {
        findForCaller: async () => ({ catalog: compileCatalog(placeOf(each, artifacts)) }),
      },
    },
    { appRef: 'note', provider: 'github', tagPrefix: null, repository: null } as OpenWebhook,
    readReleaseEvent(event, undefined) as ReleaseEvent,
  );
  expect(received).toMatchObject({ outcome: 'created' });
  return 'reason' in received ? received.reason : undefined;
}

it.each<[finding: string, each: Case]>([
  ['warning artifacts.0.url', { files: ['Note-1.0.14-mac-universal.zip'] }],
  ['warning artifacts.0.url', { host: 'http://dl.example.com/15' }],
  ['error artifacts.0.url', { before: [old({ url: `${HOST}/${MAC}` })] }],
  ['error artifacts.0.sha256', { before: [old({ sha256: sumOf(MAC) })] }],
  ['warning artifacts.0.buildVersion', { before: [old({ buildVersion: '400' })] }],
  ['warning rollout', { rolloutPct: 30, settings: { minimumSupportedVersion: '1.0.15' } }],
  ['error artifacts.0.signature', { settings: { requireSignature: true } }],
  ['warning artifacts', { before: [old(), EXE] }],
  ['warning version', { version: '1.0.13', before: [old()] }],
  ['warning version', { version: '1.0.15.2' }],
  ['warning artifacts', { files: ['Note-arm64.msi'] }],
  ['warning artifacts', { files: ['Note-universal.dmg'] }],
  ['warning artifacts.1.arch', { files: ['Note-linux-arm64.AppImage', 'Note.deb'] }],
  ['warning artifacts.1.format', { files: ['Note-linux-x64.deb', 'Other-linux-x64.deb'] }],
])(
  '%s: every way in finds it in %j, and an error stops the commands (§23.8)',
  async (expected, each) => {
    asked = each;
    const targets = classifyAssets(each.files ?? [MAC]);
    const artifacts = assetsOf(each).map(({ name, browser_download_url: url }, index): Artifact => {
      return { platform: '', ...targets[index], url, sha256: sumOf(name) };
    });
    const found = findingsIn(each, artifacts);
    expect(found.map(({ severity, path }) => `${severity} ${path}`)).toEqual([expected]);
    const textsOf = (all: readonly Finding[] = []) => all.map((one) => findingText(one, artifacts));
    const isStopped = expected.startsWith('error');

    const published = await byCommand(each);
    expect(textsOf(published.findings)).toEqual(expect.arrayContaining(textsOf(found)));
    expect(published.outcome).toBe(isStopped ? 'stopped' : 'published');
    const imported = await byImport(each);
    expect(textsOf(imported.findings)).toEqual(textsOf(found));
    expect(imported.outcome).toMatch(isStopped ? /^stopped/ : /^published$/);
    expect(await byWebhook(each)).toContain(textsOf(found)[0]);
  },
);

it('a package of changes is left out on every way, with its name (§23.3)', async () => {
  const delta = 'Note-1.0.15-delta.nupkg';
  asked = { files: [delta, 'Note-1.0.15-full.nupkg'] };
  expect(await byCommand(asked)).toMatchObject({ passedOver: [{ file: join(home, delta) }] });
  expect(await byImport(asked)).toMatchObject({ passedOver: [delta] });
  expect(await byWebhook(asked)).toContain(`Left out, since no device installs them: ${delta}`);
});
