// Tests checks that wait for the engine: each goes on in the turn of the answer, and ends once.

import { describe, expect, it } from 'vitest';
import { fail } from '../../src/contract/failure.ts';
import { ADMITTED } from '../../src/domain/fleet/sliding-window-limiter.ts';
import type { Asker } from '../../src/flow/batcher.ts';
import { WaitingCheck } from '../../src/http/device/waiting-check.ts';
import { NO_STORE, replyHead } from '../../src/http/transport/reply.ts';
import { gate } from '../support/gate.ts';
import { silentTraffic } from '../support/http-engines.ts';
import { responseOf } from './fake-exchange.ts';

const DECISION = { candidate: undefined };
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** A check that waits, its statuses, what it asked for, and who waits for the limit and for the note. */
function begin(parts: object = {}, mustSettle = false, response: object = {}) {
  const statuses: string[] = [];
  const called: string[] = [];
  const waiting: { settled?: Asker<number>; noted?: Asker<boolean> } = {};
  const traffic = silentTraffic();
  const query = { scope: { slot: {} } };
  const check = {
    now: () => void called.push('now'),
    noteLabels(_query: object, _device: object, asker: Asker<boolean>) {
      called.push('noteLabels');
      waiting.noted = asker;
      return true;
    },
    noted: () => called.push('noted') && DECISION,
    async later(_query: object, _device: object, isNoted?: boolean) {
      called.push(`later ${isNoted}`);
      return DECISION;
    },
    ...parts,
  };
  const limits = { settle: (asker: Asker<number>) => Object.assign(waiting, { settled: asker }) };
  const reply = () => ({ status: 204, head: replyHead(204, NO_STORE) });
  const question = { ready: undefined, reply, ...parts };
  const replies = traffic.on({ surface: 'device', method: 'GET', route: '/u' });
  let leave = () => {};
  const onAborted = (listener: () => void) => {
    leave = listener;
  };
  const res = { ...responseOf(statuses), onAborted, ...response };
  new WaitingCheck<never>(
    { question, check, gate: limits, replies, traffic } as never,
    { res, isHead: false, path: '/u/acme' } as never,
    { query, device: {}, ifNoneMatch: '' } as never,
  ).begin(mustSettle);
  const inFlight = async () => !(await traffic.drain(0));
  const replaceSlot = () => Object.assign(query.scope, { slot: {} });
  return { statuses, called, waiting, replaceSlot, leave: () => leave(), inFlight };
}

describe('a check that waits', () => {
  it('for its labels is answered in the turn in which they are noted', async () => {
    const { statuses, called, waiting, inFlight } = begin();
    expect([called, statuses]).toEqual([['noteLabels'], []]);
    expect(await inFlight()).toBe(true);
    waiting.noted?.answered(true);
    expect([called, statuses]).toEqual([['noteLabels', 'noted'], ['204']]);
    expect(await inFlight()).toBe(false);
  });

  it('for the limit goes on where it is admitted, and notes its labels then', () => {
    const { statuses, called, waiting } = begin({}, true);
    expect(called).toEqual([]);
    waiting.settled?.answered(ADMITTED);
    expect(called).toEqual(['now', 'noteLabels']);
    waiting.noted?.answered(true);
    expect(statuses).toEqual(['204']);
    const admitted = begin({ now: () => DECISION }, true);
    admitted.waiting.settled?.answered(ADMITTED);
    expect([admitted.called, admitted.statuses]).toEqual([[], ['204']]);
    // Above the limit it is 429, and nothing is decided.
    const limited = begin({}, true);
    limited.waiting.settled?.answered(7);
    expect([limited.called, limited.statuses]).toEqual([[], ['429']]);
  });

  it('for more than the note goes on to `later`, which learns what became of the note', async () => {
    const outcomes: (readonly [object, (made: ReturnType<typeof begin>) => void, string])[] = [
      [{ noteLabels: () => false }, () => undefined, 'later undefined'],
      [{}, ({ waiting }) => waiting.noted?.answered(false), 'later false'],
      [{ noted: () => undefined }, ({ waiting }) => waiting.noted?.answered(true), 'later true'],
      // Another channel of that name: its device was not noted.
      [{}, (made) => made.replaceSlot() && made.waiting.noted?.answered(true), 'later undefined'],
    ];
    for (const [parts, goOn, expected] of outcomes) {
      const made = begin(parts);
      goOn(made);
      expect(made.called.at(-1)).toBe(expected);
      await nextTurn();
      expect(made.statuses).toEqual(['204']);
    }
    const refused = begin({ noteLabels: () => false, later: async () => fail('unknownApp') });
    await nextTurn();
    expect(refused.statuses).toEqual(['404']);
  });

  it('waits for a document that is not written yet', async () => {
    const { opened, open } = gate();
    const { statuses, waiting } = begin({ ready: () => opened });
    waiting.noted?.answered(true);
    await nextTurn();
    expect(statuses).toEqual([]);
    open();
    await nextTurn();
    expect(statuses).toEqual(['204']);
  });

  it('fails alone, with a 500, whatever step is wrong', async () => {
    const bug = () => {
      throw new Error('unforeseen');
    };
    const steps: (readonly [object, (made: ReturnType<typeof begin>) => void])[] = [
      [{ noteLabels: bug }, () => undefined],
      [{ noted: bug }, ({ waiting }) => waiting.noted?.answered(true)],
      [{ reply: bug }, ({ waiting }) => waiting.noted?.answered(true)],
      [{ later: async () => bug() }, ({ waiting }) => waiting.noted?.answered(false)],
      [{ noteLabels: () => false, reply: bug }, () => undefined],
      [{}, ({ waiting }) => waiting.noted?.failed(new Error('unforeseen'))],
    ];
    for (const [parts, goOn] of steps) {
      const made = begin(parts);
      goOn(made);
      await nextTurn();
      expect(made.statuses).toEqual(['500']);
      expect(await made.inFlight()).toBe(false);
    }
    const limited = begin({}, true);
    limited.waiting.settled?.failed(new Error('unforeseen'));
    expect(limited.statuses).toEqual(['500']);
  });

  it('ends once, also where its reply cannot be written', async () => {
    const cork = () => {
      throw new Error('unforeseen');
    };
    const { statuses, waiting, inFlight } = begin({}, false, { cork });
    waiting.noted?.answered(true);
    await nextTurn();
    expect(statuses).toEqual([]);
    expect(await inFlight()).toBe(false);
  });

  it('answers nobody once its client has left', async () => {
    const { statuses, waiting, leave, inFlight } = begin();
    leave();
    waiting.noted?.answered(true);
    expect([statuses, await inFlight()]).toEqual([[], false]);
  });
});
