// Tests the change of the key of webhook secrets on a ledger in memory: in batches, once, and whatever
// happens meanwhile.

import { describe, expect, it } from 'vitest';
import { fail } from '../../src/contract/failure.ts';
import { SecretBox } from '../../src/notify/secret-box.ts';
import { ResealSecrets } from '../../src/publishing/webhooks.ts';
import type { ResealedSecret, SecretPlace } from '../../src/store/console-ledger.ts';
import type { ResealedDdiSecret, StoredDdiSecret } from '../../src/store/ddi-ledger.ts';
import type {
  DestinationSecrets,
  ResealedDestination,
} from '../../src/store/destination-ledger.ts';

const former = new SecretBox(['the key before']);
const both = new SecretBox(['the new key', 'the key before']);

/** Sealed secrets by app id. */
class Rows {
  readonly sealed = new Map<string, string>();
  readonly batches: number[] = [];
  destinations: DestinationSecrets[] = [];
  ddi: StoredDdiSecret[] = [];

  constructor(count: number) {
    for (let index = 0; index < count; index++) {
      const appId = `app_${String(index).padStart(4, '0')}`;
      this.sealed.set(appId, former.seal(`secret ${index}`, `webhook:${appId}`));
    }
  }

  async listDestinationSecrets(after: string | undefined, countMax: number) {
    const rows = this.destinations.filter(({ id }) => id > (after ?? ''));
    return rows.slice(0, countMax);
  }

  async replaceDestinationSecrets(changes: readonly ResealedDestination[]): Promise<number> {
    for (const { to } of changes) {
      this.destinations = this.destinations.map((each) => (each.id === to.id ? to : each));
    }
    return changes.length;
  }

  async listDdiSecrets(after: string, countMax: number) {
    return this.ddi.filter(({ id }) => id > after).slice(0, countMax);
  }

  async replaceDdiSecrets(changes: readonly ResealedDdiSecret[]): Promise<number> {
    const sealedOf = new Map(changes.map(({ id, to }) => [id, to]));
    this.ddi = this.ddi.map(({ id, sealed }) => ({ id, sealed: sealedOf.get(id) ?? sealed }));
    return changes.length;
  }

  async listSealedSecrets(after: SecretPlace | undefined, countMax: number) {
    const provider = 'github' as const;
    const rows = [...this.sealed].filter(([appId]) => appId > (after?.appId ?? ''));
    const batch = rows
      .slice(0, countMax)
      .map(([appId, sealedSecret]) => ({ appId, provider, sealedSecret }));
    this.batches.push(batch.length);
    return batch;
  }

  async replaceSealedSecrets(changes: readonly ResealedSecret[]): Promise<number> {
    const right = changes.filter(({ appId, from }) => this.sealed.get(appId) === from);
    for (const { appId, to } of right) this.sealed.set(appId, to);
    return right.length;
  }
}

describe('ResealSecrets', () => {
  it('seals every secret under the first key, a hundred at a time, and once', async () => {
    const ledger = new Rows(250);
    const resealing = new ResealSecrets({ ledger, box: both });
    expect(await resealing.reseal(undefined)).toEqual({ resealed: 250, unreadable: 0, next: null });
    expect(ledger.batches).toEqual([100, 100, 50]);
    const alone = new SecretBox(['the new key']);
    const opened = [...ledger.sealed].map(([appId, text]) => alone.open(text, `webhook:${appId}`));
    expect(opened.map((each) => each?.secret)).toEqual(opened.map((_, index) => `secret ${index}`));
    const before = new Map(ledger.sealed);
    expect(await resealing.reseal(undefined)).toEqual({ resealed: 0, unreadable: 0, next: null });
    expect(ledger.sealed).toEqual(before);
  });

  it('secrets of destinations follow, the former ones as well', async () => {
    const ledger = new Rows(1);
    const seal = (id: string) => former.seal(`whsec_ of ${id}`, `destination:${id}`);
    const ids = Array.from({ length: 150 }, (_, index) => `dst_${String(index).padStart(4, '0')}`);
    ledger.destinations = ids.map((id) => ({ id, sealed: seal(id), former: seal(id) }));
    ledger.destinations.push({ id: 'dst_9999', sealed: 'what no key opens', former: null });
    const resealing = new ResealSecrets({ ledger, box: both });
    const all = { resealed: 151, unreadable: 1, next: null };
    expect(await resealing.reseal(undefined)).toEqual(all);
    expect(await resealing.reseal(undefined)).toEqual({ ...all, resealed: 0 });
    const alone = new SecretBox(['the new key']);
    const opened = ledger.destinations.flatMap(({ id, sealed, former: before }) =>
      [sealed, before ?? ''].map((text) => alone.open(text, `destination:${id}`)?.secret),
    );
    expect(opened.slice(0, 300)).toEqual(ids.flatMap((id) => Array(2).fill(`whsec_ of ${id}`)));
  });

  it('secrets of device tokens come last', async () => {
    const ledger = new Rows(1);
    const owner = (id: string) => `ddi-secret:${id}`;
    const ids = Array.from({ length: 101 }, (_, index) => `dds_${String(index).padStart(4, '0')}`);
    ledger.ddi = ids.map((id) => ({ id, sealed: former.seal(`secret of ${id}`, owner(id)) }));
    ledger.ddi.push({ id: 'dds_9999', sealed: 'what no key opens' });
    const resealing = new ResealSecrets({ ledger, box: both });
    const all = { resealed: 102, unreadable: 1, next: null };
    expect(await resealing.reseal(undefined)).toEqual(all);
    expect(await resealing.reseal('device-tokens/dds_0099')).toEqual({ ...all, resealed: 0 });
    const alone = new SecretBox(['the new key']);
    const opened = ledger.ddi.map(({ id, sealed }) => alone.open(sealed, owner(id))?.secret);
    expect(opened).toEqual([...ids.map((id) => `secret of ${id}`), undefined]);
  });

  it('a call ends after two seconds and tells where the next one goes on', async () => {
    let clock = 0;
    const now = () => {
      clock += 1500;
      return clock;
    };
    const resealing = new ResealSecrets({ ledger: new Rows(250), box: both, now });
    const next = 'app_0199/github';
    expect(await resealing.reseal(undefined)).toEqual({ resealed: 200, unreadable: 0, next });
    const rest = { resealed: 50, unreadable: 0, next: 'device-tokens/' };
    expect(await resealing.reseal(next)).toEqual(rest);
  });

  it('a secret that no key opens is counted, and stays; without SECRET_KEY nothing is sealed', async () => {
    const ledger = new Rows(3);
    const foreign = new SecretBox(['a key of another service']).seal('x', 'webhook:app_0001');
    ledger.sealed.set('app_0001', foreign);
    const resealing = new ResealSecrets({ ledger, box: both });
    expect(await resealing.reseal(undefined)).toEqual({ resealed: 2, unreadable: 1, next: null });
    expect(ledger.sealed.get('app_0001')).toBe(foreign);
    const keyless = new ResealSecrets({ ledger, box: undefined });
    expect(await keyless.reseal(undefined)).toEqual(fail('secretKeyMissing'));
  });

  it('a secret that was replaced meanwhile is not sealed again', async () => {
    const ledger = new Rows(2);
    const list = ledger.listSealedSecrets.bind(ledger);
    ledger.listSealedSecrets = async (after, countMax) => {
      const batch = await list(after, countMax);
      ledger.sealed.set('app_0000', 'the secret of an owner who enabled it again');
      return batch;
    };
    const resealing = new ResealSecrets({ ledger, box: both });
    expect(await resealing.reseal(undefined)).toMatchObject({ resealed: 1 });
    expect(ledger.sealed.get('app_0000')).toBe('the secret of an owner who enabled it again');
  });
});
