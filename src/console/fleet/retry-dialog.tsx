// Dialog that lets devices that speak DDI have a release again which they have installed or failed to
// install: all of them, or one.

import { useState } from 'preact/hooks';
import { retriedText } from '../../words/action-words.ts';
import { call, type ReleaseName } from '../api/call.ts';
import { Dialog, type DialogEnd, FormDialog } from '../form/dialog.tsx';
import { ReasonField } from '../form/field.tsx';

/** Dialog that asks for a reason, and then says how many devices it was; `deviceId` names the only one. */
export function RetryDialog(props: DialogEnd & { name: ReleaseName; deviceId?: string }) {
  const { name, deviceId, onDone, onClose } = props;
  const [reason, setReason] = useState('');
  const isOne = deviceId !== undefined;
  const verb = isOne ? 'Let this device try again' : 'Let devices try again';
  const retry = () =>
    call('POST', 'releases/retry', {
      ...{ ...name, reason },
      ...(isOne && { deviceIds: [deviceId] }),
    });
  return (
    <FormDialog
      title={verb}
      verb={verb}
      onSend={retry}
      onDone={onDone}
      onClose={onClose}
      then={({ devices }) => (
        <Dialog title={verb} onClose={onClose}>
          <p role="status">{retriedText(devices, name.version)}</p>
          <div class="form-actions row">
            <button type="button" class="button primary" data-first onClick={onClose}>
              Done
            </button>
          </div>
        </Dialog>
      )}
    >
      <p>
        {isOne ? 'It gets' : 'Devices that have installed it, or failed to install it, get'}{' '}
        {name.version} again with the next poll, if it is still meant for{' '}
        {isOne ? 'this device' : 'them'}. Retries after a failure begin anew.
      </p>
      <ReasonField value={reason} onInput={setReason} isFocused />
    </FormDialog>
  );
}
