// Members of the organization with their roles, open invitations, and the dialog for a new one.

import { useState } from 'preact/hooks';
import type { IssuedInvitation, IssuedReset } from '../../contract/console.ts';
import type { Invitation, Member, Role } from '../../contract/resource.ts';
import { call } from '../api/call.ts';
import { ConfirmDialog, Dialog, SecretDialog } from '../form/dialog.tsx';
import { Choice, Field, type Option } from '../form/field.tsx';
import { Form } from '../form/form.tsx';
import { LoadedView, Notice } from '../form/notice.tsx';
import { queryText } from '../format/console-path.ts';
import { useAction } from '../hook/use-action.ts';
import { useLoad } from '../hook/use-load.ts';
import { Card } from '../part/card.tsx';
import { type Column, DataTable } from '../part/data-table.tsx';
import { Actor, Name } from '../part/name.tsx';
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
  const [isInviting, setInviting] = useState(false);
  const [removed, setRemoved] = useState<Member>();
  const [recovered, setRecovered] = useState<Member>();
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
  const invite = mayChange ? (
    <button type="button" class="button primary small" onClick={() => setInviting(true)}>
      Invite member
    </button>
  ) : undefined;
  return (
    <>
      {action.error !== undefined && <Notice tone="bad">{action.error}</Notice>}
      <LoadedView of={members}>
        {(found) => (
          <>
            <Card title="Members" aside={invite} isFlush>
              <DataTable
                caption="Members"
                columns={memberColumns(
                  mayChange,
                  (member, role) => void action.run(() => change('PATCH', member, role)),
                  { remove: setRemoved, recover: setRecovered },
                )}
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
      {removed !== undefined && (
        <RemoveMember
          member={removed}
          onRemove={() => change('DELETE', removed)}
          onClose={() => setRemoved(undefined)}
        />
      )}
      {recovered !== undefined && (
        <RecoverDialog org={org} member={recovered} onClose={() => setRecovered(undefined)} />
      )}
      {isInviting && (
        <InviteDialog org={org} onInvited={members.reload} onClose={() => setInviting(false)} />
      )}
    </>
  );
}

function RemoveMember(props: {
  member: Member;
  onRemove: () => Promise<void>;
  onClose: () => void;
}) {
  const { member, onRemove, onClose } = props;
  return (
    <ConfirmDialog
      title="Remove member"
      verb="Remove member"
      onConfirm={onRemove}
      onClose={onClose}
    >
      <p>
        <strong>
          <Name text={member.account.name} />
        </strong>{' '}
        no longer sees anything of this organization, from now on.
      </p>
    </ConfirmDialog>
  );
}

/** Dialog for a link by which a member who lost all passkeys gets rid of them. */
function RecoverDialog(props: { org: string; member: Member; onClose: () => void }) {
  const { org, member, onClose } = props;
  const { account } = member;
  const [link, setLink] = useState<IssuedReset>();
  if (link !== undefined) {
    return (
      <SecretDialog title="Link made" label="Link" text={link.url} what="link" onClose={onClose}>
        Send this link to {account.email}. It works once, with the password of the account, is shown
        this once, and expires <Time at={link.expiresAt} />.
      </SecretDialog>
    );
  }
  const make = async () =>
    setLink(await call('POST', 'members/recover', { org, account: account.id }));
  return (
    <Dialog title="Lost passkeys" onClose={onClose}>
      <Form send="Make a link" onSend={make} onCancel={onClose}>
        <p>
          The link removes all passkeys of{' '}
          <strong>
            <Name text={account.name} />
          </strong>
          , once they have shown their password. Make sure that it was them who asked.
        </p>
      </Form>
    </Dialog>
  );
}

function memberColumns(
  mayChange: boolean,
  onRole: (member: Member, role: Role) => void,
  on: Readonly<Record<'remove' | 'recover', (member: Member) => void>>,
): readonly Column<Member>[] {
  const columns: Column<Member>[] = [
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
        mayChange ? (
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
  if (!mayChange) return columns;
  return [
    ...columns,
    {
      label: 'Recover',
      isAction: true,
      render: (member) => (
        <button type="button" class="button plain small" onClick={() => on.recover(member)}>
          Lost passkeys<span class="unseen"> of {member.account.name}</span>
        </button>
      ),
    },
    {
      label: 'Remove',
      isAction: true,
      render: (member) => (
        <button type="button" class="button plain small" onClick={() => on.remove(member)}>
          Remove<span class="unseen"> {member.account.name}</span>
        </button>
      ),
    },
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
    columns.push({
      label: 'Revoke',
      isAction: true,
      render: (invitation) => (
        <button type="button" class="button plain small" onClick={() => onRevoke(invitation)}>
          Revoke<span class="unseen"> the invitation of {invitation.email}</span>
        </button>
      ),
    });
  }
  return (
    <Card title="Invitations" isFlush>
      <DataTable
        caption="Open invitations"
        columns={columns}
        rows={invitations}
        keyOf={({ id }) => id}
      />
    </Card>
  );
}

/** Dialog for an invitation; calls `onInvited` after creating it. */
function InviteDialog(props: { org: string; onInvited: () => Promise<void>; onClose: () => void }) {
  const { org, onInvited, onClose } = props;
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const [invited, setInvited] = useState<IssuedInvitation>();
  if (invited !== undefined) {
    return (
      <SecretDialog
        title="Invitation made"
        label="Link"
        text={invited.url}
        what="link"
        onClose={onClose}
      >
        Send this link to {email}. It works once, is shown this once, and expires{' '}
        <Time at={invited.expiresAt} />.
      </SecretDialog>
    );
  }
  const invite = async () => {
    setInvited(await call('POST', 'invitations', { org, email, role }));
    void onInvited();
  };
  return (
    <Dialog title="Invite a member" onClose={onClose}>
      <Form send="Make invitation" onSend={invite} onCancel={onClose}>
        <Field
          name="email"
          label="Email"
          type="email"
          value={email}
          onInput={setEmail}
          isRequired
          isFocused
        />
        <Choice label="Role" value={role} options={ROLE_OPTIONS} onChoose={setRole} />
      </Form>
    </Dialog>
  );
}

/** Short enough for a column; the dialog for an invitation says what each may do. */
const ROLE_NAMES: readonly Option<Role>[] = [
  { value: 'viewer', label: 'Viewer' },
  { value: 'publisher', label: 'Publisher' },
  { value: 'owner', label: 'Owner' },
];

const ROLE_OPTIONS: readonly Option<Role>[] = [
  { value: 'viewer', label: 'Viewer: sees everything' },
  { value: 'publisher', label: 'Publisher: publishes and controls releases' },
  { value: 'owner', label: 'Owner: everything' },
];
