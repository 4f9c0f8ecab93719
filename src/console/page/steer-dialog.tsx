// Dialog of every act that steers a release: what it would do, a reason, and a second confirmation where it
// reaches many devices at once.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { RenderedReleaseDetail } from '../../contract/console.ts';
import type { ReleaseStatus } from '../../contract/resource.ts';
import { call } from '../api/call.ts';
import { countText } from '../format/number-text.ts';
import { useServingRehearsal } from '../hook/use-serving-rehearsal.ts';
import { Dialog } from '../part/dialog.tsx';
import { Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { ReasonField } from '../part/reason-field.tsx';
import { reachedBy, ServingEffect } from '../part/serving-effect.tsx';
import type { ReleaseName } from './release-name.ts';

/** Number of devices above which an act that offers a release is confirmed twice. */
const MANY_DEVICES = 1000;

/** Dialog for a change of status or rollout; `onDone` loads the release again. */
export function SteerDialog(props: {
  name: ReleaseName;
  /** State that the reader was shown, for which the change is meant. */
  release: Pick<RenderedReleaseDetail['release'], 'status' | 'rolloutPct'>;
  change: { readonly status?: ReleaseStatus; readonly rollout?: number };
  /** Label of the button, and title of the dialog: `Pause 1.4.0`. */
  verb: string;
  tone?: 'primary' | 'danger';
  /** Whether it takes the release from devices that run it. */
  isAboutRunners?: boolean;
  /** Whether the version has to be typed, because nothing takes the act back. */
  isTyped?: boolean;
  onDone: () => Promise<void>;
  onClose: () => void;
  children?: ComponentChildren;
}) {
  const { name, release, change, verb, tone = 'primary', isTyped = false, onDone, onClose } = props;
  const rehearsal = useServingRehearsal({ ...name, ...change });
  const [reason, setReason] = useState('');
  const [typed, setTyped] = useState('');
  const [isSure, setSure] = useState(false);
  // Taken when the dialog opened: what others change meanwhile is told, not overwritten.
  const [seen] = useState({ status: release.status, rolloutPct: release.rolloutPct });
  const reached = rehearsal.said === undefined ? 0 : reachedBy(rehearsal.said);
  const isMany = reached > MANY_DEVICES || reached * 2 > (rehearsal.said?.effect.devices ?? 0);
  const steer = async () => {
    await call('PATCH', 'releases', { ...name, ...change, reason, seen });
    await onDone();
    onClose();
  };
  const unsure = isMany && !isSure ? 'Say that this many devices are meant' : undefined;
  const untyped = isTyped && typed.trim() !== name.version ? 'Type the version first' : undefined;
  return (
    <Dialog title={verb} onClose={onClose}>
      <Form send={verb} tone={tone} onSend={steer} onCancel={onClose} obstacle={untyped ?? unsure}>
        {props.children}
        <ServingEffect rehearsal={rehearsal} isAboutRunners={props.isAboutRunners ?? false} />
        {isMany && (
          <label class="sure">
            <input
              type="checkbox"
              checked={isSure}
              onChange={(event) => setSure(event.currentTarget.checked)}
            />{' '}
            Offer it to {countText(reached, 'more device')} at once; once offered, that stays.
          </label>
        )}
        {isTyped && (
          <Field
            label={`Type ${name.version} to confirm`}
            value={typed}
            onInput={setTyped}
            isFocused
            isCode
          />
        )}
        <ReasonField value={reason} onInput={setReason} isFocused={!isTyped} />
      </Form>
    </Dialog>
  );
}
