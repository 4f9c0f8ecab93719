// Pace of a new release: at once to a share of the devices, by a plan, or paused; and its form fields.

import { useId } from 'preact/hooks';
import { percentText } from '../format/figure-text.ts';
import {
  type PlanDraft,
  planBody,
  planLimitsText,
  planStepsText,
  presetDraft,
} from '../format/plan-draft.ts';
import { PercentField } from './field.tsx';
import { PlanEditor } from './plan-editor.tsx';

export type PaceDraft = {
  readonly kind: 'share' | 'plan' | 'paused';
  /** Entered percentage; empty for the channel's default. */
  readonly rollout: string;
  readonly plan: PlanDraft;
};

/** Fields of a request that the pace sets. */
export const PACE_PATHS: readonly string[] = ['rollout', 'plan', 'status'];

/** Options, the fastest first. */
const PACES: readonly {
  readonly value: PaceDraft['kind'];
  readonly label: string;
  readonly hint: string;
}[] = [
  {
    value: 'share',
    label: 'Now',
    hint: 'To a share of the devices. An offer to a device cannot be taken back.',
  },
  {
    value: 'plan',
    label: 'By a plan',
    hint: 'Raised step by step, and stopped when a signal is above its limit.',
  },
  {
    value: 'paused',
    label: 'Not yet',
    hint: 'Paused: no device is offered it until it is resumed.',
  },
];

/** Returns the pace that goes to a share at once. */
export function paceDraft(rollout: string): PaceDraft {
  return { kind: 'share', rollout, plan: presetDraft('normal') };
}

/** Returns the pace as part of a request to publish or promote. */
export function paceBody({ kind, rollout, plan }: PaceDraft): Readonly<Record<string, unknown>> {
  const share = rollout.trim() === '' ? {} : { rollout: Number(rollout) };
  if (kind === 'share') return share;
  if (kind === 'paused') return { ...share, status: 'paused' };
  return { plan: planBody(plan) };
}

/** Pace in words, for a review. */
export function PaceSummary({ kind, rollout, plan }: PaceDraft) {
  const share =
    rollout.trim() === '' ? "the channel's default share" : percentText(Number(rollout));
  if (kind === 'share') return <>Now, to {share}</>;
  if (kind === 'paused') return <>Not yet: paused, {share} once it is resumed</>;
  return (
    <>
      By a plan: {planStepsText(plan)}
      <span class="hint">Limits: {planLimitsText(plan)}</span>
    </>
  );
}

/** Choice of the pace, with the fields of the chosen one. */
export function PaceFields(props: {
  pace: PaceDraft;
  onChange: (pace: PaceDraft) => void;
  /** Placeholder for an optional percentage; undefined if one is required. */
  placeholder?: string;
}) {
  const { pace, onChange, placeholder } = props;
  const group = useId();
  return (
    <>
      <fieldset class="options wide">
        <legend class="unseen">How fast</legend>
        {PACES.map(({ value, label, hint }) => (
          <label key={value}>
            <input
              type="radio"
              name={group}
              checked={pace.kind === value}
              onChange={() => onChange({ ...pace, kind: value })}
            />
            <span>{label}</span>
            <span class="hint">{hint}</span>
          </label>
        ))}
      </fieldset>
      {pace.kind === 'plan' ? (
        <PlanEditor
          draft={pace.plan}
          onChange={(plan) => onChange({ ...pace, plan })}
          path="plan."
        />
      ) : (
        <PercentField
          name="rollout"
          label={pace.kind === 'paused' ? 'Share once resumed (%)' : 'Share (%)'}
          value={pace.rollout}
          onInput={(rollout) => onChange({ ...pace, rollout })}
          isRequired={placeholder === undefined}
          {...(placeholder === undefined ? {} : { placeholder })}
        />
      )}
    </>
  );
}
