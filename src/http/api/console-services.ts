// Services that the routes of the console API call.

import type { Accounts } from '../../access/accounts.ts';
import type { Members } from '../../access/members.ts';
import type { OidcSignIn } from '../../access/oidc-sign-in.ts';
import type { OneTimeLinks } from '../../access/one-time-links.ts';
import type { Passkeys } from '../../access/passkeys.ts';
import type { SignInWays } from '../../contract/oidc.ts';
import type { EdgeTokens } from '../../edge/server/edge-tokens.ts';
import type { DdiTokens } from '../../fleet/ddi-tokens.ts';
import type { PurgeDevices, ViewFleet } from '../../fleet/fleet-views.ts';
import type { Destinations } from '../../notify/destinations.ts';
import type { Recipients } from '../../notify/recipients.ts';
import type { Administer, ViewConsole } from '../../publishing/administer.ts';
import type { ReleaseRetries } from '../../publishing/release-retries.ts';
import type { ResealSecrets, Webhooks } from '../../publishing/webhooks.ts';
import type { MatchCounter } from '../../serving/dry-run-effect.ts';
import type { ExplainDecision } from '../../serving/explain-decision.ts';
import type { LedgerCopies } from '../../store/ledger-identity.ts';
import type { Authorize } from '../endpoint/console-route.ts';
import type { ChangeServices } from '../endpoint/key-operation.ts';
import type { NotesRenderer } from '../notes/notes-renderer.ts';

export type ConsoleServices = ChangeServices & {
  readonly accounts: Accounts;
  readonly members: Members;
  readonly links: OneTimeLinks;
  readonly passkeys: Passkeys;
  /** How people can sign in; undefined if only with passwords. */
  readonly ways: SignInWays | undefined;
  /** Sign-in with an OpenID Connect provider; undefined if none is set. */
  readonly oidc: OidcSignIn | undefined;
  /** Whether every account may create organizations. */
  readonly areOrganizationsOpen: boolean;

  readonly administer: Administer;
  readonly view: ViewConsole;
  readonly fleet: ViewFleet;
  readonly purge: PurgeDevices;
  readonly explainer: ExplainDecision;
  readonly matching: MatchCounter;
  readonly retries: ReleaseRetries;
  readonly notes: Pick<NotesRenderer, 'html'>;
  readonly webhooks: Webhooks;
  readonly destinations: Destinations;
  readonly recipients: Recipients;

  readonly ddiTokens: DdiTokens;
  readonly edgeTokens: EdgeTokens;
  readonly copies: LedgerCopies;
  readonly resealing: ResealSecrets;

  /** Base URL of the console; undefined if no setting names one. */
  readonly consoleUrl: string | undefined;
  readonly trustProxy: number;
};

/** Services with `admit`, which authenticates visitors, for routes that build their own replies. */
export type AdmittingServices = ConsoleServices & { readonly admit: Authorize };
