// Tests the rendering of notes beside the serving thread: one job at a time, given up when it takes too long
// or too much memory, and another thread for the next one. Notes that take too long are shown as they were
// written, and cost their time once.

import { setFlagsFromString } from 'node:v8';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { answerNotesJob, type NotesAnswer, type NotesJob } from '../../src/http/notes/notes-job.ts';
import { GIVEN_UP, JobThread, NotesRenderer } from '../../src/http/notes/notes-renderer.ts';

const PROGRAM = new URL('./job-program.mjs', import.meta.url);
/** Longest wait for a job that is answered at once, on a busy machine. */
const SOON_MS = 10_000;

describe('a thread for jobs', () => {
  let thread: JobThread<number | string, number>;
  beforeEach(() => {
    thread = new JobThread({ program: PROGRAM, waitingMax: 3, heapMibMax: 32 });
  });
  afterEach(() => thread.stop());

  it('does one job after the other, and refuses one when too many wait', async () => {
    const jobs = [1, 2, 3, 4].map((job) => thread.ask(job, SOON_MS));
    await expect(thread.ask(5, SOON_MS)).rejects.toBeInstanceOf(Unavailable);
    expect(await Promise.all(jobs)).toEqual([2, 4, 6, 8]);
  });

  it.each([
    ['takes too long', 'loop', 200],
    ['takes too much memory', 'fill', SOON_MS],
    ['ends the thread', 'exit', SOON_MS],
  ])('gives up a job that %s, and does those behind it', async (_what, job, msMax) => {
    const [bad, next] = [thread.ask(job, msMax), thread.ask(2, SOON_MS)];
    expect(await bad).toBe(GIVEN_UP);
    expect(await next).toBe(4);
  });

  it('gives up a job that takes too much memory in a process with a large young heap', async () => {
    // Half of the threads ended the process with the 32 MB of `npm start`.
    setFlagsFromString('--max-semi-space-size=32');
    const large = new JobThread({ program: PROGRAM, waitingMax: 3, heapMibMax: 128 });
    for (let job = 0; job < 2; job++) expect(await large.ask('fill', 60_000)).toBe(GIVEN_UP);
    await large.stop();
  });

  it('an error is told to who asked, and to nobody else', async () => {
    const [bad, next] = [thread.ask('throw', SOON_MS), thread.ask(2, SOON_MS)];
    await expect(bad).rejects.toThrow('a bug');
    expect(await next).toBe(4);
  });

  it('the thread has none of the settings of the service, and nothing begins after a stop', async () => {
    expect(await thread.ask('secrets', SOON_MS)).toBe(0);
    await thread.stop();
    await expect(thread.ask(1, SOON_MS)).rejects.toBeInstanceOf(Unavailable);
  });

  it('a program that cannot be loaded is a store that is away', async () => {
    const program = new URL('./no-such-program.mjs', import.meta.url);
    const broken = new JobThread({ program, waitingMax: 3, heapMibMax: 32 });
    await expect(broken.ask(1, SOON_MS)).rejects.toBeInstanceOf(Unavailable);
  });
});

/** Thread that does its jobs at once, and gives up those that a test names. */
class Thread {
  readonly jobs: NotesJob[] = [];

  constructor(private readonly isTooMuch: (job: NotesJob) => boolean) {}

  async ask(job: NotesJob): Promise<NotesAnswer | typeof GIVEN_UP> {
    this.jobs.push(job);
    return this.isTooMuch(job) ? GIVEN_UP : answerNotesJob(job);
  }

  async stop(): Promise<void> {}
}

const PLACE = { app: 'notes', channel: 'stable' };
const newestAt = '2026-01-02T03:04:05.000Z';
const FEED = { ...PLACE, newestAt, address: 'https://updates.example.com' };
const RELEASE = {
  ...{ id: 'rel_1', ...PLACE, version: '1.0.0', notes: '# <b>', artifacts: [] },
  ...({ status: 'published', rolloutPct: 100, createdAt: newestAt } as const),
};

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
    const releases = [RELEASE, { ...RELEASE, version: '0.9.0' }];
    expect(JSON.parse(bytes.toString())).toEqual({ ...PLACE, releases });
    expect(etag).toMatch(/^"[\w-]{43}"$/);
  });
});
