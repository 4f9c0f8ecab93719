// Members of the organization with their roles, open invitations, and the dialog for a new one.

import { useState } from 'preact/hooks';
import type { Invitation, Member, Role } from '../../contract/resource.ts';
import { call } from '../api/call.ts';
import {
  ConfirmDialog,
  type DialogEnd,
  FormDialog,
  SecretDialog,
  useDialog,
} from '../form/dialog.tsx';
import { Choice, Field, optionsOf } from '../form/field.tsx';
import { useFields } from '../form/form.tsx';
import { LoadedView, Notice } from '../form/notice.tsx';
import { SmallButton } from '../form/small-button.tsx';
import { queryText } from '../format/console-path.ts';
import { useAction } from '../hook/use-action.ts';
import { useLoad } from '../hook/use-load.ts';
import { Card } from '../part/card.tsx';
import { buttonColumn, type Column, DataTable } from '../part/data-table.tsx';
import { Actor, Name, StrongName } from '../part/name.tsx';
import { Time } from '../part/time.tsx';
import { useMay, useOrganization, useSession } from '../session/use-session.ts';

const REFRESH_MS = 15_000;

/** Section for members: owners invite, change roles and remove; all members see the list. */
export function MemberSettings() {
  const { id: org } = useOrganization();
  const { account, refresh } = useSession();
  const mayChange = useMay('owner');
  const action = useAction();
  const members = useLoad(`members${queryText({ org })}`, REFRESH_MS);
  const [dialog, show] = useDialog(members.reload);
  const change = async (method: 'PATCH' | 'DELETE', member: Member, role?: Role) => {
    await call(method, 'members', { org, account: member.account.id, ...(role && { role }) });
    // The reader's own role may have changed.
    if (member.account.id === account.id) await refresh();
    else await members.reload();
  };
  const revoke = ({ id }: Invitation) =>
    void action.run(async () => {
      await call('POST', `invitations/${encodeURIComponent(id)}/revoke`);
      await members.reload();
    });
  const columns = memberColumns(
    mayChange ? (member, role) => void action.run(() => change('PATCH', member, role)) : undefined,
  );
  const ofOwners = [
    buttonColumn<Member>(
      'Recover',
      ({ account: { name } }) => `of ${name}`,
      (member) =>
        show(({ onClose }) => <RecoverDialog org={org} member={member} onClose={onClose} />),
      () => 'Lost passkeys',
    ),
    buttonColumn<Member>(
      'Remove',
      ({ account: { name } }) => name,
      (member) =>
        show(({ onClose }) => (
          <RemoveMember member={member} onSend={() => change('DELETE', member)} onClose={onClose} />
        )),
    ),
  ];
  const invite = mayChange && (
    <SmallButton tone="primary" onClick={() => show((end) => <InviteDialog org={org} {...end} />)}>
      Invite member
    </SmallButton>
  );
  return (
    <>
      {action.error !== undefined && <Notice tone="bad">{action.error}</Notice>}
      <LoadedView of={members}>
        {(found) => (
          <>
            <Card title="Members" aside={invite} isFlush>
              <DataTable
                caption="Members"
                columns={mayChange ? [...columns, ...ofOwners] : columns}
                rows={found.members}
                keyOf={(member) => member.account.id}
              />
            </Card>
            <Invitations
              invitations={found.invitations}
              onRevoke={mayChange ? revoke : undefined}
            />
          </>
        )}
      </LoadedView>
      {dialog}
    </>
  );
}

function RemoveMember(props: { member: Member; onSend: () => Promise<void>; onClose: () => void }) {
  const { member, ...rest } = props;
  return (
    <ConfirmDialog title="Remove member" verb="Remove member" {...rest}>
      <p>
        <StrongName text={member.account.name} /> no longer sees anything of this organization, from
        now on.
      </p>
    </ConfirmDialog>
  );
}

/** Dialog for a link with which a member who lost the passkeys removes them. */
function RecoverDialog(props: { org: string; member: Member; onClose: () => void }) {
  const { org, member, onClose } = props;
  const { account } = member;
  return (
    <FormDialog
      title="Lost passkeys"
      verb="Make a link"
      onSend={() => call('POST', 'members/recover', { org, account: account.id })}
      then={({ url, expiresAt }) => (
        <SecretDialog title="Link made" text={url} what="link" onClose={onClose}>
          Send this link to {account.email}. It works once, with the password of the account, is
          shown this once, and expires <Time at={expiresAt} />.
        </SecretDialog>
      )}
      onClose={onClose}
    >
      <p>
        The link removes all passkeys of <StrongName text={account.name} />, once they have shown
        their password. Make sure that it was them who asked.
      </p>
    </FormDialog>
  );
}

/** Columns of the members; with `onRole` their roles can be chosen. */
function memberColumns(
  onRole: ((member: Member, role: Role) => void) | undefined,
): readonly Column<Member>[] {
  return [
    {
      label: 'Name',
      render: ({ account }) => (
        <>
          <Name text={account.name} />{' '}
          <span class="muted">
            <Name text={account.email} />
          </span>
        </>
      ),
    },
    {
      label: 'Role',
      render: (member) =>
        onRole !== undefined ? (
          <Choice
            label={`Role of ${member.account.name}`}
            isLabelHidden
            value={member.role}
            options={ROLE_NAMES}
            onChoose={(role) => onRole(member, role)}
          />
        ) : (
          <span class="whole">{member.role}</span>
        ),
    },
    { label: 'Since', isNamed: true, render: ({ since }) => <Time at={since} /> },
  ];
}

function Invitations(props: {
  invitations: readonly Invitation[];
  onRevoke: ((invitation: Invitation) => void) | undefined;
}) {
  const { invitations, onRevoke } = props;
  if (invitations.length === 0) return null;
  const columns: Column<Invitation>[] = [
    { label: 'Email', render: ({ email }) => <Name text={email} /> },
    { label: 'Role', render: ({ role }) => <span class="whole">{role}</span> },
    { label: 'Expires', isNamed: true, render: ({ expiresAt }) => <Time at={expiresAt} /> },
    {
      label: 'Invited by',
      isNamed: true,
      render: ({ createdBy }) => <Actor text={createdBy} />,
    },
  ];
  if (onRevoke !== undefined) {
    const of = ({ email }: Invitation) => `the invitation of ${email}`;
    columns.push(buttonColumn('Revoke', of, onRevoke));
  }
  return (
    <Card title="Invitations" isFlush>
      <DataTable caption="Open invitations" columns={columns} rows={invitations} />
    </Card>
  );
}

/** Dialog for an invitation, which then shows its link. */
function InviteDialog({ org, ...end }: DialogEnd & { org: string }) {
  const { values, field } = useFields({ email: '' });
  const [role, setRole] = useState<Role>('viewer');
  return (
    <FormDialog
      title="Invite a member"
      verb="Make invitation"
      onSend={() => call('POST', 'invitations', { org, ...values, role })}
      then={({ url, expiresAt }) => (
        <SecretDialog title="Invitation made" text={url} what="link" onClose={end.onClose}>
          Send this link to {values.email}. It works once, is shown this once, and expires{' '}
          <Time at={expiresAt} />.
        </SecretDialog>
      )}
      {...end}
    >
      <Field label="Email" type="email" isRequired isFocused {...field('email')} />
      <Choice label="Role" value={role} options={ROLE_OPTIONS} onChoose={setRole} />
    </FormDialog>
  );
}

/** Short names for a column; the dialog for an invitation says what each role may do. */
const ROLE_NAMES = optionsOf({ viewer: 'Viewer', publisher: 'Publisher', owner: 'Owner' });

const ROLE_OPTIONS = optionsOf({
  viewer: 'Viewer: sees everything',
  publisher: 'Publisher: publishes and controls releases',
  owner: 'Owner: everything',
});
