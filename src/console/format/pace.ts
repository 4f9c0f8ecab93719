// How fast a new release goes out: to a share of the devices at once, step by step by a plan, or not yet.

import { PLAN_PRESET_NAMES, type PlanPresetName } from '../../contract/rollout-plan.ts';
import { PLAN_PRESETS } from '../../domain/rollout/plan-presets.ts';
import { limitsText, stepsText } from './plan-words.ts';

export type PaceDraft = {
  readonly kind: 'share' | 'paused' | PlanPresetName;
  /** Share in percent as it was entered; empty for the default of the channel. */
  readonly rollout: string;
};

/** Options of the choice, the quickest first. */
export const PACES: readonly { readonly value: PaceDraft['kind']; readonly label: string }[] = [
  { value: 'share', label: 'Now, to a share of the devices' },
  ...PLAN_PRESET_NAMES.map((value) => ({ value, label: `By a plan: ${value}` })),
  { value: 'paused', label: 'Not yet: publish it paused' },
];

/** Returns the part of a publish or promotion that says how fast it goes out. */
export function paceBody({ kind, rollout }: PaceDraft): Readonly<Record<string, unknown>> {
  const share = rollout.trim() === '' ? {} : { rollout: Number(rollout) };
  if (kind === 'share') return share;
  if (kind === 'paused') return { ...share, status: 'paused' };
  return { plan: { preset: kind } };
}

/** Returns a sentence that says what the choice does. */
export function paceHint({ kind }: PaceDraft): string {
  if (kind === 'share') return 'An offer to a device cannot be taken back.';
  if (kind === 'paused') return 'No device is offered it until it is resumed.';
  const { steps, guards } = PLAN_PRESETS[kind];
  return `${stepsText(steps)}. Limits: ${limitsText(guards)}.`;
}
