// Tests what goes out for each kind of destination, and how answers are taken.

import { Webhook } from 'standardwebhooks';
import { expect, it } from 'vitest';
import type { Answer, DialRequest } from '../../src/notify/dialer.ts';
import type { Mail } from '../../src/notify/mailer.ts';
import { SendMessage } from '../../src/notify/send-message.ts';
import { createWebhookSecret } from '../../src/notify/webhook-signature.ts';
import type { DueDelivery } from '../../src/store/delivery-ledger.ts';
import { eventWith } from './events.ts';

const [SECRET, FORMER] = [createWebhookSecret(), createWebhookSecret()];
const CONSOLE = 'https://updates.example.com';
const event = eventWith('plan.tripped', {});
const DUE: DueDelivery = {
  ...{ id: 'dlv_1', destinationId: 'dst_1', kind: 'webhook', url: 'https://ops.example.com/hook' },
  ...{
    to: null,
    isConfirmed: false,
    sealed: SECRET,
    former: null,
    event,
    failures: 0,
    failingMs: null,
  },
  consoleUrl: CONSOLE,
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

it('a webhook gets the event, signed by the present and the former secret', async () => {
  const { sender, posts } = furnish();
  const outcome = await sender.toDestination({ ...DUE, former: FORMER });
  expect(outcome).toEqual({ kind: 'delivered', status: 200 });
  const [post] = posts;
  expect(post).toMatchObject({ url: DUE.url, headers: { 'content-type': 'application/json' } });
  expect(post?.headers['webhook-id']).toBe(event.id);
  for (const secret of [SECRET, FORMER]) {
    const body = new Webhook(secret).verify(post?.body ?? '', { ...post?.headers });
    expect(body).toMatchObject({ type: 'plan.tripped', data: { organization: { name: 'Acme' } } });
  }
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

it.each<[Answer, object]>([
  [
    { ...OK, status: 204 },
    { kind: 'delivered', status: 204 },
  ],
  [
    { ...OK, status: 301 },
    { kind: 'failed', status: 301, error: 'Answered 301', isGone: false },
  ],
  [
    { ...OK, status: 410 },
    { kind: 'failed', status: 410, error: 'Answered 410', isGone: true },
  ],
  [
    { status: 503, retryAfter: '7', text: 'back\r\n\u0000 soon ' },
    { kind: 'failed', status: 503, error: 'Answered 503: back soon', retryAfterMs: 7000 },
  ],
  [
    { status: undefined, error: 'The connection was refused' },
    { kind: 'failed', status: null, error: 'The connection was refused' },
  ],
])('%o is taken as %o', async (answer, outcome) => {
  expect(await furnish(answer).sender.toDestination(DUE)).toMatchObject(outcome);
});
