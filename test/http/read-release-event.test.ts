// Tests what is read from the body of a delivery, and which bodies are refused (docs/contract.md 18.9 and
// 18.10).

import { describe, expect, it } from 'vitest';
import { fail } from '../../src/contract/failure.ts';
import { readReleaseEvent, readRepository } from '../../src/http/webhook/read-release-event.ts';
import type { ReleaseEvent } from '../../src/publishing/receive-release.ts';
import { giteaAsset, giteaEvent } from '../support/gitea.ts';
import { asset, recordedPayloads, releaseEvent } from '../support/github.ts';
import type { Json } from '../support/tenant.ts';

const FORM = 'Application/X-WWW-Form-Urlencoded; charset=utf-8';

/** Reads an event from JSON and from a form, which must be the same. */
function read(payload: unknown): ReleaseEvent {
  const json = JSON.stringify(payload);
  const event = readReleaseEvent(Buffer.from(json), 'application/json');
  const form = Buffer.from(new URLSearchParams({ payload: json }).toString());
  expect(readReleaseEvent(form, FORM)).toEqual(event);
  if ('failure' in event) throw new Error(event.message);
  return event;
}

describe('an event', () => {
  it("of GitHub's recorded payloads is read: archives of the source are no assets", () => {
    const recorded = recordedPayloads('release');
    expect(recorded).toHaveLength(13);
    for (const payload of recorded) {
      const { action, release } = payload;
      expect(release).toHaveProperty('zipball_url');
      expect(read(payload)).toMatchObject({
        ...{ action, id: 17372790, tag: '0.0.1', notes: '', assets: [] },
        ...{ isDraft: false, isPrerelease: action === 'prereleased' },
      });
    }
  });

  it('of GitHub and of Gitea is read with its files, times and repository', () => {
    const more = { id: 1, updated_at: '2026-02-02T00:00:00Z', body: 'a+b & c=d%20 ✓\r\n"größe"' };
    const assets = [
      asset('a', { digest: `sha256:${'AB'.repeat(32)}`, created_at: '2026-02-01T00:00:00Z' }),
      asset('b', { size: 0, state: 'starter', digest: null }),
    ];
    const changes = { tag_name: { from: 'v0' } };
    const github = { ...releaseEvent('v1', { ...more, assets }), changes };
    const base = 'https://github.com/acme/notes/releases/download/x';
    expect(read(github)).toEqual({
      ...{ action: 'published', tag: 'v1', formerTag: 'v0', id: 1, isPrivate: false },
      ...{ changedAt: '2026-02-02T00:00:00.000Z', publishedAt: '2019-05-15T15:20:53.000Z' },
      repository: { id: 186853002, name: 'Codertocat/Hello-World' },
      ...{ isDraft: false, isPrerelease: false, notes: 'a+b & c=d%20 ✓\r\n"größe"' },
      assets: [
        {
          ...{ name: 'a', url: `${base}/a`, size: 1234, digest: 'ab'.repeat(32) },
          ...{ isUploaded: true, createdAt: '2026-02-01T00:00:00.000Z' },
        },
        {
          ...{ name: 'b', url: `${base}/b`, size: 0, digest: undefined },
          ...{ isUploaded: false, createdAt: undefined },
        },
      ],
    });
    const gitea = giteaEvent('updated', 'v1', { assets: [giteaAsset('a')] }, { private: true });
    expect(read(gitea)).toMatchObject({
      ...{
        action: 'updated',
        id: 12,
        changedAt: undefined,
        publishedAt: '2026-02-01T10:00:00.000Z',
      },
      ...{ isPrivate: true, repository: { id: 5, name: 'acme/notes' } },
      assets: [{ size: 1234, digest: undefined, isUploaded: true }],
    });
  });

  it('has a file without a sum where the digest is none (§18.10)', () => {
    const [hex, none] = ['ab'.repeat(32), { name: 'a', digest: undefined }];
    for (const digest of [
      ...[null, undefined, '', 'sha256:', `sha256:${'ab'.repeat(31)}`, hex, `sha256:${hex}\n`],
      ...[`sha256:${'xy'.repeat(32)}`, `sha512:${'ab'.repeat(64)}`],
    ]) {
      const event = releaseEvent('v1', { assets: [asset('a', { digest })] });
      expect(read(event).assets).toMatchObject([none]);
    }
  });
});

describe('a body that is no release event', () => {
  const of = (release: Json) => releaseEvent('v1', release);
  const ofFile = (file: Json) => of({ assets: [asset('a'), asset('b', file)] });
  const time = 'Must be an RFC 3339 time';
  const url = 'Must be an absolute http(s) URL';
  it('is refused with its field', () => {
    for (const [message, payload, type] of [
      ['Invalid JSON body', '{'],
      ['Invalid JSON body', ''],
      ['payload: Required', 'a=b', FORM],
      ['payload: Invalid JSON', 'payload=%7B', FORM],
      ['body: Expected an object', []],
      ['action: Required', { release: of({}).release }],
      ['release: Required', { action: 'published' }],
      ['changes.tag_name: Expected an object', { ...of({}), changes: { tag_name: 'v1' } }],
      ['release.id: Expected a number', of({ id: 'x' })],
      ['release.tag_name: Expected a string', of({ tag_name: 7 })],
      ['release.draft: Required', of({ draft: undefined })],
      ['release.prerelease: Expected a boolean', of({ prerelease: 'no' })],
      ['release.body: Expected a string', of({ body: 7 })],
      [`release.updated_at: ${time}`, of({ updated_at: 1 })],
      [`release.published_at: ${time}`, of({ published_at: 'today' })],
      ['release.assets: Expected an array', of({ assets: {} })],
      [`release.assets.1.created_at: ${time}`, ofFile({ created_at: 'today' })],
      ['release.assets.1.size: Must be at least 0', ofFile({ size: -1 })],
      [`release.assets.1.browser_download_url: ${url}`, ofFile({ browser_download_url: '/x' })],
    ] as const) {
      const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
      expect(readReleaseEvent(Buffer.from(text), type)).toEqual(fail('invalid', message));
    }
  });
});

it('the repository is that of a delivery, where it names one (§18.24)', () => {
  const named = { id: 7, full_name: 'acme/notes' };
  for (const [repository, expected] of [
    [named, { id: 7, name: 'acme/notes' }],
    [{ full_name: 'acme/notes' }, { id: null, name: 'acme/notes' }],
    [
      { ...named, full_name: 'x'.repeat(201) },
      { id: 7, name: 'x'.repeat(200) },
    ],
    ...[{ ...named, id: 'x' }, { id: 7 }, null].map((none) => [none, undefined] as const),
  ] as const) {
    const body = Buffer.from(JSON.stringify({ zen: 'x', repository }));
    expect(readRepository(body, 'application/json')).toEqual(expected);
  }
});
