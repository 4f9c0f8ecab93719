// Dialog of every act that steers a release: what it would do, a reason, and a confirmation where it reaches
// many devices at once.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { RenderedReleaseDetail } from '../../contract/console.ts';
import type { ReleaseStatus } from '../../contract/resource.ts';
import { ApiError, call, type ReleaseName } from '../api/call.ts';
import { Dialog } from '../part/dialog.tsx';
import { Field, ReasonField } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { ServingEffect, useConfirmedReach, useServingRehearsal } from '../part/rehearsal.tsx';

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
  const { status, rolloutPct } = release;
  // Asked again when somebody else moves the rollout.
  const rehearsal = useServingRehearsal({ ...name, ...change }, rolloutPct);
  const [reason, setReason] = useState('');
  const [typed, setTyped] = useState('');
  // Taken when the dialog opened: what others change meanwhile is said first, and counts as seen from then
  // on.
  const [opened] = useState({ status, rolloutPct });
  const [isTold, setTold] = useState(false);
  const seen = isTold ? { status, rolloutPct } : opened;
  const { obstacle: unsure, question } = useConfirmedReach(rehearsal);
  const steer = async () => {
    try {
      await call('PATCH', 'releases', { ...name, ...change, reason, seen });
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) {
        await onDone();
        setTold(true);
      }
      throw error;
    }
    await onDone();
    onClose();
  };
  const untyped = isTyped && typed.trim() !== name.version ? 'Type the version first' : undefined;
  return (
    <Dialog title={verb} onClose={onClose}>
      <Form send={verb} tone={tone} onSend={steer} onCancel={onClose} obstacle={untyped ?? unsure}>
        {props.children}
        <ServingEffect rehearsal={rehearsal} isAboutRunners={props.isAboutRunners ?? false} />
        {question}
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
