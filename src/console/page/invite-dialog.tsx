// Dialog that creates an invitation and shows its link once.

import { useState } from 'preact/hooks';
import type { IssuedInvitation } from '../../contract/console.ts';
import type { Role } from '../../contract/resource.ts';
import { call } from '../api/call.ts';
import { Dialog, SecretDialog } from '../part/dialog.tsx';
import { Choice, Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { Time } from '../part/time.tsx';
import { ROLE_OPTIONS } from './role-options.ts';

/** Dialog for an invitation; `onInvited` is called after it was created. */
export function InviteDialog(props: {
  org: string;
  onInvited: () => Promise<void>;
  onClose: () => void;
}) {
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
