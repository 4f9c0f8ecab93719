// Tests that release notes are rendered once per revision of a channel, whatever the number of readers
// (docs/contract.md 16.9: the 60 seconds there are the client's cache).

import { beforeEach, describe, expect, it } from 'vitest';
import type { ReleaseNotesFormat } from '../../src/http/notes/release-notes.ts';
import { RenderedReleaseNotes } from '../../src/http/notes/rendered-release-notes.ts';
import { release, snapshot } from '../domain/sample.ts';

const RELEASES = [release('1.0.0'), release('1.1.0')];

describe('rendered feeds', () => {
  let feeds: RenderedReleaseNotes;
  let written: string[];
  beforeEach(() => {
    feeds = new RenderedReleaseNotes();
    written = [];
  });

  function format(contentType = 'text/plain'): ReleaseNotesFormat {
    return {
      contentType,
      open: () => '[',
      item: (_feed, { version }) => {
        written.push(version);
        return version;
      },
      separator: ',',
      close: ']',
    };
  }

  const render = async (revision: number, releases = RELEASES, as = format()) =>
    (await feeds.render(as, snapshot(releases, { revision }))).bytes.toString();

  it('one revision is written once, for all who ask at once and later', async () => {
    const answers = await Promise.all(Array.from({ length: 100 }, () => render(1)));
    answers.push(await render(1));
    expect(new Set(answers)).toEqual(new Set(['[1.1.0,1.0.0]']));
    expect(written).toEqual(['1.1.0', '1.0.0']);
  });

  it('the next revision is written at once, and replaces the one before', async () => {
    await render(1);
    expect(await render(2, [release('2.0.0')])).toBe('[2.0.0]');
    expect(await render(2, [release('2.0.0')])).toBe('[2.0.0]');
    expect(written).toEqual(['1.1.0', '1.0.0', '2.0.0']);
  });

  it('who still has an older revision gets that, and the newer one stays', async () => {
    await render(2, [release('2.0.0')]);
    expect(await render(1)).toBe('[1.1.0,1.0.0]');
    written = [];
    expect(await render(2)).toBe('[2.0.0]');
    expect(written).toEqual([]);
  });

  it('formats and channels are kept apart', async () => {
    await render(1);
    const html = format('text/html');
    await feeds.render(html, snapshot(RELEASES));
    await feeds.render(html, snapshot(RELEASES, { channelId: 'chn-2' }));
    expect(written).toHaveLength(6);
  });

  it('what fails is tried again, and fails nobody else', async () => {
    const failing = { ...format(), item: () => expect.fail('cannot be written') };
    await expect(render(1, RELEASES, failing)).rejects.toThrow('cannot be written');
    expect(await render(1)).toBe('[1.1.0,1.0.0]');
  });
});
