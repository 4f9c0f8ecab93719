// Dialog for a channel's policy.

import { useState } from 'preact/hooks';
import type { ChannelDetail } from '../../contract/console.ts';
import type { ChannelUpdateMode } from '../../contract/resource.ts';
import { call } from '../api/call.ts';
import { Dialog } from '../part/dialog.tsx';
import { Choice, Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { MinimumField } from './minimum-field.tsx';

const MODES = [
  { value: 'optional', label: 'Optional' },
  { value: 'recommended', label: 'Recommended' },
] as const;

const SIGNATURES = [
  { value: 'optional', label: 'Optional' },
  { value: 'required', label: 'Required' },
] as const;

/** No channel has an empty name. */
const NOBODY = '';

/** Sends only changed fields, because another person may have changed others meanwhile. */
export function ChannelDialog(props: {
  details: ChannelDetail;
  /** Names of the app's other channels. */
  others: readonly string[];
  onClose: () => void;
  onSaved: () => Promise<unknown>;
}) {
  const { details, others, onClose, onSaved } = props;
  const [minimum, setMinimum] = useState(details.minimumSupportedVersion ?? '');
  const [rollout, setRollout] = useState(String(details.defaultRollout));
  const [mode, setMode] = useState<ChannelUpdateMode>(details.updateMode);
  const [isSignedOnly, setSignedOnly] = useState(details.requireSignature);
  const [follows, setFollows] = useState(details.follows);
  const minimumSupportedVersion = minimum.trim() === '' ? null : minimum.trim();
  const change = {
    ...(minimumSupportedVersion === details.minimumSupportedVersion
      ? {}
      : { minimumSupportedVersion }),
    ...(Number(rollout) === details.defaultRollout ? {} : { defaultRollout: Number(rollout) }),
    ...(mode === details.updateMode ? {} : { updateMode: mode }),
    ...(isSignedOnly === details.requireSignature ? {} : { requireSignature: isSignedOnly }),
    ...(follows === details.follows ? {} : { follows }),
  };
  const save = async () => {
    await call('PATCH', 'channels', { app: details.app, name: details.name, ...change });
    await onSaved();
    onClose();
  };
  return (
    <Dialog title={`Settings of ${details.name}`} onClose={onClose}>
      <Form
        send="Save"
        onSend={save}
        onCancel={onClose}
        obstacle={Object.keys(change).length === 0 ? 'Nothing was changed' : undefined}
      >
        <MinimumField details={details} value={minimum} onInput={setMinimum} />
        <Field
          name="defaultRollout"
          label="Default roll-out (%)"
          type="number"
          min={0}
          max={100}
          value={rollout}
          onInput={setRollout}
          hint="The share of the fleet that a new release begins with, unless the publisher says otherwise."
          isRequired
        />
        <Choice
          label="Update mode"
          value={mode}
          options={MODES}
          onChoose={setMode}
          hint="What apps are told about an update that is not required."
        />
        <Choice
          label="Signatures"
          value={isSignedOnly ? 'required' : 'optional'}
          options={SIGNATURES}
          onChoose={(choice) => setSignedOnly(choice === 'required')}
          hint="Whether an artifact may be unsigned. Tauri apps never get one that is."
        />
        <Choice
          label="Follows"
          value={follows ?? NOBODY}
          options={[
            { value: NOBODY, label: 'No other channel' },
            ...others.map((name) => ({ value: name, label: name })),
          ]}
          onChoose={(choice) => setFollows(choice === NOBODY ? null : choice)}
          hint="Its devices also get the releases of the channel it follows: the highest version of both."
        />
      </Form>
    </Dialog>
  );
}
