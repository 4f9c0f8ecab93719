// Assembles the console: accounts, pages, API and metrics. The service serves them on its own port, or on the
// address ADMIN_LISTEN.

import { fileURLToPath } from 'node:url';
import { Accounts } from '../../access/accounts.ts';
import { Challenges } from '../../access/challenges.ts';
import { Members } from '../../access/members.ts';
import { OidcProvider } from '../../access/oidc-provider.ts';
import { OidcSignIn } from '../../access/oidc-sign-in.ts';
import { OneTimeLinks } from '../../access/one-time-links.ts';
import { Passkeys } from '../../access/passkeys.ts';
import { argon2Hasher, Passwords } from '../../access/passwords.ts';
import {
  FailedSignIns,
  KnownBrowsers,
  LoginThrottle,
  SignInGate,
  type ThrottleDependencies,
} from '../../access/sign-in-limits.ts';
import { SigningKey } from '../../access/signing-key.ts';
import { EdgeTokens } from '../../edge/server/edge-tokens.ts';
import { DdiTokens } from '../../fleet/ddi-tokens.ts';
import type { DeviceLabels } from '../../fleet/device-labels.ts';
import { PurgeDevices, ViewFleet } from '../../fleet/fleet-views.ts';
import type { ActivityBroadcast } from '../../fleet/live-activity.ts';
import { consoleFiles, consoleRoutes } from '../../http/api/console-routes.ts';
import { metricsRoutes, type ReadMetrics, rootRoute } from '../../http/api/health-routes.ts';
import type { NotesRenderer } from '../../http/notes/notes-renderer.ts';
import { referenceRoutes } from '../../http/reference/openapi-document.ts';
import type { Route } from '../../http/transport/router.ts';
import { AddressJudge, ownAddresses } from '../../notify/address-judgement.ts';
import { Destinations } from '../../notify/destinations.ts';
import { PeopleMails } from '../../notify/outgoing-mail.ts';
import { Recipients } from '../../notify/recipients.ts';
import type { RareLog } from '../../observe/rare-log.ts';
import { Administer, ViewConsole } from '../../publishing/administer.ts';
import { Approvals } from '../../publishing/approvals.ts';
import { Changes, type ChangesDependencies } from '../../publishing/changes.ts';
import type { PropagateChange } from '../../publishing/propagate-change.ts';
import type { ReleaseRetries } from '../../publishing/release-retries.ts';
import { ResealSecrets, type Webhooks } from '../../publishing/webhooks.ts';
import { MatchCounter } from '../../serving/dry-run-effect.ts';
import type { ExplainDecision } from '../../serving/explain-decision.ts';
import type { StandingReader } from '../../serving/read-standings.ts';
import { type Config, consoleLinksOf, consoleUrlOf } from '../../settings/settings.ts';
import type { Ledger } from '../../store/ledger.ts';
import type { LedgerCopies } from '../../store/ledger-identity.ts';
import { version } from '../version.ts';
import type { Secrets } from './secrets.ts';

/** Folder with the built console. */
const CONSOLE_FOLDER = fileURLToPath(new URL('../../console', import.meta.url));
/** Folder with the built page of the API's reference, to which the console has a link. */
const REFERENCE_FOLDER = fileURLToPath(new URL('../../reference', import.meta.url));

type ConsoleOptions = {
  readonly config: Config;
  readonly secrets: Secrets;
  readonly limits: ThrottleDependencies;
  readonly ledger: Ledger;
  readonly copies: LedgerCopies;
  readonly log: RareLog;
  readonly labels: DeviceLabels;
  readonly live: ActivityBroadcast;
  readonly webhooks: Webhooks;
  /** Returns the base URL of the service; only requests call it. */
  readonly address: () => string;
  readonly propagate: PropagateChange;
  readonly changes: Changes;
  readonly approvals: Approvals;
  readonly retries: ReleaseRetries;
  readonly explainer: ExplainDecision;
  readonly standings: StandingReader;
  readonly notes: NotesRenderer;
  /** Reads the text of `/metrics`. */
  readonly readMetrics: ReadMetrics;
};

type ChangesOptions = Omit<ChangesDependencies, 'approvals'> &
  Pick<ConsoleOptions, 'config' | 'ledger' | 'address'>;

/** Assembles the operations that change what channels serve, and the approvals that some of these need. */
export function assembleChanges({ config, ledger, address, ...others }: ChangesOptions) {
  const approvals = new Approvals(ledger, () => consoleLinksOf(config, address()));
  return { approvals, changes: new Changes({ ...others, approvals }) };
}

/** Assembles the routes for people, operators and monitoring. */
export function assembleConsole({
  config,
  secrets,
  limits,
  ledger,
  copies,
  log,
  labels,
  live,
  webhooks,
  address,
  propagate,
  changes,
  approvals,
  retries,
  explainer,
  standings,
  notes,
  readMetrics,
}: ConsoleOptions): readonly Route[] {
  const mails = assembleMails(config, secrets);
  const throttle = new LoginThrottle(limits);
  const links = assembleLinks(ledger, throttle, mails);
  const recipients = new Recipients({ ledger, throttle, links, now: Date.now });
  return [
    rootRoute(consoleUrlOf(config) ?? ''),
    ...metricsRoutes(readMetrics),
    ...consoleFiles(CONSOLE_FOLDER, consoleUrlOf(config)),
    ...consoleRoutes({
      ...assembleAccounts(config, secrets, { ...limits, ledger, log, mails, links }),
      administer: new Administer(ledger, propagate, config.organizationsBy === 'anyone'),
      view: new ViewConsole(ledger, standings, address),
      fleet: new ViewFleet(ledger, live),
      purge: new PurgeDevices({ ledger, labels }),
      explainer,
      webhooks,
      destinations: assembleDestinations(config, ledger, secrets, { ...limits, recipients }),
      recipients,
      copies,
      ddiTokens: new DdiTokens(ledger, secrets.box),
      edgeTokens: new EdgeTokens(ledger, secrets.signer),
      resealing: new ResealSecrets({ ledger, box: secrets.box }),
      ledger,
      ...{ changes, approvals, retries },
      matching: new MatchCounter(ledger),
      notes,
      freshnessSeconds: config.deviceFreshnessSeconds,
    }),
  ];
}

/** Assembles the reference of the API. Requests call `server`, which returns the base URL of the API. */
export function assembleReference(server: () => string): readonly Route[] {
  return referenceRoutes({ version: version(), server, folder: REFERENCE_FOLDER });
}

function assembleDestinations(
  { notify }: Config,
  ledger: Ledger,
  { box }: Secrets,
  limits: ThrottleDependencies & { readonly recipients: Recipients },
): Destinations {
  const judge = new AddressJudge(notify.privateNetworks, ownAddresses);
  return new Destinations({
    ...{ ...limits, ledger, box, hasMail: notify.mail !== undefined },
    refuseUrl: (url) => judge.refuseUrl(url),
  });
}

/** Assembles mails to people: makes none without a mail server and a key to encrypt them with. */
function assembleMails({ notify }: Config, { box }: Secrets): PeopleMails {
  const isOn = notify.mail !== undefined && box !== undefined;
  return new PeopleMails(isOn ? (text, owner) => box.seal(text, owner) : undefined);
}

/** Assembles links that work once, with the mails that contain or announce them. */
function assembleLinks(ledger: Ledger, throttle: LoginThrottle, mails: PeopleMails): OneTimeLinks {
  return new OneTimeLinks({
    ...{ ledger, throttle, now: Date.now },
    mail: (kind, to, { url, expiresAt }, atMs) =>
      kind === 'recovery' ? mails.recovery(to, 'made', atMs) : mails[kind](to, url, expiresAt),
  });
}

/** Assembles the operations on accounts and members for the console's routes. */
function assembleAccounts(
  config: Config,
  secrets: Secrets,
  stores: ThrottleDependencies & {
    readonly ledger: Ledger;
    readonly log: RareLog;
    readonly mails: PeopleMails;
    readonly links: OneTimeLinks;
  },
) {
  const { ledger, metrics, log, mails, links } = stores;
  const passwords = new Passwords(argon2Hasher);
  const throttle = new LoginThrottle(stores);
  const browsers = new KnownBrowsers(ledger);
  const failed = new FailedSignIns(ledger, log);
  const gate = new SignInGate({ ledger, passwords, throttle, browsers, failed, metrics });
  const { arePasswordsOn, oidc: provider } = config;
  const guards = { links, passwords, throttle, browsers, gate };
  const shared = { ledger, ...guards, arePasswordsOn, now: Date.now };
  const accounts = new Accounts({
    ...shared,
    adminTokens: () => secrets.adminTokens,
    newBrowserMail: (email, address, atMs) => mails.signIn(email, address, atMs),
  });
  const members = new Members({ ...shared, accounts });
  const consoleUrl = consoleUrlOf(config);
  const passkeys = new Passkeys({
    ...{ ...shared, accounts, challenges: new Challenges(shared), consoleUrl },
    mail: (email, deed, atMs) => mails.passkey(email, deed, atMs),
    recoveredMail: (email, atMs) => mails.recovery(email, 'used', atMs),
  });
  const areOrganizationsOpen = config.organizationsBy === 'anyone';
  const { trustProxy } = config;
  const ways = provider && { password: arePasswordsOn, oidc: { name: provider.name } };
  const oidc =
    provider &&
    new OidcSignIn({
      ...{ ...shared, ...provider, accounts, metrics, log, rules: provider.roles },
      provider: new OidcProvider(provider, Date.now),
      key: new SigningKey(ledger, 'oidc-sign-in'),
    });
  const made = { accounts, members, links, passkeys, oidc };
  return { ...made, consoleUrl, trustProxy, areOrganizationsOpen, ways };
}
