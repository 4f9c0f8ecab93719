// Sends one message in the form of its destination, once, and returns the outcome, which it does not store.

import { retryAfterMs } from '../flow/outgoing-call.ts';
import type { DueDelivery, DueMail } from '../store/delivery-ledger.ts';
import type { TryOutcome } from './delivery-state.ts';
import type { Answer, Dialer } from './dialer.ts';
import type { Mailer } from './mailer.ts';
import { eventMail, slackBody, webhookBody } from './message.ts';
import { type Unseal, unsealMail } from './outgoing-mail.ts';
import { signatureHeaders } from './webhook-signature.ts';

const GONE = 410;
const NO_KEY = 'What was encrypted cannot be read: SECRET_KEY is another';

export type SendMessageDependencies = {
  readonly dialer: Pick<Dialer, 'post'>;
  readonly mailer: Pick<Mailer, 'send'>;
  readonly unseal: Unseal;
  /** Returns the owner that a destination's secret is encrypted for. */
  readonly ownerOf: (destinationId: string) => string;
  readonly now: () => number;
};

export class SendMessage {
  readonly #dependencies: SendMessageDependencies;

  constructor(dependencies: SendMessageDependencies) {
    this.#dependencies = dependencies;
  }

  /** Sends an event to its destination. Never rejects. */
  async toDestination(due: DueDelivery): Promise<TryOutcome> {
    const { mailer } = this.#dependencies;
    const { kind, to, event, consoleUrl, isConfirmed } = due;
    switch (kind) {
      case 'webhook':
        return this.#toWebhook(due);
      case 'slack':
        return this.#post(due, slackBody(event, consoleUrl), {});
      case 'mail': {
        const id = `${event.id}.${due.destinationId}`;
        const mail = { to: to ?? '', ...eventMail(event, consoleUrl, isConfirmed), id };
        return mailed(await mailer.send(mail));
      }
    }
  }

  /** Sends a mail to a person. Never rejects. */
  async toPerson(due: DueMail): Promise<TryOutcome> {
    const { mailer, unseal } = this.#dependencies;
    const mail = unsealMail(unseal, due);
    return mailed(mail === undefined ? NO_KEY : await mailer.send({ ...mail, id: due.id }));
  }

  async #toWebhook(due: DueDelivery): Promise<TryOutcome> {
    const { unseal, ownerOf, now } = this.#dependencies;
    const sealed = [due.sealed, due.former].filter((text) => text !== null);
    const secrets = sealed.flatMap((text) => unseal(text, ownerOf(due.destinationId)) ?? []);
    if (secrets.length === 0) return { kind: 'failed', status: null, error: NO_KEY };
    const body = webhookBody(due.event, due.consoleUrl);
    const timestampSeconds = Math.floor(now() / 1000);
    const message = { id: due.event.id, timestampSeconds, body };
    return this.#post(due, body, signatureHeaders(message, secrets));
  }

  async #post(
    { url }: DueDelivery,
    body: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<TryOutcome> {
    const { dialer, now } = this.#dependencies;
    const answer = await dialer.post({
      url: url ?? '',
      headers: { 'content-type': 'application/json', 'user-agent': 'Sluice', ...headers },
      body,
    });
    return answered(answer, now());
  }
}

function mailed(error: string | undefined): TryOutcome {
  if (error === undefined) return { kind: 'delivered', status: null };
  return { kind: 'failed', status: null, error };
}

/** Returns the outcome of an answer. Only 2xx is a success: a redirect has not delivered the message. */
function answered(answer: Answer, nowMs: number): TryOutcome {
  if (answer.status === undefined) return { kind: 'failed', status: null, error: answer.error };
  const { status, text, retryAfter } = answer;
  if (status >= 200 && status < 300) return { kind: 'delivered', status };
  const said = text.replace(/[\p{Cc}\s]+/gu, ' ').trim();
  return {
    kind: 'failed',
    status,
    error: said === '' ? `Answered ${status}` : `Answered ${status}: ${said}`,
    retryAfterMs: retryAfterMs(retryAfter, nowMs),
    isGone: status === GONE,
  };
}
