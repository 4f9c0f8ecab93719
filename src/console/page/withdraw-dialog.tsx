// Dialog that removes a release that nobody was offered.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { call, type ReleaseName } from '../api/call.ts';
import { consolePath } from '../format/console-path.ts';
import { ConfirmDialog } from '../part/dialog.tsx';
import { ReasonField } from '../part/field.tsx';

/** Dialog for a withdrawal; opens the channel afterwards, because the release is gone. */
export function WithdrawDialog({ name, onClose }: { name: ReleaseName; onClose: () => void }) {
  const { route } = useLocation();
  const [reason, setReason] = useState('');
  const withdraw = async () => {
    await call('DELETE', 'releases', { ...name, reason });
    route(consolePath.channel(name.app, name.channel));
  };
  return (
    <ConfirmDialog
      title={`Withdraw ${name.version}`}
      verb={`Withdraw ${name.version}`}
      onConfirm={withdraw}
      onClose={onClose}
    >
      <p>
        No device was offered it, so it can be removed as if it had never been: its version is free
        again. This is refused if a device is offered it meanwhile.
      </p>
      <ReasonField value={reason} onInput={setReason} isFocused />
    </ConfirmDialog>
  );
}
