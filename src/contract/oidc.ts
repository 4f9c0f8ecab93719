// Sign-in with an OpenID Connect provider: why a sign-in can be refused, and where it may lead.

/** Reasons for refusing what came back from the provider, which the page puts in words. */
export type OidcRefusal =
  // The answer is not one to a sign-in that this browser began, or it came too late or twice.
  | 'stale'
  // What the provider answers of the person, of its own state, and of this service as its client.
  | 'denied'
  | 'interaction-required'
  | 'provider-failed'
  | 'provider-busy'
  | 'client-refused'
  | 'request-refused'
  // It gives no answer, another answer than a provider's, or that of another issuer.
  | 'away'
  | 'no-provider'
  | 'other-issuer'
  | 'untrusted'
  // What it tells of the person is not enough to let them in.
  | 'no-address'
  | 'unverified'
  | 'too-many-groups'
  // The claim of the groups is there, and in no form that names some.
  | 'unreadable-groups';

/** How people can sign in, where an OpenID Connect provider is set. */
export type SignInWays = {
  /** Whether passwords let in. */
  readonly password: boolean;
  /** The provider, by the name for its button. */
  readonly oidc: { readonly name: string };
};

const PATH_LENGTH_MAX = 1000;
const PATH = /^\/console(?:\/[\w.~%!$&'()*+,;=:@-]+)*\/?(?:\?[\w.~%!$&'()*+,;=:@/?-]*)?$/;

/** Returns the path if it is one of the console, and so of this service; else that of the console itself. */
export function readConsolePath(path: string | undefined): string {
  const isPath = path !== undefined && path.length <= PATH_LENGTH_MAX && PATH.test(path);
  return isPath ? path : '/console';
}
