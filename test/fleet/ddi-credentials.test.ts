// Tests the judgement of credentials that devices show over DDI (§34.42, §34.44): which are valid, how long
// what was read counts, and what is known while the ledger is away.

import { describe, expect, it } from 'vitest';
import { hashSecret } from '../../src/access/api-keys.ts';
import { DdiCredentials, type DdiJudgement } from '../../src/fleet/ddi-credentials.ts';
import { deviceTokenBytes } from '../../src/fleet/ddi-tokens.ts';
import { SecretBox } from '../../src/notify/secret-box.ts';
import { RareLog } from '../../src/observe/rare-log.ts';
import type { GatewayTokenUse, StoredDdiCredentials } from '../../src/store/ddi-ledger.ts';
import { ledgerAway } from '../support/fake-ledger.ts';

const APP = 'app_1';
const GATEWAY = 'A'.repeat(32);
const OTHER = 'B'.repeat(32);
const SECRET = 'the secret of the app';
const BOX = new SecretBox(['a key']);
/** Token of the device `d1`, which a later version must answer as well. */
const OF_D1 = 'iwUtyGdjUn4bw4fd-gnbHxZOkhSyTpag';

/** A node with the credentials of one app, whose ledger can be away or hang, and a clock. */
function furnish({ box }: { box: SecretBox | undefined } = { box: BOX }) {
  const sealed = BOX.seal(SECRET, 'ddi-secret:dds_1');
  const state = {
    ...{ now: 0, reads: [] as (readonly string[])[], uses: [] as GatewayTokenUse[] },
    ...{ isAway: false, isHung: false, warnings: [] as unknown[] },
    app: {
      appId: APP,
      tokens: [{ id: 'gwt_1', tokenHash: hashSecret(GATEWAY) }],
      secrets: [{ id: 'dds_1', sealed }],
    } as StoredDdiCredentials,
  };
  const ledger = {
    async readDdiCredentials(appIds: readonly string[]) {
      state.reads.push(appIds);
      if (state.isAway) throw ledgerAway();
      if (state.isHung) await new Promise(() => undefined);
      return appIds.map((appId) =>
        appId === APP ? state.app : { appId, tokens: [], secrets: [] },
      );
    },
    async recordGatewayTokenUses(uses: readonly GatewayTokenUse[]) {
      state.uses.push(...uses);
    },
  };
  const log = new RareLog({ warn: (details: unknown) => void state.warnings.push(details) });
  const credentials = new DdiCredentials({ ledger, box, log, now: () => state.now });
  const judge = async (header: string | undefined, deviceId = 'd1', app = APP) =>
    credentials.judge(app, deviceId, header);
  /** Judges a header that must be judged at once. */
  const judgeNow = (header: string): DdiJudgement => {
    const judgement = credentials.judge(APP, 'd1', header);
    if (typeof judgement !== 'string') throw new Error('This waits');
    return judgement;
  };
  return { state, credentials, judge, judgeNow };
}

const byGateway = `GatewayToken ${GATEWAY}`;
const byDevice = `TargetToken ${OF_D1}`;

describe('a credential', () => {
  it('of a device is 32 characters that follow from the secret, the app and the device', () => {
    const tokenOf = (...names: [app: string, device: string]) =>
      deviceTokenBytes(SECRET, ...names).toString('base64url');
    expect(tokenOf(APP, 'd1')).toBe(OF_D1);
    const others = [tokenOf(APP, 'd2'), tokenOf('app_', '1d1'), tokenOf('app_1d', '1')];
    expect(new Set([OF_D1, ...others]).size).toBe(4);
  });

  it.each<[header: string | undefined, device: string, app: string, judgement: DdiJudgement]>([
    [byGateway, 'd1', APP, 'valid'],
    [byGateway, 'any other', APP, 'valid'],
    [`gatewaytoken  ${GATEWAY} `, 'd1', APP, 'valid'],
    [byDevice, 'd1', APP, 'valid'],
    [`TARGETTOKEN ${OF_D1}`, 'd1', APP, 'valid'],
    [byDevice, 'd2', APP, 'invalid'],
    [byDevice, 'd1', 'app_2', 'invalid'],
    [byGateway, 'd1', 'app_2', 'invalid'],
    [`GatewayToken ${OTHER}`, 'd1', APP, 'invalid'],
    [`GatewayToken ${OF_D1}`, 'd1', APP, 'invalid'],
    [`TargetToken ${GATEWAY}`, 'd1', APP, 'invalid'],
    [`GatewayToken ${GATEWAY.toLowerCase()}`, 'd1', APP, 'invalid'],
    [`GatewayToken ${GATEWAY}A`, 'd1', APP, 'invalid'],
    [`Bearer ${GATEWAY}`, 'd1', APP, 'invalid'],
    ['', 'd1', APP, 'invalid'],
    [undefined, 'd1', APP, 'invalid'],
  ])('%j of %s in %s is %s', async (header, device, app, judgement) => {
    expect(await furnish().judge(header, device, app)).toBe(judgement);
  });

  it('of both secrets is valid', async () => {
    const { state, judge } = furnish();
    const sealed = BOX.seal('a newer one', 'ddi-secret:dds_2');
    const secrets = [...state.app.secrets, { id: 'dds_2', sealed }];
    state.app = { ...state.app, secrets };
    const newer = deviceTokenBytes('a newer one', APP, 'd1').toString('base64url');
    expect(await judge(byDevice)).toBe('valid');
    expect(await judge(`TargetToken ${newer}`)).toBe('valid');
  });

  it('whose secret cannot be read is unknown, and the operator is told; others are judged', async () => {
    for (const box of [undefined, new SecretBox(['another key'])]) {
      const { state, judge } = furnish({ box });
      expect(await judge(byDevice)).toBe('unknown');
      expect(await judge(byGateway)).toBe('valid');
      expect(state.warnings).toHaveLength(1);
    }
  });
});

describe('what was read', () => {
  it('is asked for once by requests at once, also of several apps', async () => {
    const { state, judge } = furnish();
    const all = [judge(byGateway), judge(byDevice), judge(byGateway, 'd1', 'app_2')];
    expect(await Promise.all(all)).toEqual(['valid', 'valid', 'invalid']);
    expect(state.reads).toEqual([[APP, 'app_2']]);
  });

  it('judges at once, and is read again in the background after two seconds', async () => {
    const { state, judge, judgeNow } = furnish();
    await judge(byGateway);
    for (const now of [0, 1999]) {
      state.now = now;
      expect(judgeNow(byDevice)).toBe('valid');
    }
    expect(state.reads).toHaveLength(1);
    state.now = 2000;
    state.app = { ...state.app, tokens: [] };
    expect(judgeNow(byGateway)).toBe('valid');
    expect(judgeNow(byGateway)).toBe('valid');
    await turns();
    expect(state.reads).toHaveLength(2);
    expect(judgeNow(byGateway)).toBe('invalid');
  });

  it('does not count after four seconds', async () => {
    const { state, judge } = furnish();
    await judge(byGateway);
    state.app = { ...state.app, tokens: [], secrets: [] };
    state.now = 4000;
    expect(await judge(byGateway)).toBe('invalid');
    expect(await judge(byDevice)).toBe('invalid');
  });

  it('does not refuse what may be new since', async () => {
    const { state, judge, judgeNow } = furnish();
    await judge(byGateway);
    state.now = 499;
    expect(judgeNow(`GatewayToken ${OTHER}`)).toBe('invalid');
    state.app = { ...state.app, tokens: [{ id: 'gwt_2', tokenHash: hashSecret(OTHER) }] };
    state.now = 500;
    expect(await judge(`GatewayToken ${OTHER}`)).toBe('valid');
  });
});

describe('while the ledger is away', () => {
  it('what is known counts, and what is not is unknown; afterwards all is judged again', async () => {
    const { state, judge, judgeNow } = furnish();
    await judge(byGateway);
    state.isAway = true;
    state.now = 4000;
    expect(await judge(byGateway)).toBe('valid');
    state.now = 3_600_000;
    expect(judgeNow(byGateway)).toBe('valid');
    expect(judgeNow(byDevice)).toBe('valid');
    expect(await judge(`GatewayToken ${OTHER}`)).toBe('unknown');
    expect(await judge(byGateway, 'd1', 'app_2')).toBe('unknown');
    expect(await judge('Bearer x', 'd1', 'app_2')).toBe('invalid');
    state.isAway = false;
    state.app = { ...state.app, tokens: [] };
    state.now += 2000;
    expect(judgeNow(byGateway)).toBe('valid');
    await turns();
    expect(judgeNow(byGateway)).toBe('invalid');
  });

  it('it is asked once a second', async () => {
    const { state, judge } = furnish();
    state.isAway = true;
    for (const now of [0, 500, 999, 1000]) {
      state.now = now;
      expect(await judge(byGateway)).toBe('unknown');
    }
    expect(state.reads).toHaveLength(2);
  });

  it('one that hangs is waited for once', async () => {
    const { state, judge, judgeNow } = furnish();
    await judge(byGateway);
    state.isHung = true;
    state.now = 4000;
    expect(await judge(byGateway)).toBe('valid');
    expect(judgeNow(byGateway)).toBe('valid');
    expect(await judge(`GatewayToken ${OTHER}`)).toBe('unknown');
  });
});

it('the last use of a gateway token is written, that of a device token is not', async () => {
  const { state, credentials, judge } = furnish();
  for (const header of [byGateway, byDevice, byGateway]) await judge(header);
  await credentials.stop();
  expect(new Set(state.uses.map(({ id }) => id))).toEqual(new Set(['gwt_1']));
});

/** Lets reads that are under way end. */
function turns(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}
