// Tests signatures of webhooks with the library that receivers use.

import { Webhook } from 'standardwebhooks';
import { expect, it } from 'vitest';
import { createWebhookSecret, signatureHeaders } from '../../src/notify/webhook-signature.ts';

const BODY = JSON.stringify({
  type: 'test',
  timestamp: '2026-08-01T00:00:00.000Z',
  data: { ö: 1 },
});
const now = () => Math.floor(Date.now() / 1000);
const sign = (secrets: readonly string[], timestampSeconds = now()) =>
  signatureHeaders({ id: 'evt_1', timestampSeconds, body: BODY }, secrets);

it('verifies with standardwebhooks (Webhook)', () => {
  const secret = createWebhookSecret();
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(new Webhook(secret).verify(BODY, sign([secret]))).toEqual(JSON.parse(BODY));
});

it('is the signature that the specification computes', () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const message = {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestampSeconds: 1_614_265_330,
    body: '{"test": 2432232314}',
  };
  expect(signatureHeaders(message, [secret])['webhook-signature']).toBe(
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  );
});

it('is accepted by the old and by the new secret while one replaces the other', () => {
  const [old, fresh, other] = [createWebhookSecret(), createWebhookSecret(), createWebhookSecret()];
  const headers = sign([fresh, old]);
  expect(headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/);
  for (const secret of [old, fresh]) new Webhook(secret).verify(BODY, headers);
  expect(() => new Webhook(other).verify(BODY, headers)).toThrow();
});

it('does not verify for another body, id or time', () => {
  const secret = createWebhookSecret();
  const headers = sign([secret]);
  const webhook = new Webhook(secret);
  expect(() => webhook.verify(`${BODY} `, headers)).toThrow();
  expect(() => webhook.verify(BODY, { ...headers, 'webhook-id': 'evt_2' })).toThrow();
  expect(() => webhook.verify(BODY, sign([secret], now() - 3600))).toThrow();
});
