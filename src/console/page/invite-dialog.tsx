// Invites somebody, and shows the link to send them, this once.

import { useState } from 'preact/hooks';
import type { Role } from '../../contract/resource.ts';
import { call } from '../api/call.ts';
import { Choice } from '../part/choice.tsx';
import { Dialog } from '../part/dialog.tsx';
import { Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { Notice } from '../part/notice.tsx';
import { Secret } from '../part/secret.tsx';
import { Time } from '../part/time.tsx';
import { ROLE_OPTIONS } from './role-options.ts';

type Invited = { readonly url: string; readonly expiresAt: string };

/** `onInvited` is told when there is an invitation more. */
export function InviteDialog(props: {
  org: string;
  onInvited: () => Promise<void>;
  onClose: () => void;
}) {
  const { org, onInvited, onClose } = props;
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const [invited, setInvited] = useState<Invited>();
  if (invited !== undefined) {
    return (
      <Dialog title="Invitation made" onClose={onClose}>
        <Notice tone="warn">
          Send this link to {email}. It works once, is shown this once, and expires{' '}
          <Time at={invited.expiresAt} />.
        </Notice>
        <Secret label="Link" text={invited.url} what="link" />
        <div class="form-actions">
          <button type="button" class="button primary" onClick={onClose}>
            Done
          </button>
        </div>
      </Dialog>
    );
  }
  const invite = async () => {
    setInvited(await call<Invited>('POST', 'invitations', { org, email, role }));
    void onInvited();
  };
  return (
    <Dialog title="Invite a member" onClose={onClose}>
      <Form send="Make invitation" onSend={invite} onCancel={onClose}>
        <Field label="Email" type="email" value={email} onInput={setEmail} isRequired isFocused />
        <Choice label="Role" value={role} options={ROLE_OPTIONS} onChoose={setRole} />
      </Form>
    </Dialog>
  );
}
