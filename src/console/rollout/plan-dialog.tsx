// Dialog that makes a rollout plan for a release.

import { useState } from 'preact/hooks';
import type { PlanDryRunAnswer } from '../../contract/dry-run.ts';
import type { TripEffect } from '../../contract/rollout-plan.ts';
import { call, type ReleaseName } from '../api/call.ts';
import { type DialogEnd, FormDialog } from '../form/dialog.tsx';
import { Choice, Field, optionsOf, ReasonField } from '../form/field.tsx';
import { Notice } from '../form/notice.tsx';
import { PlanEditor } from '../form/plan-editor.tsx';
import { planBody, presetDraft, stepsObstacle } from '../format/plan-draft.ts';
import { useAsked } from '../hook/use-action.ts';
import { DryRunView, useConfirmedReach } from '../part/dry-run.tsx';

const TRIPS = optionsOf({ pause: 'Pause it and hold the plan', hold: 'Only hold the plan' });

const SOURCES = optionsOf({ all: 'All known a day before it', push: 'Only those reported by key' });

/**
 * Dialog for a new plan: its steps and limits, its start, and how signals are handled. Shows the immediate
 * effect, and which steps no guard can judge. `onDone` loads the plan.
 */
export function PlanDialog({ name, ...end }: DialogEnd & { name: ReleaseName }) {
  const [draft, setDraft] = useState(() => presetDraft('normal'));
  const [start, setStart] = useState('');
  const [onTrip, setOnTrip] = useState<TripEffect>('pause');
  const [source, setSource] = useState<'all' | 'push'>('all');
  const [reason, setReason] = useState('');
  const definition = {
    ...{ ...name, onTrip },
    ...planBody(draft, source),
    ...(start === '' ? {} : { startAt: new Date(start).toISOString() }),
  };
  const open = stepsObstacle(draft);
  const text = open === undefined ? JSON.stringify(definition) : undefined;
  const { said, ...asked } = useAsked(text, askDryRun);
  const first = said && { ...said, release: name };
  const reach = useConfirmedReach({ ...asked, said: first });
  return (
    <FormDialog
      title={`Plan the rollout of ${name.version}`}
      verb="Start plan"
      obstacle={open ?? reach.obstacle}
      isDeliberate
      onSend={() => call('POST', 'releases/plan', { ...definition, reason })}
      {...end}
    >
      <PlanEditor draft={draft} onChange={setDraft} />
      {open !== undefined && <p class="bad-text">{open}</p>}
      <Field
        name="startAt"
        label="Begins"
        type="datetime-local"
        value={start}
        onInput={setStart}
        hint="At once when left empty."
      />
      <Choice
        label="When a signal is above its limit"
        value={onTrip}
        options={TRIPS}
        onChoose={setOnTrip}
        hint="Only a paused release is no longer offered."
      />
      <Choice label="Devices that count" value={source} options={SOURCES} onChoose={setSource} />
      {asked.error !== undefined && <Notice tone="bad">{asked.error}</Notice>}
      {first !== undefined && <DryRunView dryRun={first} />}
      {reach.question}
      <ReasonField value={reason} onInput={setReason} />
    </FormDialog>
  );
}

function askDryRun(definition: object): Promise<PlanDryRunAnswer> {
  return call('POST', 'releases/rehearse-plan', definition);
}
