// Tests how processes share the streams of check-ins: evenly, each stream with one of them at a time.

import { afterEach, describe, expect, it, vi } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { StreamShare } from '../../src/fleet/check-in-drain.ts';
import { createLog } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';

const STREAMS = 8;
const LONG_MS = 2500;

/** Queue whose takers live until they leave, or are dropped. */
class Takers {
  readonly streams = STREAMS;
  readonly living = new Set<string>();
  isAway = false;
  /** Whether it keeps nothing new, as a full Redis: whoever lives is forgotten all the same. */
  isFull = false;

  async shareCheckIns(taker: string): Promise<readonly string[]> {
    if (this.isAway) throw new Unavailable('engine', 'it is away');
    if (this.isFull) this.living.clear();
    else this.living.add(taker);
    return [...this.living].sort();
  }

  async leaveCheckIns(taker: string): Promise<void> {
    this.living.delete(taker);
  }
}

const shares: StreamShare[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const share of shares.splice(0)) await share.stop();
});

function joined(takers: Takers, metrics = new Metrics(), log = createLog('silent')): StreamShare {
  const share = new StreamShare(takers, metrics, log);
  shares.push(share);
  share.start();
  return share;
}

function useFakeTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
}

function all(share: StreamShare): readonly number[] {
  return share.streamsOf(0, 1);
}

describe('the streams', () => {
  it('are all those of a process that is alone, at once, shared by its drains, and nobody’s after it', async () => {
    const takers = new Takers();
    const share = joined(takers);
    await vi.waitFor(() => expect(all(share)).toHaveLength(STREAMS));
    const [first, second] = [share.streamsOf(0, 2), share.streamsOf(1, 2)];
    expect([...first, ...second].sort()).toEqual(all(share));
    expect(first).toHaveLength(STREAMS / 2);
    await share.stop();
    expect(all(share)).toEqual([]);
    expect(takers.living.size).toBe(0);
  });

  it('are never those of two processes at a time, whoever joins and goes', async () => {
    useFakeTime();
    const takers = new Takers();
    const members: StreamShare[] = [];
    const watch = async () => {
      for (let ms = 0; ms < LONG_MS; ms += 50) {
        await vi.advanceTimersByTimeAsync(50);
        const taken = members.flatMap(all);
        expect(new Set(taken).size).toBe(taken.length);
      }
    };
    for (let round = 0; round < 4; round++) {
      members.push(joined(takers));
      await watch();
      expect(members.flatMap(all)).toHaveLength(STREAMS);
    }
    await members.shift()?.stop();
    await watch();
    expect(members.flatMap(all)).toHaveLength(STREAMS);
    expect(Math.max(...members.map((each) => all(each).length))).toBe(3);
  });

  it('stay with whom they are while the engine does not answer, or answers what nobody expects, which is logged', async () => {
    useFakeTime();
    const takers = new Takers();
    const lines: unknown[] = [];
    const metrics = new Metrics();
    const log = { error: (...line: unknown[]) => lines.push(line) } as never;
    const share = joined(takers, metrics, log);
    await vi.advanceTimersByTimeAsync(0);
    takers.isAway = true;
    await vi.advanceTimersByTimeAsync(LONG_MS);
    expect(all(share)).toHaveLength(STREAMS);
    expect(lines).toEqual([]);
    takers.isAway = false;
    const error = new Error('WRONGTYPE');
    takers.shareCheckIns = () => Promise.reject(error);
    await vi.advanceTimersByTimeAsync(LONG_MS);
    expect(all(share)).toHaveLength(STREAMS);
    expect(lines).toContainEqual([{ err: error }, 'check-ins are not shared']);
    expect(metrics.faults.counts.get('check-in-share')).toBeGreaterThan(lines.length);
  });

  it('are taken while the engine is full and knows no taker: that is what frees it', async () => {
    useFakeTime();
    const takers = new Takers();
    const members = [joined(takers), joined(takers)];
    await vi.advanceTimersByTimeAsync(LONG_MS);
    const before = members.map(all);
    takers.isFull = true;
    await vi.advanceTimersByTimeAsync(LONG_MS);
    expect(members.map(all)).toEqual(before);
    // A process that starts then takes what nobody is known to take.
    const late = joined(takers);
    await vi.advanceTimersByTimeAsync(LONG_MS);
    expect(all(late)).toHaveLength(STREAMS);
    takers.isFull = false;
  });
});
