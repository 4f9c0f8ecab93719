// Tests hostile notes on every way out: the RSS feed, the JSON feed, the update file and the manifest. Each
// is well-formed, has the notes unchanged or as harmless HTML, and keeps what stands beside them. An update
// file is read back by the YAML parser that is in electron-updater (js-yaml 4), and by a newer one.

import { createRequire } from 'node:module';
import { load } from 'js-yaml';
import Parser from 'rss-parser';
import { expect, it } from 'vitest';
import {
  JSON_RELEASE_NOTES,
  RSS_RELEASE_NOTES,
  releaseNotesOf,
} from '../../src/http/notes/feed-formats.ts';
import { notesHtml } from '../../src/http/notes/notes-html.ts';
import { ELECTRON } from '../../src/updater/electron.ts';
import { MANIFEST } from '../../src/updater/manifest.ts';
import { release, snapshot } from '../domain/sample.ts';
import { feedBreaches } from '../support/feed-rules.ts';
import { tauriRefusals } from '../support/tauri.ts';
import { offered } from './offered.ts';

type Parse = { load(text: string): unknown };

const updater = createRequire(createRequire(import.meta.url).resolve('electron-updater'));
const olderYaml = updater('js-yaml') as Parse;

const KIB = 1024;
const CONTROLS = String.fromCharCode(...Array.from({ length: 31 }, (_, code) => code + 1));
const SHORT = [
  '<script>alert(1)</script><img src=x onerror=alert(1)><svg/onload=alert(1)>',
  '[a](javascript:alert(1)) ![b](data:text/html,x) <javascript:alert(1)> [c]: vbscript:x',
  `controls ${CONTROLS} \u007f\u0080\u0085\u009f\u2028\u2029\ufeff\ufffe\uffff`,
  ']]> ]]&gt; <![CDATA[ x ]]> <!-- --> */ {{ }} <?xml-stylesheet href="x"?>',
  '<!DOCTYPE a [<!ENTITY b "c">]> &b; &#7;',
  '</description></item></channel></rss></html>',
  '\u202eright to left\u202c \u200f\u200e\u2066 \u05d0\u0627 \u2069 \u061c \ud83d\ude00',
  '---\nversion: "9.9.9"\nfiles: []\n...\n%YAML 1.2\n--- !!js/function >\n',
  '"},"url":"https://evil.example/","version":"9.9.9","x":{"',
  '- 1.10\n- 2026-01-02\n- *alias &anchor !tag | > % @ `\n\ttab \\ "quoted" \'twice\'\r\n\n\n ',
  ' leading and trailing \n\n\n',
];
/** All hostile texts, repeated up to the longest notes allowed, and filled to the last byte with `#`. */
const ALL = SHORT.join('\n\n');
const LONG = ALL.repeat(Math.floor((256 * KIB) / Buffer.byteLength(ALL)));
const FULL = LONG + '#'.repeat(256 * KIB - Buffer.byteLength(LONG));
const LINKS = `# ${'**bold** [link](https://example.com) '.repeat(1000)}`;

const SHA512 = `${'a'.repeat(86)}==`;
const URL = 'https://example.com/a.exe';
const CREATED = '2026-01-02T03:04:05.678Z';
const releaseOf = (notes: string) =>
  release('1.10.0', {
    artifacts: [{ platform: 'windows', arch: 'x64', url: URL, sha512: SHA512, signature: 'c2ln' }],
    notes,
  });

/** Expects that an update file has these notes and its own fields, and nothing else. */
function expectRead(notes: string): void {
  const place = { channel: 'stable', file: 'latest.yml' };
  const text = offered(ELECTRON, place, releaseOf(notes)) ?? '';
  const files = [{ url: URL, sha512: SHA512 }];
  const told = { version: '1.10.0', files, path: URL, sha512: SHA512, releaseDate: CREATED };
  for (const parser of [olderYaml.load, load]) {
    expect(parser(text)).toEqual({ ...told, releaseNotes: notes });
  }
}

it.each([...SHORT, LINKS, FULL])('keep every document well-formed (%#)', async (notes) => {
  expectRead(notes);
  const place = { channel: 'stable', platform: 'windows', arch: 'x86_64' };
  const manifest = offered(MANIFEST, place, releaseOf(notes)) ?? '';
  expect(tauriRefusals({ status: 200, text: manifest })).toEqual([]);
  expect(JSON.parse(manifest)).toMatchObject({ version: '1.10.0', url: URL, notes });

  const { releases } = releaseNotesOf(
    snapshot([release('1.0.0', { notes: 'plain' }), releaseOf(notes)]),
  );
  const head = { app: 'acme', channel: 'stable', newestAt: CREATED, address: 'https://a.b' };
  const [json, rss] = [JSON_RELEASE_NOTES, RSS_RELEASE_NOTES].map(
    ({ open, item, separator, close }) =>
      open(head) + releases.map((each) => item(head, each, notesHtml)).join(separator) + close,
  ) as [string, string];
  const read = JSON.parse(json) as { releases: { notes: string }[] };
  expect(read.releases.map((each) => each.notes)).toEqual([notes, 'plain']);
  expect(await feedBreaches(rss, 'https://a.b/feed/acme/stable/rss.xml')).toEqual([]);
  const [hostile, plain] = (await new Parser().parseString(rss)).items;
  expect(hostile?.content).not.toMatch(/<(?:script|img|svg|iframe|style)/i);
  expect(plain?.content).toMatch(/^<p>plain<\/p><ul>/);
});
