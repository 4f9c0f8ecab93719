// Rules of the ledger about credentials of devices that speak DDI (§34.42): how many an app has, what a node
// reads of them, and what the audit says.

import { expect, test } from 'vitest';
import { fail, isFailure } from '../../../src/contract/failure.ts';
import { DdiCredentials } from '../../../src/fleet/ddi-credentials.ts';
import { DdiTokens } from '../../../src/fleet/ddi-tokens.ts';
import { SecretBox } from '../../../src/notify/secret-box.ts';
import { createLog } from '../../../src/observe/log.ts';
import { RareLog } from '../../../src/observe/rare-log.ts';
import type { Actor } from '../../../src/store/ledger-terms.ts';
import {
  createTenant,
  expectValue,
  ISO,
  OPERATOR,
  SEAL,
  tenantOfEach,
  UNKNOWN_NAMES,
} from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const TOKENS_MAX = 4;
const SECRETS_MAX = 2;

export function describeDdiCredentials({ ledger }: LedgerUnderTest): void {
  const tenant = tenantOfEach(ledger);

  const createToken = (name: string) =>
    ledger.createGatewayToken(tenant.appId, { name, tokenHash: `hash of ${name}` }, OPERATOR);
  const addSecret = () => ledger.addDdiSecret(tenant.appId, SEAL, OPERATOR);
  const list = () => ledger.listDdiCredentials(tenant.appId);
  const deeds = async () => (await tenant.audit()).map(({ action }) => action);

  /** Makes tokens for two devices, which name the secret that they were made with. */
  const make = (actor: Actor = OPERATOR, app = tenant.app, scope = tenant.organizationId) =>
    ledger.makeDeviceTokens(
      scope,
      {
        ...{ app, devices: 2, seal: SEAL },
        make: (appId, { id, sealed }) => [{ deviceId: appId, token: `${id} ${sealed}` }],
      },
      actor,
    );

  test('an app has four gateway tokens that are valid, also of calls at once; a revoked one makes room', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const made = await Promise.all(names.map(createToken));
    expect(made.filter((each) => !isFailure(each))).toHaveLength(TOKENS_MAX);
    expect(made).toContainEqual(fail('tooManyGatewayTokens'));
    const [first] = (await list()).gatewayTokens;
    const { id = '' } = first ?? {};
    const revoked = expectValue(await ledger.revokeGatewayToken(tenant.appId, id, OPERATOR));
    expect(revoked).toEqual({ id, revokedAt: expect.stringMatching(ISO) });
    expect(await ledger.revokeGatewayToken(tenant.appId, id, OPERATOR)).toEqual(revoked);
    const token = expectValue(await createToken('next'));
    expect((await list()).gatewayTokens).toHaveLength(TOKENS_MAX + 1);
    expect((await list()).gatewayTokens).toContainEqual({ ...first, ...revoked });
    expect((await list()).gatewayTokens[0]).toEqual(token);
    const all = await deeds();
    expect(all.filter((each) => each === 'gateway-token.revoke')).toHaveLength(1);
    expect(all.filter((each) => each === 'gateway-token.create')).toHaveLength(TOKENS_MAX + 1);
    expect(JSON.stringify(await tenant.audit())).not.toContain('hash of');
  });

  test('an app has two secrets; a removed one is gone', async () => {
    const made = await Promise.all([addSecret(), addSecret(), addSecret()]);
    expect(made.filter((each) => !isFailure(each))).toHaveLength(SECRETS_MAX);
    expect(made).toContainEqual(fail('tooManyDdiSecrets'));
    const [newest, oldest] = (await list()).secrets;
    const id = oldest?.id ?? '';
    expect(await ledger.removeDdiSecret(tenant.appId, id, OPERATOR)).toEqual({ id });
    expect(await ledger.removeDdiSecret(tenant.appId, id, OPERATOR)).toEqual(
      fail('unknownDdiSecret'),
    );
    expect((await list()).secrets).toEqual([newest]);
    expect((await deeds()).slice(0, 3)).toEqual([
      ...['ddi-secret.remove', 'ddi-secret.add', 'ddi-secret.add'],
    ]);
  });

  test('what is of another app is unknown', async () => {
    const { id: token } = expectValue(await createToken('a'));
    const { id: secret } = expectValue(await addSecret());
    const { appId } = await createTenant(ledger);
    for (const id of [token, ...UNKNOWN_NAMES]) {
      const refusal = await ledger.revokeGatewayToken(appId, id, OPERATOR);
      expect(refusal).toEqual(fail('unknownGatewayToken'));
    }
    for (const id of [secret, ...UNKNOWN_NAMES]) {
      const refusal = await ledger.removeDdiSecret(appId, id, OPERATOR);
      expect(refusal).toEqual(fail('unknownDdiSecret'));
    }
    for (const app of UNKNOWN_NAMES) {
      expect(await ledger.addDdiSecret(app, SEAL, OPERATOR)).toEqual(fail('unknownApp'));
      expect(await make(OPERATOR, app)).toEqual(fail('unknownApp'));
    }
    const other = await createTenant(ledger);
    expect(await make(OPERATOR, tenant.app, other.organizationId)).toEqual(fail('unknownApp'));
  });

  test('device tokens are made with the newest secret; the first call makes one, also of calls at once', async () => {
    const made = await Promise.all([make(), make(), make()]);
    const [{ id: first } = { id: '' }, ...others] = (await list()).secrets;
    expect(others).toEqual([]);
    const expected = [{ deviceId: tenant.appId, token: `${first} ${SEAL(first)}` }];
    expect(made).toEqual([expected, expected, expected]);
    const { id: second } = expectValue(await addSecret());
    expect(await make()).toEqual([{ deviceId: tenant.appId, token: `${second} ${SEAL(second)}` }]);
    const [newest] = await tenant.audit();
    expect(newest).toMatchObject({
      ...{ action: 'device-token.make', subject: tenant.app, before: null },
      after: { devices: 2, secret: second },
    });
  });

  test('a refusal, and a key without the right, store nothing', async () => {
    const refused = await ledger.makeDeviceTokens(
      tenant.organizationId,
      {
        ...{ app: tenant.app, devices: 1, seal: SEAL },
        make: () => fail('ddiSecretUnreadable'),
      },
      OPERATOR,
    );
    expect(refused).toEqual(fail('ddiSecretUnreadable'));
    const key = { ...(await tenant.key()), lacks: 'fleet' } as const;
    expect(await make(key)).toMatchObject({ failure: 'keyMayNot' });
    expect((await list()).secrets).toEqual([]);
    expect(await deeds()).not.toContain('device-token.make');
  });

  test('a node reads what is valid, of each app in their order', async () => {
    const { id: revoked } = expectValue(await createToken('revoked'));
    const { id } = expectValue(await createToken('valid'));
    await ledger.revokeGatewayToken(tenant.appId, revoked, OPERATOR);
    const { id: secret } = expectValue(await addSecret());
    expect(await ledger.readDdiCredentials(['app_none', tenant.appId])).toEqual([
      { appId: 'app_none', tokens: [], secrets: [] },
      {
        appId: tenant.appId,
        tokens: [{ id, tokenHash: 'hash of valid' }],
        secrets: [{ id: secret, sealed: SEAL(secret) }],
      },
    ]);
  });

  test('what is made is valid at another node, until it is revoked or its secret removed', async () => {
    const box = new SecretBox(['a key']);
    const clock = { now: 0 };
    const log = new RareLog(createLog('silent'));
    const node = new DdiCredentials({ ledger, box, log, now: () => clock.now });
    const tokens = new DdiTokens(ledger, box);
    const { appId, app, organizationId: scope } = tenant;
    const gateway = expectValue(await tokens.createGatewayToken(appId, 'proxy', OPERATOR));
    const caller = { scope, actor: OPERATOR };
    const deviceToken = async () => {
      const [made] = expectValue(await tokens.makeDeviceTokens(caller, app, ['d1']));
      return `TargetToken ${made?.token}`;
    };
    const older = await deviceToken();
    const { id: secret } = expectValue(await tokens.addSecret(appId, OPERATOR));
    const newer = await deviceToken();
    const judged = () =>
      Promise.all(
        [`GatewayToken ${gateway.token}`, older, newer].map((each) =>
          node.judge(appId, 'd1', each),
        ),
      );
    expect(await judged()).toEqual(['valid', 'valid', 'valid']);
    await ledger.revokeGatewayToken(appId, gateway.id, OPERATOR);
    await ledger.removeDdiSecret(appId, secret, OPERATOR);
    clock.now = 4000;
    expect(await judged()).toEqual(['invalid', 'valid', 'invalid']);
    await node.stop();
    expect((await list()).gatewayTokens).toMatchObject([
      { lastUsedAt: expect.stringMatching(ISO) },
    ]);
  });

  test('the latest use of a token counts', async () => {
    const { id } = expectValue(await createToken('a'));
    const [early, late] = ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'] as const;
    const uses = [[], [{ id, at: late }], [{ id, at: early }], [{ id: 'gwt_none', at: late }]];
    for (const each of uses) await ledger.recordGatewayTokenUses(each);
    expect((await list()).gatewayTokens).toMatchObject([{ id, lastUsedAt: late }]);
  });

  test('sealed secrets are listed by id, and replaced while they are what they were', async () => {
    const { id } = expectValue(await addSecret());
    const listed = await ledger.listDdiSecrets('', 1000);
    expect(listed).toContainEqual({ id, sealed: SEAL(id) });
    expect((await ledger.listDdiSecrets(id, 1000)).map((each) => each.id)).not.toContain(id);
    const changes = [
      { id, from: SEAL(id), to: 'again' },
      { id: 'dds_none', from: 'x', to: 'again' },
    ];
    expect(await ledger.replaceDdiSecrets(changes)).toBe(1);
    expect(await ledger.replaceDdiSecrets(changes)).toBe(0);
    const [read] = await ledger.readDdiCredentials([tenant.appId]);
    expect(read?.secrets).toEqual([{ id, sealed: 'again' }]);
  });
}
