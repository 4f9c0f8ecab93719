// Members of an organization, their roles, and invitations by a link that works once.

import type {
  IssuedInvitation,
  MemberList,
  NoContent,
  RevokedInvitation,
} from '../contract/console.ts';
import { fail, invalidField, isFailure, type Outcome } from '../contract/failure.ts';
import type { Role } from '../contract/resource.ts';
import { isoTime } from '../contract/text.ts';
import type { Joining } from '../store/account-ledger.ts';
import type { Ledger } from '../store/ledger.ts';
import type { Actor } from '../store/ledger-terms.ts';
import type { Accounts, AwaitsPasskey, Session, SignedIn } from './accounts.ts';
import type { OneTimeLinks } from './one-time-links.ts';
import type { Passwords } from './passwords.ts';
import type { Client, LoginThrottle, SignInGate } from './sign-in-limits.ts';

export type MembersDependencies = {
  readonly ledger: Ledger;
  readonly accounts: Accounts;
  readonly passwords: Passwords;
  readonly links: OneTimeLinks;
  readonly throttle: LoginThrottle;
  readonly gate: SignInGate;
  /** Whether people can sign in with passwords. */
  readonly arePasswordsOn: boolean;
  readonly now: () => number;
};

export class Members {
  constructor(private readonly dependencies: MembersDependencies) {}

  /** Lists members and open invitations. */
  async list(organizationId: string): Promise<MemberList> {
    const { ledger, now } = this.dependencies;
    const members = await ledger.listMembers(organizationId);
    return { members, invitations: await ledger.listInvitations(organizationId, isoTime(now())) };
  }

  /**
   * Invites an email address with a link below the base URL of the console, within the organization's limit
   * on links. Only the returned value has the link's token.
   */
  async invite(
    organizationId: string,
    email: string,
    role: Role,
    actor: Actor,
    base: string,
  ): Promise<Outcome<IssuedInvitation>> {
    const { ledger, links, throttle } = this.dependencies;
    const limited = await throttle.admitLink(organizationId);
    if (limited !== undefined) return limited;
    const { issued, stored, mailTo } = links.make('invitation', base);
    const invitation = { ...stored, organizationId, email, role, mail: mailTo(email) };
    const created = await ledger.createInvitation(invitation, actor);
    return isFailure(created) ? created : { id: created.id, ...issued };
  }

  /** Ends an invitation. */
  revoke(id: string, actor: Actor): Promise<Outcome<RevokedInvitation>> {
    return this.dependencies.ledger.revokeInvitation(id, isoTime(this.dependencies.now()), actor);
  }

  /**
   * Accepts an invitation and signs in: with a new account or, if the email address has one, as that account
   * with its password. A wrong password is refused as `invalid`, unless the account has no membership: then
   * the account gets this name and password.
   */
  async accept(
    request: { readonly token: string; readonly name: string; readonly password: string },
    client: Client,
  ): Promise<Outcome<SignedIn | AwaitsPasskey>> {
    const { ledger, accounts, links, arePasswordsOn, now } = this.dependencies;
    if (!arePasswordsOn) return fail('passwordsOff');
    const invitation = await links.read('invitation', request.token, client.address);
    if (isFailure(invitation)) return invitation;
    const joining = await this.join(invitation.offer.email, request, client);
    if (isFailure(joining)) return joining;
    const account = await ledger.acceptInvitation(invitation.hash, joining, isoTime(now()));
    if (isFailure(account)) return account;
    const { passwordHash } = joining;
    return accounts.begin({ ...account, passwordHash }, client, joining.as !== 'known');
  }

  /** Accepts an invitation as the account of a session, which must be that of its e-mail address. */
  async acceptAs(
    { account, passwordHash }: Session,
    token: string,
    address: string,
  ): Promise<Outcome<NoContent>> {
    const { ledger, links, now } = this.dependencies;
    const invitation = await links.read('invitation', token, address);
    if (isFailure(invitation)) return invitation;
    const { email, name } = account;
    const invited = invitation.offer.email;
    if (invited !== email) return invalidField('token', `The invitation is for ${invited}`);
    const joining = { email, name, passwordHash, as: 'known' } as const;
    const accepted = await ledger.acceptInvitation(invitation.hash, joining, isoTime(now()));
    return isFailure(accepted) ? accepted : {};
  }

  /** Returns the account that joins. An account with memberships joins only with its own password. */
  private async join(
    email: string,
    { name, password }: { readonly name: string; readonly password: string },
    client: Client,
  ): Promise<Outcome<Joining & { readonly passwordHash: string }>> {
    const { ledger, passwords, gate } = this.dependencies;
    const stored = await ledger.findAccount(email);
    if (stored === undefined) {
      return { email, name, passwordHash: await passwords.hash(password, true), as: 'new' };
    }
    const tried = await gate.try(email, password, { ...client, hasLink: true });
    if (isFailure(tried)) return tried;
    if (tried.isRight && stored.passwordHash !== null) {
      return { email, name, passwordHash: stored.passwordHash, as: 'known' };
    }
    if ((await ledger.listMemberships(stored.id)).length > 0) {
      return invalidField('password', 'This email has an account, and that has another password');
    }
    return { email, name, passwordHash: await passwords.hash(password, true), as: 'claimed' };
  }
}
