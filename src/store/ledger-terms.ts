// Names who makes a change in the ledger, and by what right.

import type { UnknownPlace } from '../contract/failure.ts';
import type { KeyRight, Role } from '../contract/resource.ts';
import type { WebhookProvider } from '../contract/webhook-provider.ts';

/**
 * Author of a change, with the credential that admitted the call. A transaction that writes for an actor
 * reads that credential again and holds it until the commit: what was revoked meanwhile writes nothing. The
 * audit keeps `admin-token`, `key:` with the key's id and name, `account:` and the email,
 * `plan:` and the plan's id, `integration:github`, or
 * `unknown`.
 */
export type Actor = (
  | OperatorActor
  | KeyActor
  | AccountActor
  | TokenActor
  | IntegrationActor
  | StrangerActor
  | PlanActor
) &
  ByRequest;

/** Request by which an actor makes a change; undefined where none is named. */
type ByRequest = { readonly requestId?: string | undefined };

/** The operator, whose admin token is a setting and does not change while the process runs. */
type OperatorActor = { readonly kind: 'admin-token' };

/** An API key; it acts while it is neither revoked nor over. */
export type KeyActor = ByRequest & {
  readonly kind: 'key';
  readonly id: string;
  readonly name: string;
  readonly organizationId: string;
  /** Right that the call needs and the key was not made with; rights of a key never change. */
  readonly lacks?: KeyRight | undefined;
};

/** A person with a session; acts while the session is open and the role suffices. */
type AccountActor = {
  readonly kind: 'account';
  readonly email: string;
  readonly accountId: string;
  readonly tokenHash: string;
  /** Role that the change needs; undefined for changes that every account may make. */
  readonly needs: NeededRole | undefined;
};

/** Role that a change needs at least, and where. */
export type NeededRole = {
  readonly organizationId: string;
  readonly role: Role;
  /** Refusal of accounts that are no member of the organization: what the call named does not exist. */
  readonly unknown: UnknownPlace;
};

/**
 * A person without a session whose token or password was right; the change itself uses the token up or
 * compares the password, and finds it when either has changed.
 */
type TokenActor = { readonly kind: 'token'; readonly email: string };

/**
 * A code host that delivers to an app's webhook; acts while the webhook has the secret that the delivery was
 * signed with. What an integration publishes may get its artifacts later: see `announceRelease`.
 */
type IntegrationActor = {
  readonly kind: 'integration';
  readonly provider: WebhookProvider;
  readonly appId: string;
  /** Time at which the webhook got its present secret, as `findEnabledWebhook` returned it. */
  readonly enabledAt: string;
};

/** A roll-out plan, which acts while it runs; its transaction reads whether it does. */
type PlanActor = { readonly kind: 'plan'; readonly id: string };

/** Somebody unknown, of whom only failures are recorded. */
type StrangerActor = { readonly kind: 'stranger' };
