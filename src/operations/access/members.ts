// Members of an organization, their roles, and invitations by a link that works once.

import type { MemberList, OpenInvitation, RevokedInvitation } from '../../contract/console.ts';
import {
  fail,
  invalidField,
  isFailure,
  type LostRight,
  type Outcome,
} from '../../contract/failure.ts';
import { isoTime } from '../../contract/iso-time.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { Invitation, Member, Organization, Role } from '../../contract/resource.ts';
import type { Actor } from '../../ports/actor.ts';
import type { Ledger } from '../../ports/ledger.ts';
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

  /** Lists members and open invitations. */
  async list(organizationId: string): Promise<MemberList> {
    const { ledger, now } = this.dependencies;
    const members = await ledger.listMembers(organizationId);
    return { members, invitations: await ledger.listInvitations(organizationId, isoTime(now())) };
  }

  /** Changes a member's role; undefined ends the membership. The last owner must stay one. */
  change(
    organizationId: string,
    accountId: string,
    role: Role | undefined,
    actor: Actor,
  ): Promise<Outcome<Member, 'unknownMember' | 'lastOwner' | LostRight>> {
    return this.dependencies.ledger.changeMember(organizationId, accountId, role, actor);
  }

  rename(
    organizationId: string,
    name: string,
    actor: Actor,
  ): Promise<Outcome<Organization, LostRight>> {
    return this.dependencies.ledger.renameOrganization(organizationId, name, actor);
  }

  /** Invites an e-mail address. The token is contained in this answer only. */
  async invite(
    organizationId: string,
    email: string,
    role: Role,
    actor: Actor,
  ): Promise<
    Outcome<
      Invitation & { readonly token: string },
      'alreadyMember' | 'tooManyInvitations' | LostRight
    >
  > {
    const { token, hash } = createSessionToken();
    const now = this.dependencies.now();
    const invitation = await this.dependencies.ledger.createInvitation(
      {
        organizationId,
        tokenHash: hash,
        email,
        role,
        at: isoTime(now),
        expiresAt: isoTime(now + LIMIT.invitationLifetimeMs),
      },
      actor,
    );
    return isFailure(invitation) ? invitation : { ...invitation, token };
  }

  /** Ends an invitation. */
  revoke(id: string, actor: Actor): Promise<Outcome<RevokedInvitation, LostRight>> {
    return this.dependencies.ledger.revokeInvitation(id, isoTime(this.dependencies.now()), actor);
  }

  /** Returns what the holder of a token is invited to, while the invitation can be used. */
  async readInvitation(
    token: string,
    address: string,
  ): Promise<
    Outcome<OpenInvitation & { readonly hash: string }, 'rateLimited' | 'unknownInvitation'>
  > {
    const refusal = await this.dependencies.throttle.admitAddress(address);
    if (refusal !== undefined) return refusal;
    const hash = tokenHash(token);
    if (hash === undefined) return fail('unknownInvitation');
    const found = await this.dependencies.ledger.findInvitation(
      hash,
      isoTime(this.dependencies.now()),
    );
    return found === undefined ? fail('unknownInvitation') : { ...found, hash };
  }

  /**
   * Accepts an invitation, with a new account or, when the e-mail address has one, with that account's
   * password, and signs in. Refused as `invalid` when the password is wrong.
   */
  async accept(
    request: { readonly token: string; readonly name: string; readonly password: string },
    address: string,
  ): Promise<Outcome<SignedIn, 'rateLimited' | 'unknownInvitation' | 'invalid' | 'wrongLogin'>> {
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
    const account = await ledger.acceptInvitation(hash, joining, isoTime(now()));
    return isFailure(account) ? account : accounts.begin({ ...account, passwordHash });
  }
}
