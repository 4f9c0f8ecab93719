// Dialog that publishes a release of one channel on another.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { call } from '../api/call.ts';
import { consolePath } from '../format/console-path.ts';
import { Choice } from '../part/choice.tsx';
import { Dialog } from '../part/dialog.tsx';
import { Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { ReasonField } from '../part/reason-field.tsx';
import type { ReleaseName } from './release-name.ts';

/** Dialog for a promotion to one of `others`; opens the new release afterwards. */
export function PromoteDialog(props: {
  name: ReleaseName;
  others: readonly string[];
  onClose: () => void;
}) {
  const { name, others, onClose } = props;
  const { app, channel, version } = name;
  const { route } = useLocation();
  const [to, setTo] = useState(others[0] ?? '');
  const [rollout, setRollout] = useState('');
  const [reason, setReason] = useState('');
  const promote = async () => {
    await call('POST', 'releases/promote', {
      ...{ app, version, from: channel, to },
      ...(rollout === '' ? {} : { rollout: Number(rollout) }),
      reason,
    });
    onClose();
    route(consolePath.release(app, to, version));
  };
  return (
    <Dialog title={`Promote ${version}`} onClose={onClose}>
      <Form send={`Promote to ${to}`} onSend={promote} onCancel={onClose}>
        <p>
          The same version, notes and files are published on another channel, for every device there
          that its roll-out reaches. It stays on {channel} as it is.
        </p>
        <Choice
          label="To"
          value={to}
          options={others.map((value) => ({ value, label: value }))}
          onChoose={setTo}
        />
        <Field
          name="rollout"
          label="Roll-out (%)"
          type="number"
          min={0}
          max={100}
          value={rollout}
          onInput={setRollout}
          placeholder="the channel's default"
        />
        <ReasonField value={reason} onInput={setReason} />
      </Form>
    </Dialog>
  );
}
