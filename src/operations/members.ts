// Who belongs to an organization: members, their roles, invitations by a link that works once.

import { fail, invalidField, isFailure, type Outcome } from '../contract/failure.ts';
import { LIMIT } from '../contract/limit.ts';
import type { Invitation, Member, Organization, Role } from '../contract/resource.ts';
import type { OpenInvitation } from '../ports/account-ledger.ts';
import type { Actor, Ledger } from '../ports/ledger.ts';
import type { Accounts, SignedIn } from './accounts.ts';
import type { LoginThrottle } from './login-throttle.ts';
import type { Passwords } from './passwords.ts';
import { createSessionToken, tokenHash } from './session-token.ts';

export type MembersDependencies = {
  readonly ledger: Ledger;
  readonly accounts: Accounts;
  readonly passwords: Passwords;
  readonly throttle: LoginThrottle;
  readonly now: () => number;
};

export class Members {
  private readonly dependencies: MembersDependencies;

  constructor(dependencies: MembersDependencies) {
    this.dependencies = dependencies;
  }

  /** Members and open invitations. */
  async list(
    organizationId: string,
  ): Promise<{ members: readonly Member[]; invitations: readonly Invitation[] }> {
    const { ledger, now } = this.dependencies;
    const members = await ledger.listMembers(organizationId);
    return { members, invitations: await ledger.listInvitations(organizationId, iso(now())) };
  }

  /** Undefined ends the membership. 404 unknown member, 409 the last owner. */
  change(
    organizationId: string,
    accountId: string,
    role: Role | undefined,
    actor: Actor,
  ): Promise<Outcome<Member>> {
    return this.dependencies.ledger.changeMember(organizationId, accountId, role, actor);
  }

  rename(organizationId: string, name: string, actor: Actor): Promise<Outcome<Organization>> {
    return this.dependencies.ledger.renameOrganization(organizationId, name, actor);
  }

  /** The answer is the only place where the token ever stands. 409 a member already, or too many. */
  async invite(
    organizationId: string,
    email: string,
    role: Role,
    actor: Actor,
  ): Promise<Outcome<Invitation & { readonly token: string }>> {
    const { token, hash } = createSessionToken();
    const now = this.dependencies.now();
    const invitation = await this.dependencies.ledger.createInvitation(
      {
        organizationId,
        tokenHash: hash,
        email,
        role,
        at: iso(now),
        expiresAt: iso(now + LIMIT.invitationLifetimeMs),
      },
      actor,
    );
    return isFailure(invitation) ? invitation : { ...invitation, token };
  }

  /** 404 unknown invitation. */
  revoke(id: string, actor: Actor): Promise<Outcome<{ id: string }>> {
    return this.dependencies.ledger.revokeInvitation(id, iso(this.dependencies.now()), actor);
  }

  /** What the holder of a token is invited to. 404 when it cannot be used (any more), 429. */
  async readInvitation(
    token: string,
    address: string,
  ): Promise<Outcome<OpenInvitation & { readonly hash: string }>> {
    const refusal = await this.dependencies.throttle.admitAddress(address);
    if (refusal !== undefined) return refusal;
    const hash = tokenHash(token);
    if (hash === undefined) return fail('unknownInvitation');
    const found = await this.dependencies.ledger.findInvitation(hash, iso(this.dependencies.now()));
    return found === undefined ? fail('unknownInvitation') : { ...found, hash };
  }

  /**
   * Joins, with a new account or, where the email has one, with that account's password; signs in. 404 as
   * above, 400 when the account's password is another, 429.
   */
  async accept(
    request: { readonly token: string; readonly name: string; readonly password: string },
    address: string,
  ): Promise<Outcome<SignedIn>> {
    const { ledger, accounts, passwords, throttle, now } = this.dependencies;
    const invitation = await this.readInvitation(request.token, address);
    if (isFailure(invitation)) return invitation;
    const { email, hash } = invitation;
    const refusal = await throttle.admit(email, address);
    if (refusal !== undefined) return refusal;
    const stored = await ledger.findAccount(email);
    const { name, password } = request;
    if (stored !== undefined && !(await passwords.verify(stored.passwordHash, password))) {
      return invalidField('password', 'This email has an account, and that has another password');
    }
    await throttle.succeed(email, address);
    const passwordHash = stored?.passwordHash ?? (await passwords.hash(password));
    const joining = { email, name, passwordHash, isNew: stored === undefined };
    const account = await ledger.acceptInvitation(hash, joining, iso(now()));
    return isFailure(account) ? account : accounts.begin({ ...account, passwordHash });
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
