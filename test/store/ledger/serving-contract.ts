// Rules of the ledger port for serving control and first offers.

import { describe, expect, test } from 'vitest';
import { fail, isFailure } from '../../../src/contract/failure.ts';
import type { Targeting } from '../../../src/contract/resource.ts';
import {
  createTenant,
  PUBLISHER,
  type TestTenant,
  tenantOfEach,
  UNKNOWN_NAMES,
} from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

/** First states of a channel: no test of this suite raises the epoch. */
const at = (revision: number) => ({ epoch: 0, revision });
const NOT_MINE: Targeting = { matchLabels: { ring: ['1'] }, matchExpressions: [] };
const neverAsked = () => {
  throw new Error('asked');
};

export function describeServing({ database, ledger }: LedgerUnderTest): void {
  const tenant = tenantOfEach(ledger);
  const stateOf = async () => [await tenant.stable(), await tenant.audit()];
  const revisionOf = async (of: TestTenant) => (await of.stable()).revision;

  describe('serving control', () => {
    test('a change is stored, bumps the revision and is answered in full', async () => {
      await tenant.release('1.0.0', { version: 'v1' });
      const change = { rollout: 30, status: 'paused', targets: NOT_MINE } as const;
      const { value, changed } = await tenant.serve('1.0.0', change);
      const serving = { rolloutPct: 30, status: 'paused', targets: NOT_MINE };
      expect(value).toEqual({ app: tenant.app, channel: 'stable', version: 'v1', ...serving });
      expect(changed).toMatchObject([{ appRef: tenant.app, channel: 'stable', revision: 3 }]);
      const { revision, releases } = await tenant.stable();
      expect(revision).toBe(3);
      expect(releases).toMatchObject([serving]);
      const cleared = await tenant.serve('1.0.0', { targets: null });
      expect(cleared.value.targets).toBeNull();
    });

    test('a transition that is refused, throws or changes nothing leaves nothing', async () => {
      await tenant.release('1.0.0', { targets: NOT_MINE });
      const first = await stateOf();
      const bug = tenant.control('1.0.0', () => {
        throw new Error('a bug');
      });
      await expect(bug).rejects.toThrow('a bug');
      expect(await stateOf()).toEqual(first);
      const same = { rollout: 100, status: 'published', targets: NOT_MINE } as const;
      const { value, changed } = await tenant.serve('1.0.0', same);
      expect(value).toMatchObject({ rolloutPct: 100, status: 'published' });
      expect(changed).toEqual([]);
      expect(await stateOf()).toEqual(first);
      await tenant.serve('1.0.0', { status: 'rolled_back' });
      const before = await stateOf();
      const refused = await tenant.control('1.0.0', { rollout: 1, status: 'published' });
      expect(refused).toEqual(fail('rolledBack'));
      expect(await stateOf()).toEqual(before);
    });

    test('changes at once to one release apply one after the other, and none is lost', async () => {
      await tenant.release('1.0.0', { rolloutPct: 0 });
      await Promise.all(
        Array.from({ length: 10 }, () =>
          tenant.control('1.0.0', (now) => ({ ...now, rolloutPct: now.rolloutPct + 1 })),
        ),
      );
      const { revision, releases } = await tenant.stable();
      expect([revision, releases[0]?.rolloutPct]).toEqual([12, 10]);
    });

    test('an unknown app, channel or release is refused before the transition is asked', async () => {
      await tenant.release('1.0.0');
      const known = { app: tenant.app, channel: 'stable', canonicalVersion: '1.0.0' };
      const call = (part: object) =>
        ledger.controlServing({
          scope: tenant.organizationId,
          input: { ...known, ...part, transition: neverAsked },
          actor: PUBLISHER,
        });
      for (const name of UNKNOWN_NAMES) {
        expect(await call({ app: name })).toEqual(fail('unknownApp'));
        expect(await call({ channel: name })).toEqual(fail('unknownChannel'));
        expect(await call({ canonicalVersion: name })).toEqual(fail('unknownRelease'));
      }
    });
  });

  describe('first offers', () => {
    async function published(parts: Parameters<TestTenant['release']>[1] = {}) {
      const own = await createTenant(ledger);
      const { value, changed } = await own.release('1.0.0', parts);
      const [releaseId, channelId] = [value.id, changed[0]?.channelId ?? ''];
      const offer = (order = at(2)) => ledger.recordFirstOffer(channelId, releaseId, order);
      const isOffered = async () => (await own.stable()).releases[0]?.offered;
      return { own, releaseId, channelId, offer, isOffered };
    }

    test('at the revision it was decided from, it is recorded, and moves no revision', async () => {
      const { own, offer, isOffered } = await published();
      for (const other of [at(1), at(3), { epoch: 1, revision: 2 }]) {
        expect(await offer(other)).toBe(false);
      }
      expect(await isOffered()).toBe(false);
      expect(await offer()).toBe(true);
      expect(await isOffered()).toBe(true);
      expect(await revisionOf(own)).toBe(2);
    });

    test('repeated or at once, it is recorded once and true for everybody', async () => {
      const { releaseId, offer, isOffered } = await published();
      const outcomes = await Promise.all(Array.from({ length: 12 }, () => offer()));
      expect(new Set(outcomes)).toEqual(new Set([true]));
      const read = () =>
        database.query('SELECT offered_at, xmin::text FROM releases WHERE id = $1', [releaseId]);
      const row = await read();
      expect(await offer()).toBe(true);
      expect(await read()).toEqual(row);
      expect(await isOffered()).toBe(true);
    });

    test('only a published release of that channel can be offered', async () => {
      const { releaseId, channelId, isOffered, offer } = await published({ status: 'paused' });
      const other = await published();
      expect(await offer()).toBe(false);
      expect(await ledger.recordFirstOffer(other.channelId, releaseId, at(2))).toBe(false);
      expect(await ledger.recordFirstOffer(channelId, 'nul\u0000', at(2))).toBe(false);
      expect(await isOffered()).toBe(false);
    });

    test('whether a release was offered is never taken from the transition', async () => {
      const { own, offer, isOffered } = await published();
      await own.serve('1.0.0', (now) => ({ ...now, rolloutPct: 9, offered: true }));
      expect(await isOffered()).toBe(false);
      await offer(at(3));
      await own.serve('1.0.0', (now) => ({ ...now, rolloutPct: 10, offered: false }));
      expect(await isOffered()).toBe(true);
    });

    test('raced against a narrowing, either the offer fails or the narrowing is refused', async () => {
      for (let round = 0; round < 10; round++) {
        const { own, offer } = await published({ rolloutPct: 50 });
        const [isRecorded, outcome] = await Promise.all([
          offer(),
          own.control('1.0.0', { rollout: 10 }),
        ]);
        expect(isRecorded).toBe(isFailure(outcome));
        const [release] = (await own.stable()).releases;
        expect(release).toMatchObject(
          isRecorded ? { offered: true, rolloutPct: 50 } : { offered: false, rolloutPct: 10 },
        );
      }
    });
  });
}
