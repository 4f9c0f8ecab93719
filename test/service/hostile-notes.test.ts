// Tests hostile notes, published through the API and read through every way out: RSS, JSON feed, update file
// and update check. Each must be well-formed, have the notes unchanged or as harmless HTML, and leave the
// releases beside them readable.

import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import Parser from 'rss-parser';
import { expect, it } from 'vitest';
import { runElectronClient } from '../support/electron-client.ts';
import { sleep } from '../support/eventually.ts';
import { feedBreaches } from '../support/feed-rules.ts';
import { tenantWith } from '../support/released.ts';
import { deviceSuite } from '../support/service-suite.ts';
import { tauriRefusals } from '../support/tauri.ts';
import { check, createTenant, publish, send, type Tenant } from '../support/tenant.ts';

type Fields = Record<string, unknown>;

/** js-yaml 4, as electron-updater loads it. */
const updater = createRequire(createRequire(import.meta.url).resolve('electron-updater'));
const { load } = updater('js-yaml') as { load(text: string): Fields };

const KIB = 1024;
const CONTROLS = String.fromCharCode(...Array.from({ length: 31 }, (_, code) => code + 1));

const SHORT = [
  '<script>alert(1)</script><img src=x onerror=alert(1)><svg/onload=alert(1)>',
  '[a](javascript:alert(1)) ![b](data:text/html,x) <javascript:alert(1)> [c]: vbscript:x',
  `controls ${CONTROLS} \u007f\u0080\u0085\u009f\u2028\u2029\ufeff\ufffe\uffff`,
  ']]> ]]&gt; <![CDATA[ x ]]> <!-- --> <?xml-stylesheet href="x"?> <!DOCTYPE a [<!ENTITY b "c">]> &b; &#7;',
  '</description></item></channel></rss></html>',
  '\u202eright to left\u202c \u200f\u200e\u2066 \u05d0\u0627 \u2069 \u061c',
  '---\nversion: "9.9.9"\nfiles: []\n...\n%YAML 1.2\n--- !!js/function >\n',
  '"},"url":"https://evil.example/","version":"9.9.9","x":{"',
  '- 1.10\n- 2026-01-02\n- *alias &anchor !tag | > % @ `\n\ttab \\ "quoted" \'twice\'\r\n\n\n ',
  'plain',
];
/**
 * All hostile texts; `FULL` repeats them up to the longest notes allowed, filled to the last byte with `#`.
 */
const ALL = SHORT.join('\n\n');
const LONG = ALL.repeat(Math.floor((256 * KIB) / Buffer.byteLength(ALL)));
const FULL = LONG + '#'.repeat(256 * KIB - Buffer.byteLength(LONG));
const NOTES = [...SHORT, FULL];

const SUM = `${'a'.repeat(86)}==`;
const ARTIFACT = {
  platform: 'windows',
  arch: 'x64',
  url: 'https://downloads.example.com/setup.exe',
  sha512: SUM,
  signature: 'c2lnbmF0dXJl',
};

deviceSuite('hostile notes', (node) => {
  async function readJson({ app }: Tenant): Promise<unknown[]> {
    const { headers, body = {} } = await send(node, 'GET', `/feed/${app}/stable`);
    expect(headers.get('content-type')).toBe('application/json');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    return (body.releases as Fields[]).map(({ notes }) => notes);
  }

  /**
   * Returns what readers show of each item; expects that every rule of feeds and of harmless HTML is kept.
   */
  async function readRss({ app }: Tenant): Promise<(string | undefined)[]> {
    const path = `/feed/${app}/stable/rss.xml`;
    const { headers, text } = await send(node, 'GET', path);
    expect(headers.get('content-type')).toBe('application/rss+xml; charset=utf-8');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(await feedBreaches(text, node.url + path)).toEqual([]);
    return (await new Parser().parseString(text)).items.map(({ content }) => content);
  }

  async function readYaml({ app }: Tenant): Promise<Fields> {
    const { headers, text } = await send(node, 'GET', `/e/${app}/stable/latest.yml`);
    expect(headers.get('content-type')).toBe('text/yaml; charset=utf-8');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    return load(text);
  }

  it('RSS, JSON, YAML and update checks stay well-formed and harmless with every one of them', async () => {
    expect(Buffer.byteLength(FULL)).toBe(256 * KIB);
    const tenant = await createTenant(node);
    for (const [index, notes] of NOTES.entries()) {
      const version = `1.${index}.0`;
      const answer = await publish(node, tenant, version, { notes, artifacts: [ARTIFACT] });
      expect(answer.status, answer.text.slice(0, 200)).toBe(201);
      expect(answer.body?.release).toMatchObject({ notes });

      const { url, sha512 } = ARTIFACT;
      expect(await readYaml(tenant)).toEqual({
        version,
        files: [{ url, sha512 }],
        path: url,
        sha512,
        releaseNotes: notes,
        releaseDate: expect.any(String),
      });
      const electronUrl = `${node.url}/e/${tenant.app}/stable`;
      const client = { electronUrl, type: 'nsis', arch: 'x64', version: '0.9.0' } as const;
      expect(await runElectronClient(client)).toMatchObject({ version, file: { url, sha512 } });

      const offer = await check(node, tenant, '0.9.0', { platform: 'windows' });
      expect(tauriRefusals(offer)).toEqual([]);
      expect(offer.body).toMatchObject({ version, url, notes });
    }
    expect(await readJson(tenant)).toEqual(NOTES.toReversed());
    const items = await readRss(tenant);
    expect(items).toHaveLength(NOTES.length);
    // Items come newest first; the harmless one stands whole between the hostile ones.
    expect(items[1]).toMatch(/^<p>plain<\/p><ul>/);
    expect(items[0]).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    for (const item of items) expect(item).not.toMatch(/<(?:script|img|svg|iframe|style)/i);
  });

  it('what no database and no feed can hold is refused, and one byte more than 256 KiB', async () => {
    const tenant = await createTenant(node);
    const broken = 'notes: Must not contain NUL or broken characters';
    for (const [notes, error] of [
      ['nul \u0000', broken],
      ['half a pair \ud800', broken],
      [`${FULL}x`, 'notes: Must have at most 256 KiB'],
    ] as const) {
      const answer = await publish(node, tenant, '1.0.0', { notes });
      expect([answer.status, answer.body?.error]).toEqual([400, error]);
    }
  });

  it('the longest feed reaches a slow reader whole, with the tag of its bytes', async () => {
    const quotes = Array.from({ length: 10 }, (_, index) => '"'.repeat(256 * KIB - 20) + index);
    const { app } = await tenantWith(
      node,
      ...quotes.map((notes, index) => [`1.${index}.0`, { notes }] as const),
    );
    const response = await fetch(`${node.url}/feed/${app}/stable`);
    const hash = createHash('sha256');
    let length = 0;
    for await (const chunk of response.body ?? []) {
      hash.update(chunk);
      length += chunk.length;
      if (length < 2 * 1024 * KIB) await sleep(1);
    }
    expect(length).toBe(Number(response.headers.get('content-length')));
    expect(length).toBeGreaterThan(quotes.join('').length * 2);
    expect(response.headers.get('etag')).toBe(`"${hash.digest('base64url')}"`);
  });
});
