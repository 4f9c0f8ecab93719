// Asks before a key is revoked.

import type { ListedKey } from '../../contract/resource.ts';
import { Dialog } from '../part/dialog.tsx';
import { Form } from '../part/form.tsx';
import { Name } from '../part/name.tsx';
import { Time } from '../part/time.tsx';

/** `onRevoke` does it. */
export function RevokeKeyDialog(props: {
  apiKey: ListedKey;
  onRevoke: () => Promise<void>;
  onClose: () => void;
}) {
  const { apiKey, onRevoke, onClose } = props;
  const revoke = async () => {
    await onRevoke();
    onClose();
  };
  return (
    <Dialog title="Revoke key" onClose={onClose}>
      <Form send="Revoke key" tone="danger" onSend={revoke} onCancel={onClose}>
        <p>
          Calls with{' '}
          <strong>
            <Name text={apiKey.name} />
          </strong>{' '}
          are refused from now on, for good. It was last used:{' '}
          <Time at={apiKey.lastUsedAt} never="never" />.
        </p>
      </Form>
    </Dialog>
  );
}
