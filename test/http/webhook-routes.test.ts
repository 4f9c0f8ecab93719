// Tests the routes of deliveries by themselves, for each code host: the signature, the name of the event, and
// what is recorded (docs/contract.md 18.1 to 18.3 and 18.17).

import { createHmac } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { fail } from '../../src/contract/failure.ts';
import { webhookRoutes } from '../../src/http/webhook/webhook-routes.ts';
import type { OpenWebhook } from '../../src/publishing/webhooks.ts';
import type { NewDelivery } from '../../src/store/console-ledger.ts';
import { giteaEvent } from '../support/gitea.ts';
import { HostLedger } from '../support/host-ledger.ts';

const SECRET = 'a secret';
const EVENT = JSON.stringify(giteaEvent('published', 'v1.0.0'));
const FORM = new URLSearchParams({ payload: EVENT }).toString();
/** Each code host: the headers of its event, its id and its signature, and what stands before a digest. */
const HOSTS = {
  github: ['X-GitHub-Event', 'X-GitHub-Delivery', 'X-Hub-Signature-256', 'sha256='],
  gitea: ['X-Gitea-Event', 'X-Gitea-Delivery', 'X-Gitea-Signature', ''],
  forgejo: ['X-Forgejo-Event', 'X-Forgejo-Delivery', 'X-Forgejo-Signature', ''],
} as const;

type Sent = {
  readonly body?: string;
  /** Name of the event; '' for none. */
  readonly event?: string;
  readonly type?: string;
  readonly signature?: string;
};

function hmac(text: string, secret = SECRET, algorithm = 'sha256'): string {
  return createHmac(algorithm, secret).update(text).digest('hex');
}

describe.each(['github', 'gitea', 'forgejo'] as const)('a delivery of %s', (provider) => {
  const [eventHeader, idHeader, signatureHeader, before] = HOSTS[provider];
  let recorded: NewDelivery[];
  let counted: string[];
  let host: HostLedger;
  beforeEach(() => {
    recorded = [];
    counted = [];
    host = new HostLedger(() => 0);
  });

  /** Delivers an event, in JSON and signed right unless told otherwise; returns status, error and outcome. */
  async function deliver({ body = EVENT, event = 'release', type = 'json', ...sent }: Sent) {
    const webhook: OpenWebhook = {
      ...{ appId: 'app', provider, appRef: 'notes', organizationId: 'org', enabledAt: '' },
      ...{ secret: SECRET, tagPrefix: null, hold: false, expect: null, repository: null },
    };
    const recordDelivery = async (delivery: NewDelivery) => void recorded.push(delivery);
    const route = webhookRoutes({
      ledger: { ...host.port, recordDelivery },
      webhooks: { open: async () => webhook },
      metrics: { deliveries: { add: (outcome: string) => counted.push(outcome) } },
      propagate: async () => undefined,
      catalogs: { findForCaller: async () => fail('unavailable') },
    } as never).find(({ path }) => path === `/wh/${provider}/:app`);
    const headers = new Map([
      [signatureHeader.toLowerCase(), sent.signature ?? before + hmac(body)],
      ...(event === '' ? [] : ([[eventHeader.toLowerCase(), event]] as const)),
      [idHeader.toLowerCase(), 'an id'],
      // The older signature of GitHub, which does not count (§18.1).
      ['x-hub-signature', `sha1=${hmac(body, SECRET, 'sha1')}`],
      ['content-type', `application/${type}`],
    ]);
    const parts = { params: new Map([['app', 'notes']]), notes: { requestId: 'r' } };
    const exchange = { ...parts, headers, body: Promise.resolve(Buffer.from(body)) } as never;
    const reply = await route?.handler(exchange);
    const answer = JSON.parse(String(reply?.body)) as Record<string, unknown>;
    return [reply?.status, answer.error ?? answer.outcome];
  }

  it('is taken, and recorded with what became of it', async () => {
    expect(await deliver({})).toEqual([200, 'created']);
    const known = { event: 'release', action: 'published', guid: 'an id', version: '1.0.0' };
    expect(recorded).toMatchObject([{ ...known, outcome: 'created' }]);
    expect(counted).toEqual(['created']);
  });

  it('in a form is signed over the body by GitHub, and over the event by the others', async () => {
    const signature = before + hmac(provider === 'github' ? FORM : EVENT);
    const type = 'x-www-form-urlencoded';
    expect(await deliver({ body: FORM, type, signature })).toEqual([200, 'created']);
    const other = before + hmac(provider === 'github' ? EVENT : FORM);
    expect((await deliver({ body: FORM, type, signature: other }))[0]).toBe(401);
  });

  it('that is not signed right is 401, and does nothing (§18.1, §18.2)', async () => {
    for (const [body, signature] of [
      [EVENT, ''],
      [EVENT, `sha1=${hmac(EVENT, SECRET, 'sha1')}`],
      [EVENT, `${before} ${hmac(EVENT)}`],
      [EVENT, `${before + hmac(EVENT)},${before + hmac(EVENT)}`],
      [EVENT, before + hmac(EVENT).slice(2)],
      [EVENT, `${before + hmac(EVENT)}00`],
      [EVENT, before + 'z'.repeat(64)],
      [EVENT, before === '' ? `sha256=${hmac(EVENT)}` : hmac(EVENT)],
      [EVENT, before + hmac(EVENT, 'other')],
      [EVENT.replace('1.0.0', '1.0.1'), before + hmac(EVENT)],
      [`${EVENT} `, before + hmac(EVENT)],
      ['', before + hmac(EVENT)],
    ] as const) {
      for (const event of ['release', 'ping']) {
        const answer = await deliver({ body, signature, event });
        expect(answer, signature).toEqual([401, `Missing or wrong ${signatureHeader}`]);
      }
    }
    expect([recorded, host.channels.get('stable')?.size]).toEqual([[], 0]);
    expect(new Set(counted)).toEqual(new Set(['badSignature']));
  });

  it.each([
    ['', '{}', 400, `${eventHeader}: Required`, 'refused'],
    ['release', '{', 400, 'Invalid JSON body', 'refused'],
    ['release', '{"action":"published"}', 400, 'release: Required', 'refused'],
    ['ping', '{', 200, 'ping', 'ignored'],
    ['push', '{"any":"thing"}', 200, 'Event push is not about releases', 'ignored'],
    ['constructor', '{}', 200, 'Event constructor is not about releases', 'ignored'],
  ])(
    'of the event "%s" with %s is %i: %s (§18.3)',
    async (event, body, status, reason, outcome) => {
      const answer = await deliver({ body, event });
      expect(answer).toEqual([status, outcome === 'refused' ? reason : outcome]);
      expect(recorded).toMatchObject([{ event, action: null, outcome, reason }]);
    },
  );
});
