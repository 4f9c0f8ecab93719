// Tests feeds with rendered notes. Release notes are rendered once per revision of a channel, whatever the
// number of readers (docs/contract.md 16.9: the 60 seconds there are the client's cache). An appcast never
// depends on the rendering of its notes: not on its time, and not on its success.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Release } from '../../src/contract/resource.ts';
import { Unavailable } from '../../src/contract/store-fault.ts';
import type { FeedHead, FeedName } from '../../src/http/notes/feed-formats.ts';
import { RenderedAppcasts, RenderedReleaseNotes } from '../../src/http/notes/feed-routes.ts';
import { tagBody } from '../../src/http/transport/reply.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import type { Appcast } from '../../src/updater/sparkle.ts';
import { release, snapshot } from '../domain/sample.ts';
import { gate } from '../support/gate.ts';

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

  it('the next revision replaces the one before; who still has an older one gets that', async () => {
    await render(1);
    expect(await render(2, [release('2.0.0')])).toBe('[2.0.0]');
    expect(writer.written).toEqual(['1.1.0', '1.0.0', '2.0.0']);
    expect(await render(1)).toBe('[1.1.0,1.0.0]');
    writer.written.length = 0;
    expect(await render(2)).toBe('[2.0.0]');
    expect(writer.written).toEqual([]);
  });

  it('a ledger that went back reaches a revision again, and its feed is another one', async () => {
    const rendered = async (epoch: number, revision: number, releases = [release('2.0.0')]) =>
      (await feeds.render('json', snapshot(releases, { epoch, revision }))).bytes.toString();
    await rendered(1, 7, RELEASES);
    expect([await rendered(2, 7), await rendered(2, 3)]).toEqual(['[2.0.0]', '[2.0.0]']);
    writer.written.length = 0;
    await rendered(2, 7);
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

function appcast(notes: string): Appcast {
  const release = { notes, createdAt: '2026-01-02T03:04:05.678Z' };
  const artifact = { platform: 'darwin', url: 'https://example.com/a.zip' };
  const item = { version: '1.0.0', release, artifact };
  return { app: 'acme', channel: 'stable', file: 'appcast.xml', item };
}

function appcasts(render: () => Promise<Buffer>) {
  const metrics = new Metrics();
  const rendered = new RenderedAppcasts({ appcast: render }, () => 'https://example.com', metrics);
  return { rendered, metrics };
}

afterEach(() => vi.useRealTimers());

const NOTES = () => appcast('*notes*');

describe('an appcast', () => {
  it('without notes is written in passing, once', () => {
    const { rendered } = appcasts(() => Promise.reject(new Error('not called')));
    const of = {};
    expect(rendered.ready(of, () => appcast(''))).toBeUndefined();
    const document = rendered.document(of, () => appcast(''));
    expect(document.toString()).toContain('<sparkle:version>1.0.0</sparkle:version>');
    expect(rendered.document(of, () => appcast(''))).toBe(document);
  });

  it('with notes is rendered once for all who ask meanwhile', async () => {
    const render = vi.fn(async () => Buffer.from('rendered'));
    const { rendered } = appcasts(render);
    const of = {};
    await Promise.all([rendered.ready(of, NOTES), rendered.ready(of, NOTES)]);
    expect(rendered.document(of, NOTES).toString()).toBe('rendered');
    expect(rendered.ready(of, NOTES)).toBeUndefined();
    expect(render).toHaveBeenCalledTimes(1);
  });

  it('is answered without notes after two seconds, and with them once they are rendered', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { opened, open } = gate();
    const { rendered } = appcasts(() => opened.then(() => Buffer.from('rendered')));
    const of = {};
    let isReady = false;
    const ready = rendered.ready(of, NOTES)?.then(() => {
      isReady = true;
    });
    await vi.advanceTimersByTimeAsync(1999);
    expect(isReady).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await ready;
    const plain = rendered.document(of, NOTES);
    expect(plain.toString()).toContain('<enclosure');
    expect(plain.toString()).not.toContain('notes');
    // The next one is not kept waiting.
    expect(rendered.ready(of, NOTES)).toBeUndefined();
    expect(rendered.document(of, NOTES)).toBe(plain);
    open();
    await vi.waitFor(() => expect(rendered.document(of, NOTES).toString()).toBe('rendered'));
  });

  it('is answered without notes where nothing renders them; the next check tries again', async () => {
    let isAway = true;
    const { rendered, metrics } = appcasts(async () => {
      if (isAway) throw new Unavailable('engine', 'too many wait');
      return Buffer.from('rendered');
    });
    const of = {};
    await rendered.ready(of, NOTES);
    expect(rendered.document(of, NOTES).toString()).toContain('<enclosure');
    expect(metrics.faults.counts.get('notes')).toBe(1);
    isAway = false;
    void rendered.ready(of, NOTES);
    await vi.waitFor(() => expect(rendered.document(of, NOTES).toString()).toBe('rendered'));
  });
});
