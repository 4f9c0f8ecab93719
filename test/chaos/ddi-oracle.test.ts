// Tests that the judge of the chaos run calls wrong what no device that speaks DDI may be told
// (docs/contract.md 34.59 to 34.61), and nothing else.

import { describe, expect, it } from 'vitest';
import { type DdiAnswer, DdiHistory, type DdiPoll, ReleaseNumbers } from './ddi-oracle.ts';
import { Fact } from './fact.ts';
import { Judge } from './judge.ts';
import { ModelChannel, type ModelStatus } from './oracle.ts';

const TOLD = '1.0.0';
const [ONE, TWO] = ['11', '21'];

/** A device on record of a channel with 1.1.0 and 1.2.0, whose changes the stores have unless `isLost`. */
function deviceOf(...versions: readonly string[]) {
  const model = new ModelChannel();
  const numbers = new ReleaseNumbers();
  for (const version of versions) {
    const status = new Fact<ModelStatus>('published', 0, 0);
    const release = { version, ring: undefined, status, isForAll: new Fact(true, 0, 0) };
    model.releases.set(version, { ...release, offeredAt: 1 });
  }
  const history = new DdiHistory('device', model, numbers);
  const stores = { isLost: false, isLosing: false };
  let now = 100;
  const answer = (): DdiAnswer => {
    now += 10;
    const isKept: DdiAnswer['isKept'] = ({ answered }) => !stores.isLost && answered < Infinity;
    const { isLosing } = stores;
    return {
      asked: now,
      answered: now + 1,
      span: { from: now - 5, to: now + 1 },
      isLosing,
      isKept,
    };
  };
  const poll = (listed: Partial<DdiPoll> = {}) => {
    const nothing = { deployment: undefined, cancel: undefined, asksAttributes: false };
    return history.poll({ ...answer(), version: undefined, ...nothing, ...listed });
  };
  const change = (isClosing = false) => ({ ...answer(), isClosing });
  const close = (id: string, result: 'success' | 'failure') =>
    history.closed(id, id === TWO ? '1.2.0' : '1.1.0', result, change(true));
  const tell = (version: string) => history.attributes(change(), version);
  const fetch = (id: string, version?: string) => history.fetched(answer(), id, version);
  tell(TOLD);
  return { history, model, numbers, stores, answer, poll, close, tell, fetch, now: () => now };
}

/** A device that has fetched the action for the only release. */
function fetched() {
  const device = deviceOf('1.1.0');
  expect(device.poll({ deployment: ONE })).toBeUndefined();
  expect(device.fetch(ONE, '1.1.0')).toBeUndefined();
  return device;
}

describe('the judge of devices that speak DDI', () => {
  it('allows an update from the poll to the new version, without a word', () => {
    const { poll, close, tell } = fetched();
    expect(poll({ deployment: ONE })).toBeUndefined();
    close(ONE, 'success');
    tell('1.1.0');
    expect(poll()).toBeUndefined();
  });

  it('has one action in a poll, and for a device (§34.59)', () => {
    expect(fetched().poll({ deployment: ONE, cancel: ONE })).toContain('lists 11 and 11');
    const { poll } = fetched();
    expect(poll({ deployment: TWO })).toBe('11 and 21 are both open');
    expect(poll({ deployment: ONE })).toBe('the action 11 is there after its end');
  });

  it('has no action for a release that the record lost, once nodes know that (§34.60)', () => {
    const { model, fetch, poll } = fetched();
    model.releases.get('1.1.0')?.status.settle('absent', { from: 50, to: 60 });
    expect(fetch(ONE, '1.1.0')).toBe('11 is fetched for 1.1.0, which was absent all the time');
    // What a poll lists may be another release, to which the number was given again.
    expect(poll({ deployment: ONE })).toBeUndefined();
  });

  it('has one release for an id, unless the record has lost it (§34.59)', () => {
    expect(fetched().fetch(ONE, '1.2.0')).toBe('the id 11 means 1.1.0 and 1.2.0');
    const lost = fetched();
    lost.model.releases.get('1.1.0')?.status.settle('absent', { from: 100, to: 200 });
    expect(lost.fetch(ONE, '1.2.0')).toBeUndefined();
  });

  it('has no action after its closing, unless the stores lost that (§34.61)', () => {
    const { poll, close, stores } = fetched();
    close(ONE, 'success');
    stores.isLost = true;
    expect(poll({ deployment: ONE })).toBeUndefined();
    stores.isLost = false;
    close(ONE, 'failure');
    expect(poll({ deployment: ONE })).toBe('the action 11 is there after its closing');
  });

  it('may keep a device barred by a closing that one of the stores lost', () => {
    const { poll, close, stores } = fetched();
    close(ONE, 'failure');
    stores.isLost = true;
    expect(poll({ deployment: ONE })).toBeUndefined();
    stores.isLost = false;
    expect(poll()).toBeUndefined();
    const other = fetched();
    expect(other.poll({ deployment: ONE })).toBeUndefined();
    expect(other.poll()).toBe('1.1.0 is not listed, but nothing');
  });

  it('has no second action before the end of a bar (§34.60)', () => {
    const { poll, close, tell } = fetched();
    close(ONE, 'success');
    expect(poll({ deployment: '12' })).toContain('from which the device is barred');
    tell('1.1.0');
    tell(TOLD);
    expect(poll({ deployment: '13' })).toBeUndefined();
  });

  it('has an action for a release to which the number of a lost one was given that it closes', () => {
    const { model, numbers, poll, close } = fetched();
    model.releases.get('1.1.0')?.status.settle('absent', { from: 100, to: 200 });
    const status = new Fact<ModelStatus>('published', 0, 0);
    const next = { version: '1.2.0', ring: undefined, status, isForAll: new Fact(true, 0, 0) };
    model.releases.set('1.2.0', { ...next, offeredAt: 1 });
    // Another device has fetched it.
    expect(numbers.fault('15', '1.2.0', model)).toBeUndefined();
    close(ONE, 'failure');
    expect(poll({ deployment: '12' })).toBeUndefined();
  });

  it('has no action for the version on record, nor for a lower one (§34.60)', () => {
    const { poll } = fetched();
    expect(poll({ deployment: ONE, version: '1.1.0' })).toContain('the device has told 1.1.0');
    expect(poll({ deployment: ONE, version: '1.3.0' })).toContain('the device has told 1.3.0');
  });

  it('has no action for a release that was paused in every state of the span (§34.60)', () => {
    const { poll, model } = fetched();
    model.releases.get('1.1.0')?.status.change('paused', 110)(111);
    expect(poll({ deployment: ONE })).toContain('which was paused all the time');
    expect(poll({ cancel: ONE })).toBeUndefined();
  });

  it('lists no less than is known (§34.61)', () => {
    const { poll, fetch } = fetched();
    expect(fetch(ONE)).toBe('the action 11 is unknown');
    expect(poll()).toBe('1.1.0 is not listed, but nothing');
    const both = deviceOf('1.1.0', '1.2.0');
    both.poll({ deployment: TWO });
    both.fetch(TWO, '1.2.0');
    both.close(TWO, 'failure');
    expect(both.poll()).toBeUndefined();
    const lower = deviceOf('1.1.0', '1.2.0');
    lower.fetch(ONE, '1.1.0');
    expect(lower.poll({ deployment: ONE })).toBe('1.2.0 is not listed, but 11');
    expect(lower.poll({ deployment: TWO, asksAttributes: true })).toContain('asked for again');
  });

  it('asks for no attributes again, unless a loss took the device until after they were told (§34.36)', () => {
    const { history, poll, tell, now } = deviceOf();
    const again = () => poll({ asksAttributes: true });
    history.back(now());
    expect(again()).toBe('attributes are asked for again');
    history.lost();
    tell(TOLD);
    expect(again()).toBeUndefined();
    history.back(now());
    expect(again()).toBeUndefined();
    tell(TOLD);
    history.back(now() + 1);
    expect(again()).toBe('attributes are asked for again');
  });

  it('asks for no attributes again of a device that no loss could take: it was told nothing before', () => {
    const { answer, model } = deviceOf();
    const history = new DdiHistory('new', model, new ReleaseNumbers());
    history.lost();
    history.attributes({ ...answer(), isClosing: false }, TOLD);
    const listed = { version: undefined, deployment: undefined, cancel: undefined };
    const again = { ...answer(), ...listed, asksAttributes: true };
    expect(history.poll(again)).toBe('attributes are asked for again');
  });

  it('knows of no release while the ledger goes back', () => {
    const { poll, fetch, stores } = fetched();
    stores.isLosing = true;
    expect(fetch(ONE)).toBeUndefined();
    expect(poll()).toBeUndefined();
  });

  it('is not sure of anything after a poll without an answer', () => {
    const { poll, history } = fetched();
    history.pollUnanswered(undefined, 150);
    expect(poll({ deployment: TWO })).toBeUndefined();
  });
});

describe('what the stores surely have', () => {
  const change = (isClosing: boolean) => {
    const asked = performance.now();
    return { asked, answered: asked, isClosing };
  };

  it('is a closing, unless the ledger was away and then the engine', () => {
    const before = new Judge(new Map());
    const closing = change(true);
    before.begin('engine')();
    expect(before.isKept(closing)).toBe(true);
    const judge = new Judge(new Map());
    judge.begin('ledger')();
    const later = change(true);
    expect(judge.isKept(later)).toBe(true);
    judge.begin('engine')();
    expect(judge.isKept(later)).toBe(false);
  });

  it('is another change, unless the engine was struck soon after it', () => {
    const judge = new Judge(new Map());
    const told = change(false);
    expect(judge.isKept(told)).toBe(true);
    judge.begin('engine')();
    expect(judge.isKept(told)).toBe(false);
  });

  it('is what an engine takes that is back, unless it cannot hear from the ledger what it missed', () => {
    const judge = new Judge(new Map());
    judge.begin('engine')();
    const heard = change(false);
    expect(judge.isKept(heard)).toBe(true);
    const end = judge.begin('ledger');
    const told = change(false);
    expect(judge.isKept(told)).toBe(false);
    end();
    expect(judge.isKept(change(false))).toBe(false);
    expect(judge.isKept(heard)).toBe(true);
  });

  it('is nothing that the ledger loses, and nothing without an answer', () => {
    const judge = new Judge(new Map());
    const closing = change(true);
    expect(judge.isKept({ ...closing, answered: Number.POSITIVE_INFINITY })).toBe(false);
    judge.begin('ledger', closing.answered);
    expect(judge.isKept(closing)).toBe(false);
  });
});
