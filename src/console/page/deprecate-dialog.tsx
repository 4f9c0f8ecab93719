// Deprecating: no longer served, and whoever runs it is pressed to leave it. Can be undone.

import { countText } from '../format/number-text.ts';
import { Dialog } from '../part/dialog.tsx';
import { Form } from '../part/form.tsx';

/** `devices` run the release now. */
export function DeprecateDialog(props: {
  version: string;
  devices: number;
  onDeprecate: () => Promise<void>;
  onClose: () => void;
}) {
  const { version, devices, onDeprecate, onClose } = props;
  const deprecate = async () => {
    await onDeprecate();
    onClose();
  };
  return (
    <Dialog title={`Deprecate ${version}`} onClose={onClose}>
      <Form send={`Deprecate ${version}`} onSend={deprecate} onCancel={onClose}>
        <p>
          Nobody is offered {version} any more. {countText(devices, 'device runs', 'devices run')}{' '}
          it: their next update will be marked as required. You can publish it again later.
        </p>
      </Form>
    </Dialog>
  );
}
