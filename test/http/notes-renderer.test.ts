// Tests what becomes of notes that take too long to render: they are shown as they were written, and cost
// their time once.

import { describe, expect, it } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { answerNotesJob, type NotesAnswer, type NotesJob } from '../../src/http/notes/notes-job.ts';
import { GIVEN_UP, NotesRenderer } from '../../src/http/notes/notes-renderer.ts';

/** Thread that does its jobs at once, and gives up those that a test names. */
class Thread {
  readonly jobs: NotesJob[] = [];
  private readonly isTooMuch: (job: NotesJob) => boolean;

  constructor(isTooMuch: (job: NotesJob) => boolean) {
    this.isTooMuch = isTooMuch;
  }

  async ask(job: NotesJob): Promise<NotesAnswer | typeof GIVEN_UP> {
    this.jobs.push(job);
    return this.isTooMuch(job) ? GIVEN_UP : answerNotesJob(job);
  }

  async stop(): Promise<void> {}
}

const FEED = {
  app: 'notes',
  channel: 'stable',
  newestAt: '2026-01-02T03:04:05.000Z',
  address: 'https://updates.example.com',
};
const RELEASE = {
  id: 'rel_1',
  app: 'notes',
  channel: 'stable',
  version: '1.0.0',
  notes: '# <b>',
  status: 'published',
  rolloutPct: 100,
  createdAt: FEED.newestAt,
  artifacts: [],
} as const;

describe('notes that take too long', () => {
  const isRendering = (job: NotesJob) => job.kind !== 'feed' && !job.isPlain;

  it('are shown as they were written, on the page of a release and in feeds', async () => {
    const renderer = new NotesRenderer(new Thread(isRendering));
    expect(await renderer.html('# <b>')).toBe('<pre># &lt;b&gt;</pre>');
    const item = Buffer.from(await renderer.item('rss', FEED, RELEASE)).toString();
    expect(item).toContain('&lt;pre&gt;# &amp;lt;b&amp;gt;&lt;/pre&gt;');
  });

  it('are tried once, and others are rendered', async () => {
    const thread = new Thread((job) => isRendering(job) && 'notes' in job && job.notes === 'slow');
    const renderer = new NotesRenderer(thread);
    for (let time = 0; time < 3; time++)
      expect(await renderer.html('slow')).toBe('<pre>slow</pre>');
    expect(thread.jobs.filter(isRendering)).toHaveLength(1);
    expect(await renderer.html('# a')).toBe('<h1>a</h1>');
  });

  it('a feed that cannot be written in time at all is a 503', async () => {
    const renderer = new NotesRenderer(new Thread(() => true));
    await expect(renderer.html('a')).rejects.toBeInstanceOf(Unavailable);
    await expect(renderer.feed('rss', FEED, [])).rejects.toBeInstanceOf(Unavailable);
  });

  it('a feed is whole, with the tag of its bytes', async () => {
    const renderer = new NotesRenderer(new Thread(() => false));
    const items = [
      await renderer.item('json', FEED, RELEASE),
      await renderer.item('json', FEED, { ...RELEASE, version: '0.9.0' }),
    ];
    const { bytes, etag } = await renderer.feed('json', FEED, items);
    const { app, channel, releases } = JSON.parse(bytes.toString()) as Record<string, unknown[]>;
    expect([app, channel]).toEqual(['notes', 'stable']);
    expect(releases).toEqual([RELEASE, { ...RELEASE, version: '0.9.0' }]);
    expect(etag).toMatch(/^"[\w-]{43}"$/);
  });
});
