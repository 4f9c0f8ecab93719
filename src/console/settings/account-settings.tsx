// Settings of the account, which apply in every organization: its password, passkeys and sessions; and the
// page of an organization that demands a second factor, for a session without one.

import { useState } from 'preact/hooks';
import type { ListedSession, Membership, Passkey } from '../../contract/resource.ts';
import { call } from '../api/call.ts';
import { addPasskey, KNOWS_PASSKEYS } from '../api/passkey.ts';
import { ConfirmDialog, type DialogEnd, FormDialog, useDialog } from '../form/dialog.tsx';
import { Field } from '../form/field.tsx';
import { Form, useFields } from '../form/form.tsx';
import { LoadedView, Notice } from '../form/notice.tsx';
import { SmallButton } from '../form/small-button.tsx';
import { useAction } from '../hook/use-action.ts';
import { forgetLoaded, useLoad } from '../hook/use-load.ts';
import { Badge } from '../part/badge.tsx';
import { Card, Empty } from '../part/card.tsx';
import { buttonColumn, type Column, DataTable } from '../part/data-table.tsx';
import { Name, StrongName } from '../part/name.tsx';
import { PageHead, useTitle } from '../part/page-head.tsx';
import { Time } from '../part/time.tsx';
import { PasswordField } from '../session/account-field.tsx';
import { useSession } from '../session/use-session.ts';

/** Section for the account. */
export function AccountSettings() {
  const { account, signIn, hasPassword } = useSession();
  return (
    <>
      {hasPassword && signIn?.password !== false ? (
        <PasswordCard email={account.email} />
      ) : (
        <Card title="Sign-in">
          <p>
            You sign in as {account.email} with {signIn?.oidc.name}, without a password.
          </p>
        </Card>
      )}
      <PasskeysCard />
      <SessionsCard />
    </>
  );
}

/** Page in place of every other one of an organization that demands a second factor: says how to add it. */
export function SecondFactorPage({ membership }: { membership: Membership }) {
  useTitle('Second factor');
  return (
    <>
      <PageHead title="Second factor" />
      <Card title="This organization asks for a second factor">
        <p>
          <StrongName text={membership.organization.name} /> is open to you once you have signed in
          with more than a password. Add a passkey below: it opens at once. If you have one already,
          sign out and sign in with it. If you have lost it, ask an owner for a link.
        </p>
      </Card>
      <PasskeysCard />
      <SessionsCard />
    </>
  );
}

const NO_PASSWORDS = { current: '', next: '' };

function PasswordCard({ email }: { email: string }) {
  const { values, setValues, field } = useFields(NO_PASSWORDS);
  const [isChanged, setChanged] = useState(false);
  const change = async () => {
    setChanged(false);
    await call('POST', 'password', values);
    setValues(NO_PASSWORDS);
    setChanged(true);
  };
  return (
    <Card title="Password">
      <p class="hint">Signed in as {email}. Your other sessions end when it changes.</p>
      <Form send="Change password" onSend={change}>
        <PasswordField label="Current password" {...field('current')} />
        <PasswordField label="New password" isNew {...field('next')} />
        {isChanged && <Notice tone="good">Your password was changed.</Notice>}
      </Form>
    </Card>
  );
}

/** Passkeys of the account. */
function PasskeysCard() {
  const { refresh } = useSession();
  const loaded = useLoad('account/passkeys');
  const renew = async () => {
    await loaded.reload();
    // The session may have more rights now.
    await refresh();
  };
  const [dialog, show] = useDialog(renew);
  const mayAdd = KNOWS_PASSKEYS && loaded.data?.unavailable === undefined;
  const add = mayAdd && (
    <SmallButton tone="primary" onClick={() => show((end) => <AddDialog {...end} />)}>
      Add a passkey
    </SmallButton>
  );
  const nameOf = ({ name }: Passkey) => name;
  const columns: readonly Column<Passkey>[] = [
    ...PASSKEY_COLUMNS,
    buttonColumn('Rename', nameOf, (passkey) =>
      show((end) => <RenameDialog passkey={passkey} {...end} onDone={loaded.reload} />),
    ),
    buttonColumn('Remove', nameOf, (passkey) =>
      show((end) => <RemoveDialog passkey={passkey} {...end} />),
    ),
  ];
  return (
    <>
      <Card title="Passkeys" aside={add} isFlush={(loaded.data?.passkeys.length ?? 0) > 0}>
        <LoadedView of={loaded}>
          {({ passkeys, unavailable }) => (
            <>
              {unavailable !== undefined && <Notice tone="quiet">{unavailable}.</Notice>}
              {passkeys.length === 0 ? (
                <Empty title="No passkeys yet">
                  Your device or a security key proves that it is you. From then on your password
                  alone no longer signs you in.
                </Empty>
              ) : (
                <DataTable caption="Passkeys" columns={columns} rows={passkeys} />
              )}
            </>
          )}
        </LoadedView>
      </Card>
      {dialog}
    </>
  );
}

const PASSKEY_COLUMNS: readonly Column<Passkey>[] = [
  { label: 'Name', render: ({ name }) => <Name text={name} /> },
  { label: 'Added', isNamed: true, render: ({ createdAt }) => <Time at={createdAt} /> },
  {
    label: 'Last used',
    isNamed: true,
    render: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : <Time at={lastUsedAt} />),
  },
];

function AddDialog({ onDone, onClose }: DialogEnd) {
  const { values, field } = useFields({ name: '' });
  const add = async () => {
    await addPasskey(values.name);
    void onDone();
  };
  return (
    <FormDialog title="Add a passkey" verb="Continue" onSend={add} onClose={onClose}>
      <Field
        label="Name"
        hint="What you will know it by, such as the device that has it. Your browser asks next."
        isRequired
        isFocused
        {...field('name')}
      />
    </FormDialog>
  );
}

type PasskeyDialogProps = DialogEnd & { readonly passkey: Passkey };

function RenameDialog({ passkey: { id, name }, onDone, onClose }: PasskeyDialogProps) {
  const { values, field } = useFields({ name });
  const rename = async () => {
    await call('PATCH', `account/passkeys/${id}`, values);
    void onDone();
  };
  return (
    <FormDialog title="Rename passkey" verb="Rename" onSend={rename} onClose={onClose}>
      <Field label="Name" isRequired isFocused {...field('name')} />
    </FormDialog>
  );
}

function RemoveDialog({ passkey, ...end }: PasskeyDialogProps) {
  const remove = () => call('DELETE', `account/passkeys/${passkey.id}`);
  return (
    <ConfirmDialog title="Remove passkey" verb="Remove passkey" onSend={remove} {...end}>
      <p>
        <StrongName text={passkey.name} /> signs nobody in any more. Your other sessions end.
      </p>
    </ConfirmDialog>
  );
}

/** Open sessions of the account. */
function SessionsCard() {
  const { refresh } = useSession();
  const action = useAction();
  const loaded = useLoad('account/sessions');
  const end = ({ id, current }: ListedSession) =>
    void action.run(async () => {
      await call('DELETE', `account/sessions/${id}`);
      if (current) forgetLoaded();
      await (current ? refresh() : loaded.reload());
    });
  const endOthers = () =>
    void action.run(async () => {
      await call('DELETE', 'account/sessions');
      await loaded.reload();
    });
  const others = (loaded.data?.sessions.length ?? 0) > 1 && (
    <SmallButton isDisabled={action.isBusy} onClick={endOthers}>
      End all others
    </SmallButton>
  );
  const ending = buttonColumn(
    'End',
    ({ browser }: ListedSession) => browser ?? 'Unknown browser',
    end,
    ({ current }) => (current ? 'Sign out' : 'End'),
  );
  return (
    <Card title="Sessions" aside={others} isFlush={loaded.data !== undefined}>
      {action.error !== undefined && <Notice tone="bad">{action.error}</Notice>}
      <LoadedView of={loaded}>
        {({ sessions }) => (
          <DataTable caption="Sessions" columns={[...SESSION_COLUMNS, ending]} rows={sessions} />
        )}
      </LoadedView>
    </Card>
  );
}

const OPENED_BY: Readonly<Record<ListedSession['openedBy'], string>> = {
  password: 'Password',
  oidc: 'Single sign-on',
  passkey: 'Passkey',
};

const SESSION_COLUMNS: readonly Column<ListedSession>[] = [
  {
    label: 'Browser',
    render: ({ browser, current }) => (
      <>
        <Name text={browser ?? 'Unknown browser'} />{' '}
        {current && <Badge tone="good">This one</Badge>}
      </>
    ),
  },
  { label: 'Address', render: ({ address }) => <Name text={address ?? 'unknown'} isCode /> },
  {
    label: 'Opened by',
    render: ({ openedBy, secondFactor }) =>
      openedBy === 'password' && secondFactor ? 'Password and passkey' : OPENED_BY[openedBy],
  },
  { label: 'Opened', isNamed: true, render: ({ createdAt }) => <Time at={createdAt} /> },
  { label: 'Last used', isNamed: true, render: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
];
