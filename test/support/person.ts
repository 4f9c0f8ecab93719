// Person at a browser: keeps the session's cookie, and sends the origin that a page of the service sends.

import { ADMIN_TOKEN } from './node.ts';
import { type Addressed, type Answer, admin, randomId, send } from './tenant.ts';

export const PASSWORD = 'correct horse battery staple';

export class Person {
  readonly node: Addressed;
  readonly email: string;
  /** Origin header of every request; undefined leaves it out. */
  origin: string | undefined;
  /** Value of the session's cookie; undefined while signed out. */
  token: string | undefined;
  /** Value of the cookie by which this browser is known; undefined before the first sign-in. */
  browser: string | undefined;
  /** Value of the cookie with the challenge of a passkey; undefined before the first one. */
  challenge: string | undefined;
  /** `User-Agent` of every request; undefined leaves it to the client. */
  agent: string | undefined;
  accountId = '';

  constructor(node: Addressed, email = `person-${randomId()}@example.com`) {
    this.node = node;
    this.email = email;
    this.origin = node.url;
  }

  /** Calls `/console/api/…`, and keeps the session that the answer sets. */
  async call(method: string, path: string, body?: unknown): Promise<Answer> {
    const headers: Record<string, string> = {};
    if (this.origin !== undefined) headers.origin = this.origin;
    if (this.agent !== undefined) headers['user-agent'] = this.agent;
    const cookies = [
      'theme=dark',
      ...(this.token === undefined ? [] : [`sluice_session=${this.token}`]),
      ...(this.browser === undefined ? [] : [`sluice_browser=${this.browser}`]),
      ...(this.challenge === undefined ? [] : [`sluice_challenge=${this.challenge}`]),
    ];
    if (cookies.length > 1) headers.cookie = cookies.join('; ');
    const answer = await send(this.node, method, `/console/api/${path}`, { body, headers });
    for (const cookie of answer.headers.getSetCookie()) {
      const [, name, value = ''] = /^(\w+)=([^;]*)/.exec(cookie) ?? [];
      if (name === 'sluice_session') this.token = value || undefined;
      if (name === 'sluice_browser') this.browser = value || undefined;
      if (name === 'sluice_challenge') this.challenge = value || undefined;
    }
    const account = answer.body?.account as { id: string } | undefined;
    if (account !== undefined) this.accountId = account.id;
    return answer;
  }

  signIn(password = PASSWORD): Promise<Answer> {
    return this.call('POST', 'session', { email: this.email, password });
  }

  setUp(organization: string, token = ADMIN_TOKEN): Promise<Answer> {
    const { email } = this;
    const body = { token, email, name: 'A Person', password: PASSWORD, organization };
    return this.call('POST', 'setup', body);
  }

  /** Returns this person at another browser, where they are signed out. */
  elsewhere(): Person {
    const other = new Person(this.node, this.email);
    other.accountId = this.accountId;
    other.origin = this.origin;
    return other;
  }

  /** Returns this person signed in at another browser. */
  async elsewhereSignedIn(): Promise<Person> {
    const other = this.elsewhere();
    await other.signIn();
    return other;
  }
}

/** The token of an invitation's link. */
export function tokenIn(url: unknown): string {
  return String(url).split('/').at(-1) ?? '';
}

/** Creates a person and makes them a member of the organization, by an invitation of the operator. */
export async function member(
  node: Addressed,
  org: string,
  role: string,
  name = 'A Person',
  email?: string,
): Promise<Person> {
  const person = new Person(node, email);
  const invited = await admin(node, 'POST', 'invitations', { org, email: person.email, role });
  if (invited.status !== 201) throw new Error(`not invited: ${invited.text}`);
  const body = { token: tokenIn(invited.body?.url), name, password: PASSWORD };
  const joined = await person.call('POST', 'invitation', body);
  if (joined.status !== 201) throw new Error(`not joined: ${joined.text}`);
  return person;
}
