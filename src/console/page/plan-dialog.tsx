// Dialog that plans the roll-out of a release: a preset, and three further choices. It says first what the
// plan does at once, and which of its steps no guard can judge.

import { useState } from 'preact/hooks';
import type { RehearsedPlan } from '../../contract/rehearsed.ts';
import {
  PLAN_PRESET_NAMES,
  type PlanPresetName,
  type TripEffect,
} from '../../contract/rollout-plan.ts';
import { PLAN_PRESETS } from '../../domain/rollout/plan-presets.ts';
import { call, type ReleaseName } from '../api/call.ts';
import { limitsText, stepsText } from '../format/plan-words.ts';
import { useAsked } from '../hook/use-action.ts';
import { Dialog } from '../part/dialog.tsx';
import { Choice, Field, ReasonField } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { Notice } from '../part/notice.tsx';
import { RehearsalView, useConfirmedReach } from '../part/rehearsal.tsx';

const PRESETS = PLAN_PRESET_NAMES.map((value) => ({
  value,
  label: value.charAt(0).toUpperCase() + value.slice(1),
}));

const TRIPS = [
  { value: 'pause', label: 'Pause the release and hold the plan' },
  { value: 'hold', label: 'Hold the plan; devices are still offered it' },
] as const;

const SOURCES = [
  { value: 'all', label: 'All devices known a day before it' },
  { value: 'push', label: 'Only those that are reported with a key' },
] as const;

/** Dialog of a new plan; `onDone` loads it. */
export function PlanDialog(props: {
  name: ReleaseName;
  onDone: () => Promise<void>;
  onClose: () => void;
}) {
  const { name, onDone, onClose } = props;
  const [preset, setPreset] = useState<PlanPresetName>('normal');
  const [start, setStart] = useState('');
  const [onTrip, setOnTrip] = useState<TripEffect>('pause');
  const [source, setSource] = useState<'all' | 'push'>('all');
  const [reason, setReason] = useState('');
  const { steps, guards } = PLAN_PRESETS[preset];
  const definition = {
    ...{ ...name, onTrip },
    ...(source === 'push' ? { steps, guards: { ...guards, source } } : { preset }),
    ...(start === '' ? {} : { startAt: new Date(start).toISOString() }),
  };
  const { said, ...asked } = useAsked(JSON.stringify(definition), rehearse);
  const first = said && { ...said, release: name };
  const reach = useConfirmedReach({ ...asked, said: first });
  const plan = async () => {
    await call('POST', 'releases/plan', { ...definition, reason });
    await onDone();
    onClose();
  };
  return (
    <Dialog title={`Plan the roll-out of ${name.version}`} onClose={onClose}>
      <Form
        send="Start plan"
        onSend={plan}
        onCancel={onClose}
        obstacle={reach.obstacle}
        isDeliberate
      >
        <Choice
          label="Preset"
          value={preset}
          options={PRESETS}
          onChoose={setPreset}
          hint={`${stepsText(steps)}. Limits: ${limitsText(guards)}.`}
        />
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
        />
        <Choice label="Devices that count" value={source} options={SOURCES} onChoose={setSource} />
        {asked.error !== undefined && <Notice tone="bad">{asked.error}</Notice>}
        {first !== undefined && <RehearsalView rehearsed={first} />}
        {reach.question}
        <ReasonField value={reason} onInput={setReason} />
      </Form>
    </Dialog>
  );
}

function rehearse(definition: object): Promise<RehearsedPlan> {
  return call('POST', 'releases/rehearse-plan', definition);
}
