// Dialog that pauses, resumes, deprecates or rolls back a release, or changes its rollout.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { RenderedReleaseDetail } from '../../contract/console.ts';
import type { ReleaseStatus } from '../../contract/resource.ts';
import { ApiError, call, type ReleaseName } from '../api/call.ts';
import { Dialog } from '../form/dialog.tsx';
import { Field, ReasonField } from '../form/field.tsx';
import { Form } from '../form/form.tsx';
import { ServingEffect, useConfirmedReach, useServingDryRun } from '../part/dry-run.tsx';

const UNASKED = { obstacle: undefined, question: null };

type ServingChange = { readonly status?: ReleaseStatus; readonly rollout?: number };

/**
 * Dialog for a change of status or rollout: its effect, a reason, and a confirmation if it reaches many
 * devices. `onDone` loads the release again.
 */
export function ServingDialog(props: {
  name: ReleaseName;
  /** State that the page shows, which the change is based on. */
  release: Pick<RenderedReleaseDetail['release'], 'status' | 'rolloutPct'>;
  change: ServingChange;
  /** Change whose effect is shown instead, if `change` has no effect until another change follows. */
  foreseen?: ServingChange;
  /** Button label and dialog title: `Pause 1.4.0`. */
  verb: string;
  tone?: 'primary' | 'danger';
  /** Whether the change sends devices that run the release to another one. */
  isAboutRunners?: boolean;
  /** Whether the reader has to type the version, because the change cannot be undone. */
  isTyped?: boolean;
  onDone: () => Promise<void>;
  onClose: () => void;
  children?: ComponentChildren;
}) {
  const { name, release, change, verb, tone = 'primary', isTyped = false, onDone, onClose } = props;
  const { foreseen = change } = props;
  const { status, rolloutPct } = release;
  // Repeats the dry run when another person changes the rollout.
  const dryRun = useServingDryRun({ ...name, ...foreseen }, rolloutPct);
  const [reason, setReason] = useState('');
  const [typed, setTyped] = useState('');
  // State when the dialog opened. The service refuses a change that is based on an older state; after the
  // first refusal, the present state counts as seen.
  const [opened] = useState({ status, rolloutPct });
  const [isTold, setTold] = useState(false);
  const seen = isTold ? { status, rolloutPct } : opened;
  const reach = useConfirmedReach(dryRun);
  // A change that only stops offers never waits for the dry run, which may fail in an outage. A raise of a
  // paused release reaches no device: the dialog that resumes it asks for confirmation.
  const isStop = change.status === 'paused' || change.status === 'deprecated';
  const isUnasked = isStop || props.foreseen !== undefined;
  const { obstacle: unsure, question } = isUnasked ? UNASKED : reach;
  const send = async () => {
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
  const effect = <ServingEffect dryRun={dryRun} isAboutRunners={props.isAboutRunners ?? false} />;
  const untyped = isTyped && typed.trim() !== name.version ? 'Type the version first' : undefined;
  return (
    <Dialog title={verb} onClose={onClose}>
      <Form send={verb} tone={tone} onSend={send} onCancel={onClose} obstacle={untyped ?? unsure}>
        {props.children}
        {!isUnasked && effect}
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
      {/* Below the button, which does not wait for it, so that it moves nothing under a press. */}
      {isUnasked && effect}
    </Dialog>
  );
}
