// Rollout plan of a release: its state, its next step, and the dialogs of its actions.

import { useState } from 'preact/hooks';
import type { PlanAndHealth, RenderedReleaseDetail } from '../../contract/console.ts';
import {
  isOpenEnded,
  type PlanAction,
  type PlanStep,
  type RolloutPlan,
} from '../../contract/rollout-plan.ts';
import { call, type ReleaseName } from '../api/call.ts';
import { type DialogEnd, FormDialog } from '../form/dialog.tsx';
import { ReasonField } from '../form/field.tsx';
import { Notice } from '../form/notice.tsx';
import { capitalized, percentText } from '../format/figure-text.ts';
import {
  heldText,
  holdText,
  isOpenPlan,
  judgedText,
  nextStep,
  PLAN_WORDS,
  planActions,
  type StepPlace,
  stepPlace,
  watchText,
} from '../format/plan-words.ts';
import { PlanBadge } from '../part/badge.tsx';
import { Card } from '../part/card.tsx';
import { ServingEffect, useConfirmedReach, useServingDryRun } from '../part/dry-run.tsx';
import { Time } from '../part/time.tsx';
import { useMay } from '../session/use-session.ts';
import { PlanDialog } from './plan-dialog.tsx';

type Props = {
  name: ReleaseName;
  release: Pick<RenderedReleaseDetail['release'], 'status' | 'rolloutPct'>;
  found: PlanAndHealth;
  /** History of the release, newest first. */
  history: RenderedReleaseDetail['history'];
  onDone: () => Promise<void>;
};

/** Card with the plan of a release; publishers also get its actions. */
export function PlanCard(props: Props) {
  const { plan } = props.found;
  return (
    <Card title="Plan" aside={plan === null ? undefined : <PlanBadge status={plan.status} />}>
      {plan === null ? (
        <p class="muted">No plan. The rollout is raised by hand.</p>
      ) : (
        <PlanView {...props} plan={plan} />
      )}
      <PlanControls {...props} />
      {/* Below the buttons, so that it does not move them when it appears. */}
      {plan !== null && <NextStepEffect {...props} plan={plan} />}
    </Card>
  );
}

function PlanView({ plan, found, history }: Props & { plan: RolloutPlan }) {
  const { status, reason, steps } = plan;
  const next = nextStep(steps);
  const isOpen = isOpenPlan(status);
  return (
    <div class="plan stack">
      {status === 'held' && <Notice tone="warn">{capitalized(heldText(plan, history))}</Notice>}
      {status !== 'held' && reason !== null && <p>{reason}.</p>}
      {isOpen && status !== 'held' && <NextLine plan={plan} next={next} />}
      <ol aria-label="Steps of the plan">
        {steps.map((step) => (
          <StepItem key={step.rollout} step={step} place={stepPlace(plan, step)} />
        ))}
      </ol>
      <p class="hint">
        {watchText(plan)} {isOpen && judgedText(found)}
      </p>
    </div>
  );
}

function NextLine({ plan, next }: { plan: RolloutPlan; next: PlanStep | undefined }) {
  const { nextAt, status, waitingFor } = plan;
  const what =
    next === undefined
      ? 'the plan is completed'
      : `the rollout goes to ${percentText(next.rollout)}`;
  if (isOpenEnded(waitingFor)) {
    return (
      <Notice tone="warn">
        It waits since <Time at={waitingFor.since} isZoned />: {waitingFor.reason}. Then, {what}.
      </Notice>
    );
  }
  if (nextAt === null) {
    return <p>{status === 'scheduled' ? `Once it is published, ${what}.` : `Next, ${what}.`}</p>;
  }
  return (
    <p>
      Next, {what}: <Time at={nextAt} isZoned />
    </p>
  );
}

const PLACES: Readonly<Record<StepPlace, string>> = {
  done: 'done',
  passed: 'passed over',
  now: 'now',
  next: 'next',
  later: '',
};

function StepItem({ step, place }: { step: PlanStep; place: StepPlace }) {
  const { rollout, startedAt } = step;
  return (
    <li
      class={`plan-step stack digits ${place}`}
      aria-current={place === 'now' ? 'step' : undefined}
    >
      <strong>{percentText(rollout)}</strong>
      <span>{holdText(step)}</span>
      <span class="plan-place small">
        {PLACES[place]}
        {startedAt !== null && (
          <>
            {' '}
            · <Time at={startedAt} />
          </>
        )}
      </span>
    </li>
  );
}

type Question = PlanAction | 'plan';

/** Buttons of a plan, each with a dialog; none for viewers. */
function PlanControls({ name, release, found, onDone }: Props) {
  const mayPlan = useMay('publisher');
  const [asking, setAsking] = useState<Question>();
  const close = () => setAsking(undefined);
  const actions = found.plan === null ? [] : planActions(found.plan.status);
  const next = nextStep(found.plan?.steps ?? []);
  const isPlannable = release.status === 'published' || release.status === 'paused';
  // A dialog stays open if the right ends meanwhile; the service then refuses the request.
  if ((!mayPlan || (actions.length === 0 && !isPlannable)) && asking === undefined) return null;
  return (
    <div class="form-actions plan-controls row">
      {actions.map((action) => (
        <button
          key={action}
          type="button"
          class="button plain"
          disabled={action === 'resume' && release.status !== 'published'}
          title={
            action === 'resume' && release.status !== 'published'
              ? 'The release is paused: resume it first'
              : undefined
          }
          onClick={() => setAsking(action)}
        >
          {verbOf(action, next)}…
        </button>
      ))}
      {actions.length === 0 && (
        <button type="button" class="button plain" onClick={() => setAsking('plan')}>
          Plan the rollout…
        </button>
      )}
      {asking === 'plan' && <PlanDialog name={name} onDone={onDone} onClose={close} />}
      {asking !== undefined && asking !== 'plan' && (
        <SteerPlanDialog name={name} action={asking} next={next} onDone={onDone} onClose={close} />
      )}
    </div>
  );
}

/** Verb of an action on a plan, with the share of the step that it begins. */
function verbOf(action: PlanAction, next: PlanStep | undefined): string {
  const isStep = action === 'advance' && next !== undefined;
  return isStep ? `Go to ${percentText(next.rollout)} now` : PLAN_WORDS[action].verb;
}

/** Effect of the next step of an open plan; nothing for viewers, who may not do a dry run. */
function NextStepEffect({ name, release, plan }: Props & { plan: RolloutPlan }) {
  const isOpen = isOpenPlan(plan.status) && release.status === 'published';
  const rollout = (isOpen ? nextStep(plan.steps)?.rollout : undefined) ?? 0;
  const isAsking = useMay('publisher') && rollout > release.rolloutPct;
  // Repeats the dry run when the rollout changes.
  const dryRun = useServingDryRun(isAsking ? { ...name, rollout } : undefined, release.rolloutPct);
  return isAsking ? <ServingEffect dryRun={dryRun} /> : null;
}

/**
 * Dialog that holds, resumes, advances or cancels a plan, with a reason. For a step it shows the effect, and
 * asks for confirmation if it reaches many devices. `onDone` loads the plan again.
 */
function SteerPlanDialog(
  props: DialogEnd & {
    name: ReleaseName;
    action: PlanAction;
    /** Next step; undefined if the plan only has to be completed. */
    next: PlanStep | undefined;
  },
) {
  const { name, action, next, ...end } = props;
  const { consequence } = PLAN_WORDS[action];
  const isStep = action === 'advance' && next !== undefined;
  const verb = verbOf(action, next);
  const [reason, setReason] = useState('');
  const dryRun = useServingDryRun(isStep ? { ...name, rollout: next.rollout } : undefined);
  const reach = useConfirmedReach(dryRun);
  return (
    <FormDialog
      title={`${verb}: ${name.version}`}
      verb={verb}
      {...(action === 'cancel' ? { tone: 'danger', cancel: 'Keep plan' } : {})}
      obstacle={isStep ? reach.obstacle : undefined}
      onSend={() => call('PATCH', 'releases/plan', { ...name, action, reason })}
      {...end}
    >
      <p>{consequence}</p>
      {isStep && <ServingEffect dryRun={dryRun} />}
      {isStep && reach.question}
      <ReasonField value={reason} onInput={setReason} isFocused />
    </FormDialog>
  );
}
