// Pages that a mailed link opens: one accepts an invitation, one sets a new password, one removes lost
// passkeys, one confirms the recipient of notifications.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { OpenInvitation } from '../../contract/console.ts';
import type { OfferedMail } from '../../contract/notification.ts';
import { type ApiError, call } from '../api/call.ts';
import { completeSignIn } from '../api/passkey.ts';
import { Field } from '../form/field.tsx';
import { Form } from '../form/form.tsx';
import { Notice } from '../form/notice.tsx';
import { consolePath, queryText } from '../format/console-path.ts';
import { useLoad } from '../hook/use-load.ts';
import { StrongName } from '../part/name.tsx';
import { ProviderButton } from './provider-sign-in.tsx';
import { PASSWORD_HINT, SignedOutLayout } from './signed-out-layout.tsx';

/** Page of one invitation, with or without a session. */
export function InvitationPage({ token }: { token: string }) {
  const { data, error } = useLoad(`invitation${queryText({ token })}`);
  if (error !== undefined) {
    return (
      <UnusableLink
        title="Invitation"
        lead="This invitation cannot be used."
        gone="It was used, revoked or has expired. Ask for a new one."
        error={error}
      />
    );
  }
  return data === undefined ? null : <Acceptance token={token} offer={data} />;
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
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const accept = async () => {
    await completeSignIn(await call('POST', 'invitation', { token, name, password }));
    route(consolePath.apps, true);
  };
  return (
    <Form send="Accept invitation" onSend={accept}>
      <Field
        name="name"
        label="Your name"
        complete="name"
        value={name}
        onInput={setName}
        isRequired
        isFocused
      />
      <Field
        name="password"
        label="Password"
        type="password"
        complete="new-password"
        value={password}
        onInput={setPassword}
        hint={`${PASSWORD_HINT} If you have an account with this email already, its own password.`}
        isRequired
      />
    </Form>
  );
}

/** Page of one password link, with or without a session. */
export function PasswordResetPage({ token }: { token: string }) {
  const { data, error } = useLoad(`password-reset${queryText({ token })}`);
  if (error !== undefined) {
    return (
      <UnusableLink
        title="New password"
        lead="This link cannot be used."
        gone="It was used or has expired. Ask the operator for a new one."
        error={error}
      />
    );
  }
  return data === undefined ? null : <NewPassword token={token} email={data.email} />;
}

function NewPassword({ token, email }: { token: string; email: string }) {
  const { route } = useLocation();
  const [password, setPassword] = useState('');
  const set = async () => {
    await completeSignIn(await call('POST', 'password-reset', { token, password }));
    route(consolePath.apps, true);
  };
  return (
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
        <Field
          name="password"
          label="New password"
          type="password"
          complete="new-password"
          value={password}
          onInput={setPassword}
          hint={PASSWORD_HINT}
          isRequired
          isFocused
        />
      </Form>
    </SignedOutLayout>
  );
}

/** Page of one recovery link, with or without a session. */
export function RecoveryPage({ token }: { token: string }) {
  const { data, error } = useLoad(`recovery${queryText({ token })}`);
  if (error !== undefined) {
    return (
      <UnusableLink
        title="Lost passkeys"
        lead="This link cannot be used."
        gone="It was used or has expired. Ask an owner of your organization for a new one."
        error={error}
      />
    );
  }
  return data === undefined ? null : <Recovery token={token} email={data.email} />;
}

function Recovery({ token, email }: { token: string; email: string }) {
  const { route } = useLocation();
  const [password, setPassword] = useState('');
  const recover = async () => {
    await call('POST', 'recovery', { token, password });
    route(consolePath.settings('account'), true);
  };
  return (
    <SignedOutLayout
      title="Lost passkeys"
      lead={
        <>
          All passkeys of <strong>{email}</strong> are removed, and every session ends. Add a new
          passkey afterwards.
        </>
      }
    >
      <Form send="Remove my passkeys" onSend={recover}>
        <Field
          name="password"
          label="Password"
          type="password"
          complete="current-password"
          value={password}
          onInput={setPassword}
          isRequired
          isFocused
        />
      </Form>
    </SignedOutLayout>
  );
}

/** Page of the link to a recipient of notifications: what happens takes a button, not the opening. */
export function ConfirmationPage({ token }: { token: string }) {
  const { data, error, reload } = useLoad(`confirmation${queryText({ token })}`);
  const [answered, setAnswered] = useState<boolean>();
  if (answered === false) {
    return (
      <SignedOutLayout title="Notifications by mail" lead="You get no mails.">
        <p class="hint">An owner of the organization can send you another link.</p>
      </SignedOutLayout>
    );
  }
  if (error !== undefined) {
    return (
      <UnusableLink
        title="Notifications by mail"
        lead="This link cannot be used."
        gone="It was declined, replaced or has expired. Ask the organization for a new one."
        error={error}
      />
    );
  }
  if (data === undefined) return null;
  const answer = async (wanted: boolean) => {
    await call('POST', 'confirmation', { token, wanted });
    setAnswered(wanted);
    if (wanted) await reload();
  };
  return <Confirmation offer={data} onAnswer={answer} />;
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

type UnusableLinkProps = {
  readonly title: string;
  readonly lead: string;
  /** Sentence for a link that the service does not know. */
  readonly gone: string;
  readonly error: ApiError;
};

function UnusableLink({ title, lead, gone, error }: UnusableLinkProps) {
  return (
    <SignedOutLayout title={title} lead={lead}>
      <Notice tone="bad">{error.status === 404 ? gone : error.advice}</Notice>
      <a class="button plain" href={consolePath.apps}>
        Go to the console
      </a>
    </SignedOutLayout>
  );
}
