// Tests the thread beside the serving thread: one job at a time, given up when it takes too long or too much
// memory, and another thread for the next one.

import { setFlagsFromString } from 'node:v8';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { GIVEN_UP, JobThread } from '../../src/http/notes/notes-renderer.ts';

const PROGRAM = new URL('./job-program.mjs', import.meta.url);
/** Longest wait for a job that is answered at once, on a busy machine. */
const SOON_MS = 10_000;

describe('a thread for jobs', () => {
  let thread: JobThread<number | string, number>;
  beforeEach(() => {
    thread = new JobThread({ program: PROGRAM, waitingMax: 3, heapMibMax: 32 });
  });
  afterEach(() => thread.stop());

  it('does one job after the other', async () => {
    const jobs = [1, 2, 3].map((job) => thread.ask(job, SOON_MS));
    expect(await Promise.all(jobs)).toEqual([2, 4, 6]);
  });

  it('refuses a job when too many wait', async () => {
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
    for (let job = 0; job < 2; job++) {
      expect(await large.ask('fill', 60_000)).toBe(GIVEN_UP);
    }
    await large.stop();
  });

  it('an error is told to who asked, and to nobody else', async () => {
    const [bad, next] = [thread.ask('throw', SOON_MS), thread.ask(2, SOON_MS)];
    await expect(bad).rejects.toThrow('a bug');
    expect(await next).toBe(4);
  });

  it('the thread has none of the settings of the service', async () => {
    expect(await thread.ask('secrets', SOON_MS)).toBe(0);
  });

  it('a program that cannot be loaded is a store that is away', async () => {
    const program = new URL('./no-such-program.mjs', import.meta.url);
    const broken = new JobThread({ program, waitingMax: 3, heapMibMax: 32 });
    await expect(broken.ask(1, SOON_MS)).rejects.toBeInstanceOf(Unavailable);
  });

  it('nothing begins after a stop', async () => {
    await thread.stop();
    await expect(thread.ask(1, SOON_MS)).rejects.toBeInstanceOf(Unavailable);
  });
});
