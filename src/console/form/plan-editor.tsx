// Editor of a rollout plan: a preset, or custom steps and limits.

import { PLAN_PRESET_NAMES, SIGNALS } from '../../contract/choice.ts';
import { LIMIT } from '../../contract/limit.ts';
import { capitalized } from '../format/figure-text.ts';
import {
  type PlanDraft,
  planLimitsText,
  planStepsText,
  type StepDraft,
  withKind,
  withStep,
} from '../format/plan-draft.ts';
import { Choice, Field, optionsOf, PercentField } from './field.tsx';
import { CrossButton, SmallButton } from './small-button.tsx';

const KINDS: readonly { readonly value: PlanDraft['kind']; readonly label: string }[] = [
  ...PLAN_PRESET_NAMES.map((value) => ({ value, label: capitalized(value) })),
  { value: 'own', label: 'Own steps and limits' },
];

const BLIND = optionsOf({ hold: 'Wait, then hold the plan', advance: 'Go on without them' });

/** Longest hold in hours. */
const HOURS_MAX = LIMIT.planMinutesMax / 60;

type Props = {
  draft: PlanDraft;
  onChange: (draft: PlanDraft) => void;
  /** Path of the plan in the request, with a dot at its end. */
  path?: string;
};

/** Choice of a plan, with fields for the steps and limits of a custom one. */
export function PlanEditor(props: Props) {
  const { draft, onChange } = props;
  const isOwn = draft.kind === 'own';
  const hint = `${planStepsText(draft)}. Limits: ${planLimitsText(draft)}.`;
  return (
    <>
      <Choice
        label="Preset"
        value={draft.kind}
        options={KINDS}
        onChoose={(kind) => onChange(withKind(draft, kind))}
        {...(isOwn ? {} : { hint })}
      />
      {isOwn && <StepRows {...props} />}
      {isOwn && <LimitFields {...props} />}
    </>
  );
}

function StepRows({ draft, onChange, path = '' }: Props) {
  const { steps } = draft;
  const change = (index: number, part: Partial<StepDraft>) =>
    onChange({
      ...draft,
      steps: steps.map((step, at) => (at === index ? { ...step, ...part } : step)),
    });
  return (
    <fieldset class="wide">
      <legend>Steps</legend>
      <div class="plan-row stack hint" aria-hidden="true">
        <span>Share (%)</span>
        <span>Hold (hours)</span>
      </div>
      {steps.map(({ rollout, hours }, index) => (
        <div key={index} class="plan-row stack">
          <PercentField
            name={`${path}steps.${index}.rollout`}
            label={`Share of step ${index + 1} (%)`}
            min={Number(steps[index - 1]?.rollout ?? 0) + 1}
            value={rollout}
            onInput={(value) => change(index, { rollout: value })}
            isRequired
            isLabelHidden
          />
          <Field
            name={`${path}steps.${index}.holdMinutes`}
            label={`Hold of step ${index + 1} (hours)`}
            type="number"
            min={0}
            max={HOURS_MAX}
            value={hours}
            onInput={(value) => change(index, { hours: value })}
            isRequired
            isLabelHidden
          />
          {steps.length > 1 && (
            <CrossButton
              label={`Remove step ${index + 1}`}
              onClick={() => onChange({ ...draft, steps: steps.toSpliced(index, 1) })}
            />
          )}
        </div>
      ))}
      {steps.length < LIMIT.planStepsMax && (
        <div>
          <SmallButton onClick={() => onChange(withStep(draft))}>Add a step</SmallButton>
        </div>
      )}
    </fieldset>
  );
}

function LimitFields({ draft, onChange, path = '' }: Props) {
  const { limits, onBlind } = draft;
  return (
    <>
      <fieldset class="wide">
        <legend>Limits (%)</legend>
        <p class="hint">A signal above its limit stops the plan. Empty is no limit.</p>
        <div class="limits">
          {SIGNALS.map((signal) => (
            <PercentField
              key={signal}
              name={`${path}guards.${signal}Percent`}
              label={capitalized(signal)}
              step={0.1}
              placeholder="none"
              value={limits[signal]}
              onInput={(value) => onChange({ ...draft, limits: { ...limits, [signal]: value } })}
            />
          ))}
        </div>
      </fieldset>
      <Choice
        label="When there are too few devices to judge by"
        value={onBlind}
        options={BLIND}
        onChoose={(value) => onChange({ ...draft, onBlind: value })}
      />
    </>
  );
}
