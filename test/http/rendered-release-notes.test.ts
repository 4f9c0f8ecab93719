// Tests that release notes are rendered once per revision of a channel, whatever the number of readers
// (docs/contract.md 16.9: the 60 seconds there are the client's cache).

import { beforeEach, describe, expect, it } from 'vitest';
import type { Release } from '../../src/contract/resource.ts';
import type { SnapshotRelease } from '../../src/domain/decision/serving-snapshot.ts';
import type { FeedHead, FeedName } from '../../src/http/notes/feed-formats.ts';
import { RenderedReleaseNotes } from '../../src/http/notes/feed-routes.ts';
import { tagBody } from '../../src/http/transport/reply.ts';
import { release, snapshot } from '../domain/sample.ts';

const RELEASES = [release('1.0.0'), release('1.1.0')];

/** Writer of feeds that tells what it wrote; `[1.1.0,1.0.0]` is a feed of two releases. */
class Writer {
  readonly written: string[] = [];
  isFailing = false;

  async item(_format: FeedName, _feed: FeedHead, { version }: Release) {
    if (this.isFailing) throw new Error('cannot be written');
    this.written.push(version);
    return new TextEncoder().encode(version);
  }

  async feed(_format: FeedName, _feed: FeedHead, items: readonly Uint8Array[]) {
    return tagBody(Buffer.from(`[${items.map((item) => Buffer.from(item)).join(',')}]`));
  }
}

describe('rendered feeds', () => {
  let writer: Writer;
  let feeds: RenderedReleaseNotes;
  beforeEach(() => {
    writer = new Writer();
    feeds = new RenderedReleaseNotes(writer, () => 'https://updates.example.com');
  });

  const render = async (revision: number, releases = RELEASES) =>
    (await feeds.render('json', snapshot(releases, { revision }))).bytes.toString();

  it('one revision is written once, for all who ask at once and later', async () => {
    const answers = await Promise.all(Array.from({ length: 100 }, () => render(1)));
    answers.push(await render(1));
    expect(new Set(answers)).toEqual(new Set(['[1.1.0,1.0.0]']));
    expect(writer.written).toEqual(['1.1.0', '1.0.0']);
  });

  it('the next revision is written at once, and replaces the one before', async () => {
    await render(1);
    expect(await render(2, [release('2.0.0')])).toBe('[2.0.0]');
    expect(await render(2, [release('2.0.0')])).toBe('[2.0.0]');
    expect(writer.written).toEqual(['1.1.0', '1.0.0', '2.0.0']);
  });

  it('who still has an older revision gets that, and the newer one stays', async () => {
    await render(2, [release('2.0.0')]);
    expect(await render(1)).toBe('[1.1.0,1.0.0]');
    writer.written.length = 0;
    expect(await render(2)).toBe('[2.0.0]');
    expect(writer.written).toEqual([]);
  });

  it('a ledger that went back reaches a revision again, and its feed is another one', async () => {
    const rendered = (epoch: number, revision: number, releases: readonly SnapshotRelease[]) =>
      feeds.render('json', snapshot(releases, { epoch, revision }));
    await rendered(1, 7, RELEASES);
    const again = [release('2.0.0')];
    expect((await rendered(2, 7, again)).bytes.toString()).toBe('[2.0.0]');
    expect((await rendered(2, 3, again)).bytes.toString()).toBe('[2.0.0]');
    writer.written.length = 0;
    await rendered(2, 7, again);
    expect(writer.written).toEqual([]);
  });

  it('formats and channels are kept apart', async () => {
    await render(1);
    await feeds.render('rss', snapshot(RELEASES));
    await feeds.render('rss', snapshot(RELEASES, { channelId: 'chn-2' }));
    expect(writer.written).toHaveLength(6);
  });

  it('what fails is tried again, and fails nobody else', async () => {
    writer.isFailing = true;
    await expect(render(1)).rejects.toThrow('cannot be written');
    writer.isFailing = false;
    expect(await render(1)).toBe('[1.1.0,1.0.0]');
  });
});
