// Pages that a mailed link opens: they accept an invitation, set a new password, remove lost passkeys, or
// confirm the recipient of notifications.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { OpenInvitation } from '../../contract/console.ts';
import type { OfferedMail } from '../../contract/notification.ts';
import { call } from '../api/call.ts';
import { completeSignIn } from '../api/passkey.ts';
import { Form, useFields } from '../form/form.tsx';
import { consolePath, queryText } from '../format/console-path.ts';
import { useLoad } from '../hook/use-load.ts';
import { StrongName } from '../part/name.tsx';
import { PASSWORD_HINT, PasswordField, PersonField } from './account-field.tsx';
import { ProviderButton } from './provider-sign-in.tsx';
import { OpenedLink, SignedOutLayout } from './signed-out-layout.tsx';

/** Page of an invitation, with or without a session. */
export function InvitationPage({ token }: { token: string }) {
  return (
    <OpenedLink
      of={useLoad(`invitation${queryText({ token })}`)}
      title="Invitation"
      lead="This invitation cannot be used."
      gone="It was used, revoked or has expired. Ask for a new one."
    >
      {(offer) => <Acceptance token={token} offer={offer} />}
    </OpenedLink>
  );
}

function Acceptance({ token, offer }: { token: string; offer: OpenInvitation }) {
  const { route } = useLocation();
  const session = useLoad('session');
  const { data: present } = session;
  if (session.isComing) return null;
  const ways = present?.signIn;
  const isOwn = present?.state === 'signedIn' && present.account?.email === offer.email;
  const accept = async () => {
    await call('POST', 'invitation/accept', { token });
    route(consolePath.apps, true);
  };
  return (
    <SignedOutLayout
      title="Join the organization"
      lead={
        <>
          <StrongName text={offer.organization.name} /> invites {offer.email} as {offer.role}.
        </>
      }
    >
      {isOwn ? (
        <Form send="Accept invitation" onSend={accept}>
          <p>You are signed in as {offer.email}.</p>
        </Form>
      ) : (
        <>
          {ways !== undefined && <ProviderButton ways={ways} to={consolePath.invitation(token)} />}
          {ways?.password !== false && <PasswordAcceptance token={token} />}
        </>
      )}
    </SignedOutLayout>
  );
}

function PasswordAcceptance({ token }: { token: string }) {
  const { route } = useLocation();
  const { values, field } = useFields({ name: '', password: '' });
  const accept = async () => {
    await completeSignIn(await call('POST', 'invitation', { token, ...values }));
    route(consolePath.apps, true);
  };
  return (
    <Form send="Accept invitation" onSend={accept}>
      <PersonField isFocused {...field('name')} />
      <PasswordField
        isNew
        hint={`${PASSWORD_HINT} If you have an account with this email already, its own password.`}
        {...field('password')}
      />
    </Form>
  );
}

/** Page of a link to set a new password, with or without a session. */
export function PasswordResetPage({ token }: { token: string }) {
  const { route } = useLocation();
  const { values, field } = useFields({ password: '' });
  const set = async () => {
    await completeSignIn(await call('POST', 'password-reset', { token, ...values }));
    route(consolePath.apps, true);
  };
  return (
    <OpenedLink
      of={useLoad(`password-reset${queryText({ token })}`)}
      title="New password"
      gone="It was used or has expired. Ask the operator for a new one."
    >
      {({ email }) => (
        <SignedOutLayout
          title="New password"
          lead={
            <>
              For <strong>{email}</strong>. Every session of the account ends, and you are signed in
              here.
            </>
          }
        >
          <Form send="Set password" onSend={set}>
            <PasswordField label="New password" isNew isFocused {...field('password')} />
          </Form>
        </SignedOutLayout>
      )}
    </OpenedLink>
  );
}

/** Page of a link to remove lost passkeys, with or without a session. */
export function RecoveryPage({ token }: { token: string }) {
  const { route } = useLocation();
  const { values, field } = useFields({ password: '' });
  const recover = async () => {
    await call('POST', 'recovery', { token, ...values });
    route(consolePath.settings('account'), true);
  };
  return (
    <OpenedLink
      of={useLoad(`recovery${queryText({ token })}`)}
      title="Lost passkeys"
      gone="It was used or has expired. Ask an owner of your organization for a new one."
    >
      {({ email }) => (
        <SignedOutLayout
          title="Lost passkeys"
          lead={
            <>
              All passkeys of <strong>{email}</strong> are removed, and every session ends. Add a
              new passkey afterwards.
            </>
          }
        >
          <Form send="Remove my passkeys" onSend={recover}>
            <PasswordField isFocused {...field('password')} />
          </Form>
        </SignedOutLayout>
      )}
    </OpenedLink>
  );
}

/** Page of the link to a recipient of notifications. Only its buttons, not opening it, confirm or decline. */
export function ConfirmationPage({ token }: { token: string }) {
  const loaded = useLoad(`confirmation${queryText({ token })}`);
  const [answered, setAnswered] = useState<boolean>();
  if (answered === false) {
    return (
      <SignedOutLayout title="Notifications by mail" lead="You get no mails.">
        <p class="hint">An owner of the organization can send you another link.</p>
      </SignedOutLayout>
    );
  }
  const answer = async (wanted: boolean) => {
    await call('POST', 'confirmation', { token, wanted });
    setAnswered(wanted);
    if (wanted) await loaded.reload();
  };
  return (
    <OpenedLink
      of={loaded}
      title="Notifications by mail"
      gone="It was declined, replaced or has expired. Ask the organization for a new one."
    >
      {(offer) => <Confirmation offer={offer} onAnswer={answer} />}
    </OpenedLink>
  );
}

function Confirmation(props: { offer: OfferedMail; onAnswer: (wanted: boolean) => Promise<void> }) {
  const { offer, onAnswer } = props;
  const { organization, to, isConfirmed } = offer;
  return (
    <SignedOutLayout
      title="Notifications by mail"
      lead={
        <>
          <StrongName text={organization.name} />{' '}
          {isConfirmed ? 'mails its notifications to' : 'wants to mail its notifications to'}{' '}
          <strong>{to}</strong>.
        </>
      }
    >
      {isConfirmed ? (
        <Form send="Stop these mails" onSend={() => onAnswer(false)}>
          <p>Keep the mail with this link: it stops the mails whenever you want.</p>
        </Form>
      ) : (
        <>
          <Form send="Confirm" onSend={() => onAnswer(true)}>
            <p>You get mails once you confirm, and can stop them on this page.</p>
          </Form>
          <Form send="I do not want them" onSend={() => onAnswer(false)} />
        </>
      )}
    </SignedOutLayout>
  );
}
