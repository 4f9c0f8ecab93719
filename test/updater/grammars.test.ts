// Tests that every client can read what is written for it, whatever was published: one table of clients,
// fields and grammars, each with where the grammar is from. Releases are made of odd versions, dates, sums,
// addresses, signatures, notes and sizes; those that the API takes and that have no finding of severity error
// are written for each client and read by it, or by its grammar where the client itself is not here.

import { createRequire } from 'node:module';
import fc from 'fast-check';
import semver from 'semver';
import { expect, it } from 'vitest';
import { isFailure } from '../../src/contract/failure.ts';
import type { Artifact } from '../../src/contract/resource.ts';
import type { SnapshotRelease } from '../../src/domain/decision/serving-snapshot.ts';
import { findingsOf } from '../../src/domain/release/finding/findings.ts';
import { parseShape } from '../../src/http/endpoint/parse-shape.ts';
import { publishReleaseBody } from '../../src/http/endpoint/release-body.ts';
import {
  JSON_RELEASE_NOTES,
  RSS_RELEASE_NOTES,
  releaseNotesOf,
  writeAppcast,
} from '../../src/http/notes/feed-formats.ts';
import { notesHtml } from '../../src/http/notes/notes-html.ts';
import { ELECTRON } from '../../src/updater/electron.ts';
import { MANIFEST } from '../../src/updater/manifest.ts';
import { type Appcast, sparkle } from '../../src/updater/sparkle.ts';
import { SQUIRREL_MAC } from '../../src/updater/squirrel-mac.ts';
import { SQUIRREL_WINDOWS } from '../../src/updater/squirrel-windows.ts';
import { VELOPACK } from '../../src/updater/velopack.ts';
import { release, SILENT_CLIENT, snapshot, version } from '../domain/sample.ts';
import { feedBreaches } from '../support/feed-rules.ts';
import { IS_FULL } from '../support/full-run.ts';
import { readAppcast } from '../support/sparkle-client.ts';
import { tauriRefusals } from '../support/tauri.ts';
import { offered } from './offered.ts';

type Fields = Readonly<Record<string, unknown>>;
type Grammar = RegExp | ((value: unknown, served: SnapshotRelease) => boolean);

/** Reads a document as a client does, into the fields that it looks at. */
type Reader = (text: string) => Fields | Promise<Fields>;

type Client = {
  readonly name: string;
  readonly write: (served: SnapshotRelease) => string | undefined;
  readonly read: Reader;
  /** Field, its grammar where the client has it, and the source of the grammar. */
  readonly fields: readonly (readonly [field: string, grammar: Grammar, source: string])[];
};

const updater = createRequire(import.meta.url)('electron-updater/out/providers/Provider.js') as {
  parseUpdateInfo(text: string, file: string, url: string): Fields;
  resolveFiles(info: Fields, base: URL): { readonly url: URL; readonly info: Fields }[];
};

const BASE = 'https://updates.example.com';
const ADDRESS = /^https?:\/\/(?!.*["<>\\^`{|}])[\x21-\x7e]+$/i;
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** Format of dates that Squirrel.Mac reads: `yyyy-MM-dd'T'HH:mm:ssZZZZZ`. */
const WHOLE_SECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)$/;
const SHA256 = /^[0-9A-F]{64}$/i;
const isSize = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0;
const isText = (value: unknown) => typeof value === 'string';
const isNotes = (value: unknown, { notes }: SnapshotRelease) => value === notes;
/** Whatever notes look like, they change no other field. */
const isItsVersion = (value: unknown, served: SnapshotRelease) =>
  isSemVer(value) && value === version(served.version).canonical;
const isSemVer = (value: unknown) => semver.parse(String(value)) !== null;
const isEmpty = (value: unknown) => Array.isArray(value) && value.length === 0;

const CLIENTS: readonly Client[] = [
  ...['latest.yml', 'latest-mac.yml', 'latest-linux.yml'].map(
    (file): Client => ({
      name: `electron-updater, ${file}`,
      write: (served) => offered(ELECTRON, { channel: 'stable', file }, served),
      read: readUpdateFile,
      fields: [
        ['version', isItsVersion, 'electron-updater AppUpdater: semver.parse'],
        ['url', ADDRESS, 'electron-updater newUrlFromBase'],
        ['sha512', /^[0-9A-Za-z+/]{86}==$/, 'electron-updater DownloadedUpdateHelper: base64'],
        ['sha2', SHA256, 'electron-updater Provider.resolveFiles'],
        ['size', isSize, 'builder-util-runtime UpdateFileInfo'],
        ['minimumSystemVersion', isSemVer, 'electron-updater: semver.lt with os.release()'],
        ['releaseDate', RFC_3339, 'builder-util-runtime UpdateInfo'],
        ['releaseNotes', isNotes, 'builder-util-runtime UpdateInfo'],
      ],
    }),
  ),
  {
    name: 'Tauri',
    write: (served) =>
      offered(MANIFEST, { channel: 'stable', platform: 'darwin', arch: 'aarch64' }, served, {
        ...SILENT_CLIENT,
        hasAgent: true,
      }),
    read: (text) => ({ refusals: tauriRefusals({ status: 200, text }), ...JSON.parse(text) }),
    fields: [
      [
        'refusals',
        isEmpty,
        'tauri-plugin-updater RemoteRelease: version, url, signature, pub_date',
      ],
      ['url', ADDRESS, 'the crate url'],
    ],
  },
  {
    name: 'Squirrel.Mac and update-electron-app',
    write: (served) =>
      offered(SQUIRREL_MAC, { channel: 'stable', platform: 'darwin-arm64' }, served),
    read: (text) => JSON.parse(text) as Fields,
    fields: [
      ['url', ADDRESS, 'Squirrel.Mac SQRLUpdate: NSURL'],
      ['name', isText, 'Squirrel.Mac SQRLUpdate'],
      ['notes', isNotes, 'Squirrel.Mac SQRLUpdate'],
      ['pub_date', WHOLE_SECONDS, 'Squirrel.Mac SQRLUpdate releaseDateJSONTransformer'],
    ],
  },
  {
    name: 'Squirrel.Windows',
    write: (served) =>
      offered(SQUIRREL_WINDOWS, { channel: 'stable', platform: 'win32-x64' }, served),
    read: (text) => ({ line: text }),
    fields: [
      [
        'line',
        /^[0-9A-F]{40} https?:\/\/[\x21-\x7e]+\.nupkg\S* \d+\n$/i,
        'Squirrel.Windows ReleaseEntry.ParseReleaseEntry',
      ],
    ],
  },
  {
    name: 'Velopack',
    write: (served) => offered(VELOPACK, { channel: 'stable', name: 'win' }, served),
    read: (text) => (JSON.parse(text) as { Assets: [Fields] }).Assets[0],
    fields: [
      ['Version', isSemVer, 'velopack VelopackAsset: SemanticVersion'],
      ['Type', /^Full$/, 'velopack VelopackAssetType'],
      ['FileName', /^[^/\\]+\.nupkg$/, 'velopack VelopackAsset'],
      ['SHA1', /^[0-9A-F]{40}$/, 'velopack VelopackAsset'],
      ['SHA256', SHA256, 'velopack VelopackAsset'],
      ['Size', isSize, 'velopack VelopackAsset: u64'],
      ['NotesMarkdown', isNotes, 'velopack VelopackAsset'],
    ],
  },
  ...(['appcast.xml', 'appcast-windows.xml'] as const).map(
    (file): Client => ({
      name: file === 'appcast.xml' ? 'Sparkle' : 'WinSparkle',
      write: (served) => offered(APPCASTS, { channel: 'stable', file }, served),
      read: async (text) => {
        const system = file === 'appcast.xml' ? 'darwin' : 'windows';
        const breaches = await feedBreaches(text, `${BASE}/sparkle/acme/stable/${file}`);
        return { ...readAppcast(text, system), breaches };
      },
      fields: [
        ['version', /^\S+$/, 'Sparkle SUStandardVersionComparator'],
        ['shortVersion', /^\S+$/, 'Sparkle SUAppcastItem'],
        ['url', ADDRESS, 'Sparkle SUAppcastItem: NSURL'],
        ['length', isSize, 'Sparkle SUAppcastItem'],
        [
          'minimumSystemVersion',
          file === 'appcast.xml' ? /^\d+(?:\.\d+){0,2}$/ : /^\d+\.\d+(?:-\d+)?$/,
          'Sparkle SUOperatingSystem, WinSparkle is_compatible_with_windows_version',
        ],
        ['breaches', isEmpty, 'w3c/feedvalidator'],
      ],
    }),
  ),
  {
    name: 'feed readers, rss-parser among them',
    write: (served) => writeFeed(RSS_RELEASE_NOTES, served),
    read: async (text) => ({
      breaches: await feedBreaches(text, `${BASE}/feed/acme/stable/rss.xml`),
    }),
    fields: [['breaches', isEmpty, 'w3c/feedvalidator, rss-parser']],
  },
  {
    name: 'readers of the JSON feed',
    write: (served) => writeFeed(JSON_RELEASE_NOTES, served),
    read: (text) => {
      const [release] = (JSON.parse(text) as { releases: [Fields & { artifacts: [Fields] }] })
        .releases;
      return { ...release, url: release.artifacts[0].url };
    },
    fields: [
      ['url', ADDRESS, 'docs/contract.md 4.9'],
      ['version', isText, 'docs/contract.md 4.9'],
      ['createdAt', RFC_3339, 'docs/contract.md 4.9'],
      ['notes', isNotes, 'docs/contract.md 4.9'],
    ],
  },
];

function writeFeed(format: typeof RSS_RELEASE_NOTES, served: SnapshotRelease): string {
  const feed = { app: 'acme', channel: 'stable', newestAt: served.createdAt, address: BASE };
  const items = releaseNotesOf(snapshot([served])).releases;
  const texts = items.map((each) => format.item(feed, each, notesHtml));
  return [format.open(feed), ...texts, format.close].join('');
}

const APPCASTS = sparkle({
  ready: () => undefined,
  document: (_of, describeIt: () => Appcast) =>
    Buffer.from(writeAppcast(describeIt(), BASE, notesHtml), 'utf8'),
});

function readUpdateFile(text: string): Fields {
  const info = updater.parseUpdateInfo(text, 'latest.yml', `${BASE}/e/acme/stable/latest.yml`);
  const [first] = updater.resolveFiles(info, new URL(`${BASE}/e/acme/stable/`));
  if (first === undefined) throw new Error('no file is listed');
  const { version: told, minimumSystemVersion, releaseDate, releaseNotes } = info;
  return { ...first.info, version: told, minimumSystemVersion, releaseDate, releaseNotes };
}

const VERSIONS = [
  ...['2.0.0', 'v2.1', '2', '2026.01.05', '2.0.0.1', '2.0.0-rc.1', '2.0.0-beta10', 'V3.0.0+5'],
  ...['2.0.0-0a.b--c+x.y-z', '0.0.2', '999999999.0.0', '2.0.0+001'],
];
const PLACES = ['https://dl.example.com/', 'http://münchen.example:81/a b/', 'HTTPS://H/'];
const NAMES = [
  ...['My App Größe 2.0', 'a"b<c>d', 'q?x=1&y=%20', 'plus+plus', "it's", 'a\\b', '日本語', 'a%2Fb'],
  ...['#fragment', 'x;y=z', '[1]', '{a}|b^c`', '\u202eexe', 'a\u00a0b', '%', '&lt;', ']]>'],
];
const ENDINGS: Readonly<Record<string, readonly string[]>> = {
  windows: ['.exe', '-full.nupkg', '-setup.exe', '.msi'],
  darwin: ['.zip', '.dmg', '.app.tar.gz', '.tar.xz'],
  linux: ['.AppImage', '.deb', '.rpm', ''],
};
const NOTES = [
  ...['', ' ', '# 2.0\n- "quotes"\n', '---\nversion: 9.9.9\n...\n', '&lt;b&gt; &amp;amp;'],
  ...[']]> <script>alert(1)</script>', '\u202e\u2066\u0085\u2028', '\ufeff1.10', '\ud83d\ude00'],
  ...['*alias &anchor !tag | > % @ `', '\u0001\u001b[31m', '[a](javascript:alert(1))'],
  '![x](https://e.example/"><img>)',
];

const hex = (bytes: number) =>
  fc
    .tuple(fc.uint8Array({ minLength: bytes, maxLength: bytes }), fc.boolean())
    .map(([sum, isUpper]) => {
      const text = Buffer.from(sum).toString('hex');
      return isUpper ? text.toUpperCase() : text;
    });
const sum512 = fc.oneof(
  hex(64),
  fc.uint8Array({ minLength: 64, maxLength: 64 }).map((sum) => Buffer.from(sum).toString('base64')),
);
const system = fc.constantFrom('10.13', '12', '14.4.1', '23.4.0', '10.0.19045', '26', '10.10');

/** Signatures of one updater: a release is signed for one, as a rule. */
const SIGNATURES: Readonly<Record<string, string | undefined>> = {
  none: undefined,
  ed25519: Buffer.alloc(64, 9).toString('base64'),
  minisign: btoa('untrusted comment: signature\nRUQ=\ntrusted comment: timestamp:1\nAAAA==\n'),
};

const artifact = (kind: string) =>
  fc.constantFrom(...Object.keys(ENDINGS)).chain((platform) =>
    fc.record(
      {
        platform: fc.constant(platform),
        arch: fc.constantFrom('x64', 'aarch64', 'universal', 'arm'),
        url: fc
          .tuple(
            fc.constantFrom(...PLACES),
            fc.constantFrom(...NAMES),
            fc.constantFrom(...(ENDINGS[platform] ?? [])),
          )
          .map((parts) => parts.join('')),
        sha512: sum512,
        sha256: hex(32),
        sha1: hex(20),
        size: fc.constantFrom(0, 1, 2 ** 31, Number.MAX_SAFE_INTEGER),
        signature: fc.constant(SIGNATURES[kind]),
        minimumSystemVersion: system,
        buildVersion: fc.constantFrom('1', '2.0.0', '20260102.3'),
      },
      { requiredKeys: ['platform', 'url', 'signature', 'size', 'sha1'] },
    ),
  );

type Odd = { readonly kind: string; readonly served: SnapshotRelease };

const odd: fc.Arbitrary<Odd | undefined> = fc
  .constantFrom(...Object.keys(SIGNATURES))
  .chain((kind) =>
    fc
      .record({
        text: fc.constantFrom(...VERSIONS),
        notes: fc.oneof(fc.constantFrom(...NOTES), fc.string({ unit: 'binary', maxLength: 80 })),
        artifacts: fc.array(artifact(kind), { minLength: 1, maxLength: 4 }),
        ms: fc.constantFrom(0, 1, 951_782_400_000, 1_767_323_045_678),
      })
      .map(({ text, notes, artifacts, ms }) => {
        const served = taken(text, notes, artifacts, new Date(ms).toISOString());
        return served === undefined ? undefined : { kind, served };
      }),
  );

/** Returns the release as the API takes it; undefined where that refuses it, or a finding is an error. */
function taken(
  text: string,
  notes: string,
  artifacts: readonly object[],
  createdAt: string,
): SnapshotRelease | undefined {
  const body = { app: 'acme', channel: 'stable', version: text, notes, artifacts };
  const parsed = parseShape(publishReleaseBody, JSON.parse(JSON.stringify(body)));
  if (isFailure(parsed)) return undefined;
  const accepted = parsed as { notes: string; artifacts: readonly Artifact[] };
  const findings = findingsOf(version(text), accepted.artifacts, snapshot([]));
  if (findings.some(({ severity }) => severity === 'error')) return undefined;
  return release(text, { notes: accepted.notes, artifacts: accepted.artifacts, createdAt });
}

it('every client reads what is written for it of every release', async () => {
  const documents = new Map(CLIENTS.map(({ name }) => [name, 0]));
  await fc.assert(
    fc.asyncProperty(odd, async (each) => {
      if (each === undefined) return;
      for (const { name, write, read, fields } of CLIENTS) {
        // A signature for another updater is none for this one.
        const isForeign = name.includes('Sparkle') && each.kind === 'minisign';
        const isTauris = name === 'Tauri' && each.kind !== 'minisign';
        const text = isForeign || isTauris ? undefined : write(each.served);
        if (text === undefined) continue;
        documents.set(name, (documents.get(name) ?? 0) + 1);
        const values = await read(text);
        for (const [field, grammar, source] of fields) {
          const value = values[field];
          // Notes that get lost are a fault, whatever they look like.
          const isDemanded = grammar === isNotes && each.served.notes !== '';
          if (value === undefined && !isDemanded) continue;
          const isRead =
            grammar instanceof RegExp ? grammar.test(String(value)) : grammar(value, each.served);
          expect(isRead, `${name}: ${field}, by ${source}: ${String(value)}`).toBe(true);
        }
      }
    }),
    { numRuns: IS_FULL ? 600 : 250 },
  );
  const unwritten = [...documents].filter(([, count]) => count === 0);
  expect(unwritten).toEqual([]);
});
