// Passkeys (WebAuthn): people add, name and remove them, sign in with one, alone or after the password, and
// remove all with a link when they have lost them. The authenticator verifies the person each time.

import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import type { NoContent } from '../contract/console.ts';
import { fail, invalidField, isFailure, type Outcome } from '../contract/failure.ts';
import { LIMIT } from '../contract/limit.ts';
import type { Passkey } from '../contract/resource.ts';
import { isoTime } from '../contract/text.ts';
import { ConcurrencyLimit } from '../flow/concurrency-limit.ts';
import type { KnownPasskey, NewPasskey } from '../store/account-ledger.ts';
import type { NewMail } from '../store/delivery-ledger.ts';
import type { Ledger } from '../store/ledger.ts';
import type { AccountActor } from '../store/ledger-terms.ts';
import {
  type Accounts,
  type AwaitsPasskey,
  type Session,
  type SignedIn,
  sessionActor,
} from './accounts.ts';
import { hashSecret } from './api-keys.ts';
import type { Challenge, ChallengePurpose, Challenges } from './challenges.ts';
import type { OneTimeLinks } from './one-time-links.ts';
import { type RelyingParty, relyingPartyOf } from './relying-party.ts';
import type { Client, LoginThrottle, SignInGate } from './sign-in-limits.ts';
import { tokenHash } from './token.ts';

/** Request to an authenticator, and the cookie that its answer must come with. */
export type PasskeyQuestion = { readonly options: object; readonly cookie: string };

type PasskeysDependencies = {
  readonly ledger: Ledger;
  readonly accounts: Accounts;
  readonly challenges: Challenges;
  readonly links: OneTimeLinks;
  readonly throttle: LoginThrottle;
  readonly gate: SignInGate;
  /** Base URL of the console; undefined when no setting names one. */
  readonly consoleUrl: string | undefined;
  /** Returns the mail about a passkey, because a session alone can add or remove one. */
  readonly mail: (email: string, deed: 'added' | 'removed', atMs: number) => NewMail | undefined;
  /** Returns the mail that tells a person that a link has removed all passkeys. */
  readonly recoveredMail: (email: string, atMs: number) => NewMail | undefined;
  /** Whether people can sign in with passwords. */
  readonly arePasswordsOn: boolean;
  readonly now: () => number;
};

/** Maximum number of concurrent look-ups, because every forged answer costs one. */
const LOOKUPS_RUNNING_MAX = 2;
const LOOKUPS_WAITING_MAX = 1000;

/** Loads the library at the first passkey: its 300 modules are a third of a node's start. */
const webAuthn = () => import('@simplewebauthn/server');

export class Passkeys {
  private readonly lookups = new ConcurrencyLimit(LOOKUPS_RUNNING_MAX, LOOKUPS_WAITING_MAX);

  constructor(private readonly dependencies: PasskeysDependencies) {}

  /** Lists the passkeys of the session's account; `unavailable` says why none can be used here. */
  async list({
    account,
  }: Session): Promise<{ readonly passkeys: readonly Passkey[]; readonly unavailable?: string }> {
    const party = this.party();
    const passkeys = (await this.dependencies.ledger.listPasskeys(account.id)).map(
      ({ credentialId: _, transports: __, ...shown }) => shown,
    );
    return isFailure(party) ? { passkeys, unavailable: party.message } : { passkeys };
  }

  /** Asks the browser to make a passkey for the session's account. */
  async askForNew({ account, isStrong }: Session): Promise<Outcome<PasskeyQuestion>> {
    const party = this.party();
    if (isFailure(party)) return party;
    const there = await this.dependencies.ledger.listPasskeys(account.id);
    if (there.length > 0 && !isStrong) return fail('secondFactorFirst');
    if (there.length >= LIMIT.passkeysPerAccountMax) return fail('tooManyPasskeys');
    const asked = await this.ask({ for: 'add', accountId: account.id });
    const options = await (await webAuthn()).generateRegistrationOptions({
      rpName: 'Sluice',
      rpID: party.id,
      userID: new TextEncoder().encode(account.id),
      userName: account.email,
      userDisplayName: account.name,
      challenge: asked.bytes,
      timeout: LIMIT.challengeLifetimeMs,
      attestationType: 'none',
      excludeCredentials: there.map(describe),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    });
    return { options, cookie: asked.cookie };
  }

  /** Adds the passkey that the browser made. */
  async add(
    session: Session,
    { name, credential }: { readonly name: string; readonly credential: RegistrationResponseJSON },
    cookie: string | undefined,
    requestId?: string,
  ): Promise<Outcome<Passkey>> {
    const { ledger, challenges, mail, now } = this.dependencies;
    const party = this.party();
    if (isFailure(party)) return party;
    const challenge = await challenges.read(cookie);
    const { account } = session;
    if (challenge?.purpose.for !== 'add' || challenge.purpose.accountId !== account.id) {
      return fail('staleChallenge');
    }
    const made = await readNew(credential, challenge, party);
    if (made === undefined) return invalidField('credential', 'This passkey was not accepted');
    const at = now();
    const passkey = { ...made, name, at: isoTime(at), mail: mail(account.email, 'added', at) };
    return ledger.addPasskey(passkey, challenge, actorOf(session, requestId));
  }

  rename(
    session: Session,
    id: string,
    name: string,
    requestId?: string,
  ): Promise<Outcome<Passkey>> {
    return this.dependencies.ledger.renamePasskey(id, name, actorOf(session, requestId));
  }

  /** Removes a passkey, and ends the account's other sessions. */
  remove(session: Session, id: string, requestId?: string): Promise<Outcome<NoContent>> {
    const { ledger, mail, now } = this.dependencies;
    const told = mail(session.account.email, 'removed', now());
    return ledger.removePasskey(id, actorOf(session, requestId), told);
  }

  /** Asks the browser for a passkey of any account, to sign in with it alone. */
  async askAlone(): Promise<Outcome<PasskeyQuestion>> {
    const party = this.party();
    return isFailure(party) ? party : this.askFor({ for: 'alone' }, party, []);
  }

  /** Asks for a passkey of the account whose password was right. */
  async askSecond({
    awaits: { id, passwordHash },
  }: AwaitsPasskey): Promise<Outcome<PasskeyQuestion>> {
    const party = this.party();
    if (isFailure(party)) return party;
    const passkeys = await this.dependencies.ledger.listPasskeys(id);
    const purpose = {
      for: 'second',
      accountId: id,
      proof: hashSecret(passwordHash),
    } as const;
    return this.askFor(purpose, party, passkeys.map(describe));
  }

  /**
   * Signs in with the answer to a question, and ends the presented session. An answer by an unknown passkey
   * counts as a try of the IP address; any other counts as a try of the account.
   */
  async signIn(
    credential: AuthenticationResponseJSON,
    cookie: string | undefined,
    client: Client,
    presented: string | undefined,
  ): Promise<Outcome<SignedIn>> {
    const { ledger, accounts, challenges, throttle, gate } = this.dependencies;
    const party = this.party();
    if (isFailure(party)) return party;
    const challenge = await challenges.read(cookie);
    if (challenge === undefined || challenge.purpose.for === 'add') return fail('staleChallenge');
    const known = await this.lookups.pass(() => ledger.findPasskey(credential.id));
    if (known === undefined) {
      return (await throttle.admitAddress(client.address)) ?? fail('wrongPasskey');
    }
    const { account } = known;
    const admitted = await gate.admit(account.email, client);
    if (isFailure(admitted)) return admitted;
    const isMeant = isFor(challenge.purpose, known, credential);
    const counter = isMeant ? await readCounter(credential, challenge, known, party) : undefined;
    const openedBy = challenge.purpose.for === 'alone' ? 'passkey' : 'password';
    const signedIn =
      counter === undefined
        ? fail('wrongPasskey')
        : await accounts.beginByPasskey(
            account,
            { id: known.id, counter, challenge },
            client,
            openedBy,
          );
    await gate.conclude(admitted, account, !isFailure(signedIn));
    const former = tokenHash(presented);
    if (!isFailure(signedIn) && former !== undefined) await ledger.endSession(former);
    return signedIn;
  }

  /**
   * Removes all passkeys of an account with a link and the account's password; the link alone is not enough.
   * Ends every session of the account, and signs in by the password alone.
   */
  async recover(
    request: { readonly token: string; readonly password: string },
    client: Client,
  ): Promise<Outcome<SignedIn | AwaitsPasskey>> {
    const { ledger, accounts, links, gate, arePasswordsOn, recoveredMail, now } = this.dependencies;
    if (!arePasswordsOn) return fail('passwordsOff');
    const link = await links.read('recovery', request.token, client.address);
    if (isFailure(link)) return link;
    const by = { ...client, hasLink: true };
    const tried = await gate.try(link.offer.email, request.password, by);
    if (isFailure(tried)) return tried;
    const { account, isRight } = tried;
    const passwordHash = account?.passwordHash ?? undefined;
    if (!isRight || account === undefined || passwordHash === undefined) {
      return invalidField('password', 'Wrong password');
    }
    const at = now();
    const told = recoveredMail(account.email, at);
    const used = await ledger.useRecovery(account, link.hash, isoTime(at), told);
    return isFailure(used) ? used : accounts.begin({ ...account, passwordHash }, client);
  }

  private party() {
    return relyingPartyOf(this.dependencies.consoleUrl);
  }

  private async ask(purpose: ChallengePurpose) {
    const { challenge, cookie } = await this.dependencies.challenges.issue(purpose);
    return { bytes: new Uint8Array(Buffer.from(challenge.text, 'base64url')), cookie };
  }

  private async askFor(
    purpose: ChallengePurpose,
    party: RelyingParty,
    allowCredentials: ReturnType<typeof describe>[],
  ): Promise<PasskeyQuestion> {
    const { bytes, cookie } = await this.ask(purpose);
    const options = await (await webAuthn()).generateAuthenticationOptions({
      rpID: party.id,
      challenge: bytes,
      timeout: LIMIT.challengeLifetimeMs,
      userVerification: 'required',
      allowCredentials,
    });
    return { options, cookie };
  }
}

function actorOf(session: Session, requestId: string | undefined): AccountActor {
  return { ...sessionActor(session), requestId };
}

/** Describes a passkey to the browser, which then asks only the authenticator that has it. */
function describe(passkey: {
  readonly credentialId: string;
  readonly transports: readonly string[];
}) {
  return { id: passkey.credentialId, transports: [...passkey.transports] };
}

/**
 * Returns whether the answer is for this passkey's account. After a password: the account is the one that
 * gave it, and its password has not changed. Alone: the account is the one that the authenticator names.
 */
function isFor(
  purpose: ChallengePurpose,
  { account }: KnownPasskey,
  { response }: AuthenticationResponseJSON,
): boolean {
  if (purpose.for === 'second') {
    const { id, passwordHash } = account;
    const isSame = passwordHash !== null && purpose.proof === hashSecret(passwordHash);
    return purpose.accountId === id && isSame;
  }
  return response.userHandle === Buffer.from(account.id).toString('base64url');
}

type Made = Omit<NewPasskey, 'name' | 'at' | 'mail'>;

/** Returns the new passkey of a right answer; undefined for any other answer. */
async function readNew(
  response: RegistrationResponseJSON,
  challenge: Challenge,
  party: RelyingParty,
): Promise<Made | undefined> {
  const answer = await verified(
    (await webAuthn()).verifyRegistrationResponse({
      response,
      expectedChallenge: challenge.text,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: true,
    }),
  );
  if (answer?.registrationInfo === undefined) return undefined;
  const { id, publicKey, counter, transports = [] } = answer.registrationInfo.credential;
  return {
    credentialId: id,
    publicKey: Buffer.from(publicKey).toString('base64url'),
    counter,
    transports,
  };
}

/**
 * Returns the counter of a right answer; undefined for any other answer. The ledger checks that the counter
 * has risen, because another node may have stored a higher one.
 */
async function readCounter(
  response: AuthenticationResponseJSON,
  challenge: Challenge,
  { publicKey }: KnownPasskey,
  party: RelyingParty,
): Promise<number | undefined> {
  const answer = await verified(
    (await webAuthn()).verifyAuthenticationResponse({
      response,
      expectedChallenge: challenge.text,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: true,
      credential: {
        id: response.id,
        publicKey: new Uint8Array(Buffer.from(publicKey, 'base64url')),
        counter: 0,
      },
    }),
  );
  return answer?.authenticationInfo.newCounter;
}

/** Returns the library's result; undefined for a wrong answer, for which the library mostly rejects. */
async function verified<Result extends { readonly verified: boolean }>(
  result: Promise<Result>,
): Promise<Result | undefined> {
  try {
    const read = await result;
    return read.verified ? read : undefined;
  } catch {
    return undefined;
  }
}
