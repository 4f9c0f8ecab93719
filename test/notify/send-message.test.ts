// Tests what goes out for each kind of destination, and how answers are taken.

import { Webhook } from 'standardwebhooks';
import { expect, it } from 'vitest';
import type { Answer, DialRequest } from '../../src/notify/dialer.ts';
import type { Mail } from '../../src/notify/mailer.ts';
import { SendMessage } from '../../src/notify/send-message.ts';
import { createWebhookSecret, signatureHeaders } from '../../src/notify/webhook-signature.ts';
import type { DueDelivery } from '../../src/store/delivery-ledger.ts';
import { eventWith } from './events.ts';

const [SECRET, FORMER] = [createWebhookSecret(), createWebhookSecret()];
const CONSOLE = 'https://updates.example.com';
const event = eventWith('plan.tripped', {});
const DUE: DueDelivery = {
  ...{ id: 'dlv_1', destinationId: 'dst_1', kind: 'webhook', url: 'https://ops.example.com/hook' },
  ...{ to: null, isConfirmed: false, sealed: SECRET, former: null },
  ...{ event, failures: 0, failingMs: null, consoleUrl: CONSOLE },
};
const OK: Answer = { status: 200, retryAfter: undefined, text: '' };

function furnish(answer: Answer = OK) {
  const posts: DialRequest[] = [];
  const mails: Mail[] = [];
  const sender = new SendMessage({
    dialer: {
      async post(request) {
        posts.push(request);
        return answer;
      },
    },
    mailer: {
      async send(mail) {
        mails.push(mail);
        return undefined;
      },
    },
    // Sealed for its destination, as it is.
    unseal: (sealed, owner) => (owner === 'owner of dst_1' ? sealed : undefined),
    ownerOf: (id) => `owner of ${id}`,
    now: Date.now,
  });
  return { sender, posts, mails };
}

it('a webhook gets the event, signed by the present and the former secret (§30.7, §30.9)', async () => {
  expect(SECRET).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  const { sender, posts } = furnish();
  const outcome = await sender.toDestination({ ...DUE, former: FORMER });
  expect(outcome).toEqual({ kind: 'delivered', status: 200 });
  const [{ url, headers, body }] = posts as [DialRequest];
  expect([url, headers['content-type']]).toEqual([DUE.url, 'application/json']);
  expect(headers['webhook-id']).toBe(event.id);
  for (const secret of [SECRET, FORMER]) {
    const told = new Webhook(secret).verify(body, { ...headers });
    expect(told).toMatchObject({ type: 'plan.tripped', data: { organization: { name: 'Acme' } } });
  }
  const webhook = new Webhook(SECRET);
  expect(() => webhook.verify(`${body} `, { ...headers })).toThrow();
  expect(() => webhook.verify(body, { ...headers, 'webhook-id': 'evt_2' })).toThrow();
  expect(() => new Webhook(createWebhookSecret()).verify(body, { ...headers })).toThrow();
});

it('a signature is that which the specification computes', () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
  const message = { id, timestampSeconds: 1_614_265_330, body: '{"test": 2432232314}' };
  expect(signatureHeaders(message, [secret])['webhook-signature']).toBe(
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  );
});

it('a webhook whose secret cannot be read gets nothing', async () => {
  const { sender, posts } = furnish();
  const outcome = await sender.toDestination({ ...DUE, destinationId: 'dst_2' });
  expect(outcome).toMatchObject({ kind: 'failed', error: expect.stringContaining('SECRET_KEY') });
  expect(posts).toEqual([]);
});

it('Slack gets a text alone, and mail a sentence under one id', async () => {
  const { sender, posts, mails } = furnish();
  await sender.toDestination({ ...DUE, kind: 'slack', sealed: null });
  expect(Object.keys(JSON.parse(posts[0]?.body ?? ''))).toEqual(['text']);
  expect(posts[0]?.headers).not.toHaveProperty('webhook-signature');
  const mail = { ...DUE, kind: 'mail', url: null, to: 'ann@example.com', sealed: null } as const;
  expect(await sender.toDestination(mail)).toEqual({ kind: 'delivered', status: null });
  expect(mails).toMatchObject([{ to: 'ann@example.com', id: 'evt_1.dst_1' }]);
});

it('an answer of 2xx is a delivery, 410 the end, and all else is said in words (§30.10)', async () => {
  const failed = { kind: 'failed', isGone: false };
  const busy = { status: 503, retryAfter: '7', text: 'back\r\n\u0000 soon ' };
  const refused = { status: undefined, error: 'The connection was refused' };
  for (const [answer, outcome] of [
    [
      { ...OK, status: 204 },
      { kind: 'delivered', status: 204 },
    ],
    [
      { ...OK, status: 301 },
      { ...failed, status: 301, error: 'Answered 301' },
    ],
    [
      { ...OK, status: 410 },
      { ...failed, status: 410, error: 'Answered 410', isGone: true },
    ],
    [busy, { ...failed, status: 503, error: 'Answered 503: back soon', retryAfterMs: 7000 }],
    [refused, { kind: 'failed', status: null, error: refused.error }],
  ] as const) {
    expect(await furnish(answer).sender.toDestination(DUE)).toMatchObject(outcome);
  }
});
