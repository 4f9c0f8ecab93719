// Tests that the judge of the chaos run calls wrong what is wrong, and nothing else: a judge that lets
// everything pass would prove nothing.

import { describe, expect, it } from 'vitest';
import { Fact } from './fact.ts';
import { ModelChannel, type ModelRelease, type ModelStatus, oldestState } from './oracle.ts';

const DEVICE = 'device';

function release(version: string, ring?: string): ModelRelease {
  const status = new Fact<ModelStatus>('published', 0, 1);
  return { version, ring, status, isForAll: new Fact(true, 0, 0), offeredAt: 1 };
}

function channelOf(...releases: ModelRelease[]): ModelChannel {
  const channel = new ModelChannel();
  for (const each of releases) channel.releases.set(each.version, each);
  return channel;
}

/** Judges an answer at 100 of a node that may be as old as `from`. */
function fault(channel: ModelChannel, version: string | undefined, from: number, mayHold = false) {
  const told = { node: 'node', device: DEVICE, asked: 100, answered: 100, version };
  return channel.fault(told, { from, to: 100 }, mayHold);
}

describe('the judge of a chaos run', () => {
  it('allows the highest release, and calls a lower one or none held back', () => {
    const channel = channelOf(release('1.1.0'), release('1.10.0'));
    expect(fault(channel, '1.10.0', 50)).toBeUndefined();
    expect(fault(channel, '1.1.0', 50)).toBe('1.10.0 was held back, 1.1.0 was offered');
    expect(fault(channel, undefined, 50)).toContain('was held back, nothing was offered');
    expect(fault(channel, '2.0.0', 50)).toBe('2.0.0 was never published');
  });

  it('allows the state before a change only as long as a node may be behind it', () => {
    const paused = release('1.1.0');
    paused.status.change('paused', 60)(70);
    const channel = channelOf(paused);
    expect(fault(channel, '1.1.0', 65)).toBeUndefined();
    expect(fault(channel, undefined, 65)).toBeUndefined();
    expect(fault(channel, '1.1.0', 71)).toBe('1.1.0 was paused all the time');
  });

  it('allows both while a change is in doubt, and one of them once the record was read', () => {
    const doubtful = release('1.1.0');
    doubtful.status.change('paused', 20);
    const channel = channelOf(doubtful);
    expect(fault(channel, '1.1.0', 90)).toBeUndefined();
    expect(fault(channel, undefined, 90)).toBeUndefined();
    doubtful.status.settle('published', { from: 20, to: 80 });
    expect(fault(channel, undefined, 90)).toBe('1.1.0 was held back, nothing was offered');
  });

  it('demands the label that a release is for, as it was reported', () => {
    const channel = channelOf(release('1.1.0', 'early'));
    expect(fault(channel, undefined, 50)).toBeUndefined();
    expect(fault(channel, '1.1.0', 50)).toContain('never was in');
    const ring = new Fact<string | undefined>(undefined, 0, 0);
    ring.change('early', 10)(20);
    channel.rings.set(DEVICE, ring);
    expect(fault(channel, '1.1.0', 50)).toBeUndefined();
    expect(fault(channel, undefined, 50)).toBe('1.1.0 was held back, nothing was offered');
    expect(fault(channel, undefined, 15)).toBeUndefined();
  });

  it('lets a release that was offered only lately be held back while offers cannot be recorded', () => {
    const late = release('1.1.0');
    late.offeredAt = 60;
    expect(fault(channelOf(late), undefined, 50, true)).toBeUndefined();
    expect(fault(channelOf(late), undefined, 50)).toContain('held back');
    expect(fault(channelOf(late), undefined, 70, true)).toContain('held back');
  });

  it('counts the time in which a node could hear nothing, one span after another', () => {
    expect(oldestState(100_000, [])).toBe(94_000);
    const deaf = [
      { from: 90_000, to: 95_000 },
      { from: 80_000, to: 85_000 },
      { from: 10_000, to: 20_000 },
    ];
    expect(oldestState(100_000, deaf)).toBe(74_000);
  });
});
