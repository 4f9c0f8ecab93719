// Pace of a new release: at once to a percentage of the devices, by a plan, or paused; and the fields for it.

import { PLAN_PRESET_NAMES, type PlanPresetName } from '../../contract/rollout-plan.ts';
import { PLAN_PRESETS } from '../../domain/rollout/plan-presets.ts';
import { limitsText, stepsText } from '../format/plan-words.ts';
import { Choice, Field } from './field.tsx';

export type PaceDraft = {
  readonly kind: 'share' | 'paused' | PlanPresetName;
  /** Entered percentage; empty for the channel's default. */
  readonly rollout: string;
};

/** Options, the fastest first. */
const PACES: readonly { readonly value: PaceDraft['kind']; readonly label: string }[] = [
  { value: 'share', label: 'Now, to a share of the devices' },
  ...PLAN_PRESET_NAMES.map((value) => ({ value, label: `By a plan: ${value}` })),
  { value: 'paused', label: 'Not yet: publish it paused' },
];

/** Returns the pace as part of a request to publish or promote. */
export function paceBody({ kind, rollout }: PaceDraft): Readonly<Record<string, unknown>> {
  const share = rollout.trim() === '' ? {} : { rollout: Number(rollout) };
  if (kind === 'share') return share;
  if (kind === 'paused') return { ...share, status: 'paused' };
  return { plan: { preset: kind } };
}

/** Returns a sentence about the effect of the choice. */
function paceHint({ kind }: PaceDraft): string {
  if (kind === 'share') return 'An offer to a device cannot be taken back.';
  if (kind === 'paused') return 'No device is offered it until it is resumed.';
  const { steps, guards } = PLAN_PRESETS[kind];
  return `${stepsText(steps)}. Limits: ${limitsText(guards)}.`;
}

/** Choice of the pace, with the percentage if it has one. */
export function PaceFields(props: {
  pace: PaceDraft;
  onChange: (pace: PaceDraft) => void;
  /** Placeholder for an optional percentage; undefined if one is required. */
  placeholder?: string;
}) {
  const { pace, onChange, placeholder } = props;
  const hasShare = pace.kind === 'share' || pace.kind === 'paused';
  return (
    <div class="columns">
      <Choice
        label="How fast"
        value={pace.kind}
        options={PACES}
        onChoose={(kind) => onChange({ ...pace, kind })}
        hint={paceHint(pace)}
      />
      {hasShare && (
        <Field
          name="rollout"
          label={pace.kind === 'paused' ? 'Share once resumed (%)' : 'Share (%)'}
          type="number"
          min={0}
          max={100}
          value={pace.rollout}
          onInput={(rollout) => onChange({ ...pace, rollout })}
          isRequired={placeholder === undefined}
          {...(placeholder === undefined ? {} : { placeholder })}
        />
      )}
    </div>
  );
}
