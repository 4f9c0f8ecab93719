// Administration of the destinations of notifications: addresses, secrets, recipients, tests and repeated
// messages. `delivery-driver.ts` sends the messages.

import type { ResealedSecrets } from '../contract/console.ts';
import {
  type Failure,
  fail,
  failUntil,
  invalidField,
  isFailure,
  type Outcome,
} from '../contract/failure.ts';
import { LIMIT } from '../contract/limit.ts';
import type {
  Destination,
  DestinationKind,
  IssuedDestination,
  NotificationDelivery,
} from '../contract/notification.ts';
import { whenAway } from '../contract/store-fault.ts';
import type {
  DestinationChange,
  DestinationSecrets,
  NewDestination,
  RecipientLink,
} from '../store/destination-ledger.ts';
import type { Engine } from '../store/engine.ts';
import type { Ledger } from '../store/ledger.ts';
import type { Actor } from '../store/ledger-terms.ts';
import type { Recipients } from './recipients.ts';
import type { SecretBox } from './secret-box.ts';
import { createWebhookSecret } from './webhook-signature.ts';

type Counter = Pick<Engine, 'countRequest'>;

type DestinationsDependencies = {
  readonly ledger: Ledger;
  /** Encryption of secrets; undefined without SECRET_KEY: then no webhook can be added. */
  readonly box: SecretBox | undefined;
  readonly engine: Counter;
  /** Counter of this node alone, used while the engine is unavailable. */
  readonly alone: Counter;
  /** Returns why a message must not go to an address; undefined if it may. */
  readonly refuseUrl: (url: string) => string | undefined;
  /** Whether the service can send mail. */
  readonly hasMail: boolean;
  readonly recipients: Pick<Recipients, 'makeLink'>;
};

/** Destination as an owner asks for it; `kind` decides whether `url` or `to` is required. */
export type AskedDestination = Omit<NewDestination, 'organizationId' | 'url' | 'to' | 'link'> & {
  readonly url?: string | undefined;
  readonly to?: string | undefined;
};

export class Destinations {
  constructor(private readonly dependencies: DestinationsDependencies) {}

  async list(organizationId: string): Promise<{ readonly destinations: readonly Destination[] }> {
    return { destinations: await this.dependencies.ledger.listDestinations(organizationId) };
  }

  async show(id: string): Promise<Outcome<Destination>> {
    return (await this.dependencies.ledger.findDestination(id)) ?? fail('unknownDestination');
  }

  /**
   * Adds a destination. For a webhook, only this answer contains its secret. For a recipient of mails who is
   * no member, a link is created below `base`, the base URL of the console, and mailed.
   */
  async add(
    organizationId: string,
    asked: AskedDestination,
    actor: Actor,
    base: string,
  ): Promise<Outcome<IssuedDestination>> {
    const { kind, url = null, to = null, ...settings } = asked;
    const refused = this.refuseAddress(kind, { url, to }) ?? this.refuseKind(kind);
    if (refused !== undefined) return refused;
    const link = to === null ? undefined : await this.linkFor(organizationId, to, base);
    if (isFailure(link)) return link;
    const issued = this.issue();
    const destination = { ...settings, organizationId, kind, url, to, link };
    const made = await this.dependencies.ledger.createDestination(destination, issued.seal, actor);
    return isFailure(made) ? made : { ...made, ...issued.shown() };
  }

  /** Changes a destination. A webhook with another URL gets a new secret, which only this answer contains. */
  async update(
    id: string,
    change: Omit<DestinationChange, 'link'>,
    { organizationId, actor }: { readonly organizationId: string; readonly actor: Actor },
    base: string,
  ): Promise<Outcome<IssuedDestination>> {
    const words = change.url === undefined ? undefined : this.dependencies.refuseUrl(change.url);
    if (words !== undefined) return invalidField('url', words);
    const { ledger } = this.dependencies;
    const before = await ledger.findDestination(id);
    if (before === undefined) return fail('unknownDestination');
    const keyless = change.url === undefined ? undefined : this.refuseKeyless(before.kind);
    if (keyless !== undefined) return keyless;
    const link = await this.linkOf(before, change.to, organizationId, base);
    if (isFailure(link)) return link;
    const issued = this.issue();
    const changed = await ledger.updateDestination(id, { ...change, link }, issued.seal, actor);
    return isFailure(changed) ? changed : { ...changed, ...issued.shown() };
  }

  /** Creates the link for the new recipient of a destination; undefined if the recipient stays the same. */
  private async linkOf(
    before: Destination,
    to: string | undefined,
    organizationId: string,
    base: string,
  ): Promise<RecipientLink | undefined | Failure> {
    if (to === undefined || before.kind !== 'mail' || before.to === to) return undefined;
    return this.linkFor(organizationId, to, base);
  }

  /** Creates the link for a recipient; undefined for a member, who needs none, and if no mail can be sent. */
  private async linkFor(
    organizationId: string,
    to: string,
    base: string,
  ): Promise<RecipientLink | undefined | Failure> {
    const { ledger, recipients } = this.dependencies;
    if (await ledger.isMemberEmail(organizationId, to)) return undefined;
    return recipients.makeLink(organizationId, to, base);
  }

  /** Mails another link to a recipient who has not confirmed; the former link becomes invalid. */
  async sendLink(
    id: string,
    { organizationId, actor }: { readonly organizationId: string; readonly actor: Actor },
    base: string,
  ): Promise<Outcome<Destination>> {
    const { ledger, recipients } = this.dependencies;
    const found = await ledger.findDestination(id);
    if (found === undefined) return fail('unknownDestination');
    const { to, recipient } = found;
    if (to === null || recipient === 'member' || recipient === 'confirmed') {
      return fail('recipientKnown');
    }
    const link = await recipients.makeLink(organizationId, to, base);
    if (link === undefined) return fail('mailMissing');
    return isFailure(link) ? link : ledger.renewRecipientLink(id, link, actor);
  }

  /** Gives a webhook a new secret. For a day, messages are signed with the former one as well. */
  async rotate(id: string, actor: Actor): Promise<Outcome<{ readonly secret: string }>> {
    const found = await this.dependencies.ledger.findDestination(id);
    const keyless = found && this.refuseKeyless(found.kind);
    if (keyless !== undefined) return keyless;
    const issued = this.issue();
    const rotated = await this.dependencies.ledger.rotateDestination(id, issued.seal, actor);
    if (isFailure(rotated)) return rotated;
    const { secret } = issued.shown();
    if (secret === undefined) throw new Error(`Destination ${id} got no secret`);
    return { secret };
  }

  /** Sends a test message: at most ten per minute, together with messages that are sent again. */
  async test(
    id: string,
    actor: Actor,
  ): Promise<Outcome<{ readonly delivery: NotificationDelivery }>> {
    const limited = await this.count(id);
    if (limited !== undefined) return limited;
    const delivery = await this.dependencies.ledger.testDestination(id, actor);
    return isFailure(delivery) ? delivery : { delivery };
  }

  /** Sends a message again, with the same id. */
  async sendAgain(
    id: string,
    deliveryId: string,
    actor: Actor,
  ): Promise<Outcome<{ readonly delivery: NotificationDelivery }>> {
    const limited = await this.count(id);
    if (limited !== undefined) return limited;
    const delivery = await this.dependencies.ledger.sendAgain(id, deliveryId, actor);
    return isFailure(delivery) ? delivery : { delivery };
  }

  /** Returns `seal`, with which the ledger creates an encrypted secret, and `shown`, which returns it. */
  private issue() {
    const { box } = this.dependencies;
    let secret: string | undefined;
    return {
      seal(id: string): string {
        if (box === undefined) throw new Error('A secret cannot be sealed without SECRET_KEY');
        secret = createWebhookSecret();
        return box.seal(secret, destinationOwner(id));
      },
      shown: () => (secret === undefined ? {} : { secret }),
    };
  }

  private refuseAddress(
    kind: DestinationKind,
    { url, to }: Pick<Destination, 'url' | 'to'>,
  ): Failure | undefined {
    const isMail = kind === 'mail';
    if (isMail && url !== null) return invalidField('url', 'Mail has no url');
    if (!isMail && to !== null) return invalidField('to', 'Only mail has a recipient');
    if (isMail && to === null) return invalidField('to', 'Required');
    if (url === null) return isMail ? undefined : invalidField('url', 'Required');
    const words = this.dependencies.refuseUrl(url);
    return words === undefined ? undefined : invalidField('url', words);
  }

  private refuseKind(kind: DestinationKind): Failure | undefined {
    const isMailless = kind === 'mail' && !this.dependencies.hasMail;
    return isMailless ? fail('mailMissing') : this.refuseKeyless(kind);
  }

  /** Refuses a new secret for a webhook if no key can encrypt it; other kinds have no secret. */
  private refuseKeyless(kind: DestinationKind): Failure | undefined {
    const isKeyless = kind === 'webhook' && this.dependencies.box === undefined;
    return isKeyless ? fail('secretKeyMissing') : undefined;
  }

  private async count(id: string): Promise<Failure | undefined> {
    const { engine, alone } = this.dependencies;
    const ask = (counter: Counter) =>
      counter.countRequest(
        `destination:${id}`,
        LIMIT.destinationCallsMax,
        LIMIT.destinationCallsWindowMs,
      );
    const decision = await ask(engine).catch(whenAway(() => ask(alone)));
    return decision.isAllowed ? undefined : failUntil('rateLimited', decision.waitMs);
  }
}

/** Returns the owner that a destination's secret is encrypted for. */
export function destinationOwner(id: string): string {
  return `destination:${id}`;
}

/** Calls of the ledger that `resealDestinations` needs. */
export type DestinationSecretsLedger = Pick<
  Ledger,
  'listDestinationSecrets' | 'replaceDestinationSecrets'
>;

/** Encrypts again the present and former secrets of at most `countMax` destinations after the id `after`. */
export async function resealDestinations(
  ledger: DestinationSecretsLedger,
  box: SecretBox,
  after: string,
  countMax: number,
): Promise<ResealedSecrets> {
  const batch = await ledger.listDestinationSecrets(after, countMax);
  const judged = batch.map((from) => ({ from, to: resealedBy(box, from) }));
  const changes = judged.flatMap(({ from, to }) =>
    to === undefined || (to.sealed === from.sealed && to.former === from.former)
      ? []
      : [{ from, to }],
  );
  const resealed = changes.length === 0 ? 0 : await ledger.replaceDestinationSecrets(changes);
  const unreadable = judged.filter(({ to }) => to === undefined).length;
  const last = batch.length < countMax ? undefined : batch.at(-1);
  return { resealed, unreadable, next: last === undefined ? null : `destinations/${last.id}` };
}

/** Returns the secrets encrypted under the first key; undefined if no key decrypts the present one. */
function resealedBy(box: SecretBox, secrets: DestinationSecrets): DestinationSecrets | undefined {
  const owner = destinationOwner(secrets.id);
  const reseal = (sealed: string): string | undefined => {
    const opened = box.open(sealed, owner);
    if (opened === undefined) return undefined;
    return opened.isUnderFirst ? sealed : box.seal(opened.secret, owner);
  };
  const sealed = reseal(secrets.sealed);
  if (sealed === undefined) return undefined;
  const former = secrets.former === null ? null : (reseal(secrets.former) ?? null);
  return { id: secrets.id, sealed, former };
}
