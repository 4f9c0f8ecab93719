// Sign-in with an OpenID Connect provider: why a sign-in can be refused, and where it may lead.

/** Reasons for refusing a sign-in after the provider has sent the browser back; the page words them. */
export type OidcRefusal =
  // This browser began no such sign-in, or the answer came too late or twice.
  | 'stale'
  // Errors that the provider answers: about the person, its own state, and this service as its client.
  | 'denied'
  | 'interaction-required'
  | 'provider-failed'
  | 'provider-busy'
  | 'client-refused'
  | 'request-refused'
  // The provider does not answer, does not answer as a provider does, or names another issuer.
  | 'away'
  | 'no-provider'
  | 'other-issuer'
  | 'untrusted'
  // The provider's claims about the person do not suffice to let them in.
  | 'no-address'
  | 'unverified'
  | 'too-many-groups'
  // The claim with the groups exists, but is in no known form.
  | 'unreadable-groups';

/** How people can sign in if an OpenID Connect provider is set. */
export type SignInWays = {
  /** Whether people can sign in with a password. */
  readonly password: boolean;
  /** The provider, with the name on its button. */
  readonly oidc: { readonly name: string };
};

const PATH_LENGTH_MAX = 1000;
const PATH = /^\/console(?:\/[\w.~%!$&'()*+,;=:@-]+)*\/?(?:\?[\w.~%!$&'()*+,;=:@/?-]*)?$/;

/** Returns the path if it is one of the console, and so leads to no other site; else `/console`. */
export function readConsolePath(path: string | undefined): string {
  const isPath = path !== undefined && path.length <= PATH_LENGTH_MAX && PATH.test(path);
  return isPath ? path : '/console';
}
