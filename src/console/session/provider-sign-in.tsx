// Sign-in with the OpenID Connect provider: its button, the texts of refusals, and the page on which a person
// proves once that an account is theirs.

import type { OidcRefusal, SignInWays } from '../../contract/oidc.ts';
import { call } from '../api/call.ts';
import { Form, useFields } from '../form/form.tsx';
import { Notice } from '../form/notice.tsx';
import { MOUNT } from '../format/console-path.ts';
import { useAction } from '../hook/use-action.ts';
import { useLoad } from '../hook/use-load.ts';
import { PasswordField } from './account-field.tsx';
import { OpenedLink, SignedOutLayout } from './signed-out-layout.tsx';

/** Button that leads to the provider, and from there to the path `to` of the console. */
export function ProviderButton(props: {
  ways: SignInWays;
  to: string;
  /** Whether it opens a new window, and leaves this one as it is. */
  isApart?: boolean;
}) {
  const { ways, to, isApart = false } = props;
  const action = useAction();
  const begin = () => {
    // Opened before the call, because browsers block a window that opens after an answer.
    const opened = isApart ? window.open('', '_blank') : window;
    return action.run(async () => {
      try {
        const { url } = await call('POST', 'oidc', { to: to.slice(MOUNT.length) });
        (opened ?? window).location.assign(url);
      } catch (error) {
        if (isApart) opened?.close();
        throw error;
      }
    });
  };
  return (
    <>
      {action.error !== undefined && <Notice tone="bad">{action.error}</Notice>}
      <button
        type="button"
        class={`button ${ways.password ? 'plain' : 'primary'}`}
        disabled={action.isBusy}
        onClick={() => void begin()}
      >
        Sign in with {ways.oidc.name}
      </button>
    </>
  );
}

const REFUSALS: Readonly<Record<OidcRefusal, (name: string) => string>> = {
  stale: () =>
    'This sign-in took too long, was used already, or began in another browser. Try again.',
  denied: (name) => `${name} did not let you in.`,
  'interaction-required': (name) =>
    `${name} asks something of you first, such as to sign in or to agree. Go there, then try again.`,
  'provider-failed': (name) =>
    `${name} has met an error of its own. Try again shortly, or tell the operator.`,
  'provider-busy': (name) => `${name} takes no sign-ins at the moment. Try again shortly.`,
  'client-refused': (name) =>
    `${name} does not accept this service or its secret. Tell the operator.`,
  'request-refused': (name) =>
    `${name} does not accept what this service asks of it. Tell the operator.`,
  'no-provider': (name) =>
    `At the address of ${name} no sign-in provider answers. Tell the operator.`,
  'other-issuer': (name) =>
    `${name} calls itself by another address than is set here. Tell the operator.`,
  untrusted: (name) =>
    `What ${name} answered cannot be trusted, so you are not signed in. Try again, or tell the operator.`,
  away: (name) => `${name} cannot be reached. Try again shortly.`,
  'no-address': (name) =>
    `${name} does not tell your email address, which a new account needs. Tell the operator.`,
  unverified: (name) =>
    `${name} does not say that your email address is yours, so it opens no account. Tell the operator.`,
  'too-many-groups': (name) =>
    `You are in more groups than ${name} can tell at once. Tell the operator.`,
  'unreadable-groups': (name) =>
    `What ${name} tells of your groups cannot be read, so your roles stay as they are. Tell the operator.`,
};

/** Returns why a sign-in was refused, by the reason in the page's address; undefined for an unknown one. */
export function refusalText(refused: string | undefined, ways: SignInWays): string | undefined {
  if (refused === undefined || !Object.hasOwn(REFUSALS, refused)) return undefined;
  return REFUSALS[refused as OidcRefusal](ways.oidc.name);
}

/** Page for a person whom the provider identified, and whose email address is that of an account. */
export function JoinPage() {
  const arrival = useLoad('oidc/arrival');
  const { data: present } = useLoad('session');
  return (
    <OpenedLink of={arrival} title="Join your account" lead="This cannot go on.">
      {({ email }) => {
        if (present === undefined) return null;
        const isOwn = present.state === 'signedIn' && present.account?.email === email;
        return <Proof email={email} name={present.signIn?.oidc.name ?? ''} isOwn={isOwn} />;
      }}
    </OpenedLink>
  );
}

/** Asks for the password, or only for a click in a session of the account. */
function Proof({ email, name, isOwn }: { email: string; name: string; isOwn: boolean }) {
  const { values, field } = useFields({ password: '' });
  const join = async () => {
    const { to } = await call('POST', 'oidc/join', isOwn ? {} : values);
    location.assign(MOUNT + to);
  };
  const lead = (
    <>
      <strong>{email}</strong> has an account here. Show once that it is yours; from then on {name}{' '}
      lets you in.
    </>
  );
  return (
    <SignedOutLayout title="Is this account yours?" lead={lead}>
      <Form send="Join my account" onSend={join}>
        {isOwn ? (
          <p>You are signed in to it.</p>
        ) : (
          <PasswordField label="Password of the account" isFocused {...field('password')} />
        )}
      </Form>
      <p class="hint">
        Not yours, or the password is gone? Ask the operator of this service for a link, sign in
        with that, and then with {name} again.
      </p>
    </SignedOutLayout>
  );
}
