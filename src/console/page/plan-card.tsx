// Roll-out plan of a release: where it stands, what comes next and when, and what can be done about it.

import { useState } from 'preact/hooks';
import type { PlanAndHealth, RenderedReleaseDetail } from '../../contract/console.ts';
import type { PlanAction, PlanStep, RolloutPlan } from '../../contract/rollout-plan.ts';
import type { ReleaseName } from '../api/call.ts';
import {
  holdText,
  nextStep,
  PLAN_WORDS,
  planActions,
  type StepPlace,
  stepPlace,
} from '../format/plan-words.ts';
import { PlanBadge } from '../part/badge.tsx';
import { Card } from '../part/card.tsx';
import { Notice } from '../part/notice.tsx';
import { Time } from '../part/time.tsx';
import { useMay } from '../session/use-session.ts';
import { NextStepEffect } from './next-step-effect.tsx';
import { PlanDialog } from './plan-dialog.tsx';
import { SteerPlanDialog } from './steer-plan-dialog.tsx';

type Props = {
  name: ReleaseName;
  release: Pick<RenderedReleaseDetail['release'], 'status' | 'rolloutPct'>;
  found: PlanAndHealth;
  onDone: () => Promise<void>;
};

/** Card with the plan of a release; publishers also get what steers it. */
export function PlanCard(props: Props) {
  const { plan } = props.found;
  return (
    <Card title="Plan" aside={plan === null ? undefined : <PlanBadge status={plan.status} />}>
      {plan === null ? (
        <p class="muted">It has no plan: people raise the roll-out.</p>
      ) : (
        <PlanView {...props} plan={plan} />
      )}
      <PlanControls {...props} />
    </Card>
  );
}

function PlanView({ name, release, plan }: Props & { plan: RolloutPlan }) {
  const { status, reason, steps } = plan;
  const next = nextStep(steps);
  const isOpen = planActions(status).length > 0;
  return (
    <div class="plan">
      {status === 'held' && <Notice tone="warn">Held: {reason ?? 'no reason is known'}</Notice>}
      {status !== 'held' && reason !== null && <p>{reason}.</p>}
      {isOpen && status !== 'held' && <NextLine plan={plan} next={next} />}
      <ol class="plan-steps" aria-label="Steps of the plan">
        {steps.map((step) => (
          <StepItem key={step.rollout} step={step} place={stepPlace(plan, step)} />
        ))}
      </ol>
      {isOpen && next !== undefined && release.status === 'published' && (
        <NextStepEffect name={name} release={release} rollout={next.rollout} />
      )}
      <p class="hint">{guardsText(plan)}</p>
    </div>
  );
}

function NextLine({ plan, next }: { plan: RolloutPlan; next: PlanStep | undefined }) {
  const { nextAt, status, waitingFor } = plan;
  const what =
    next === undefined ? 'the plan is completed' : `the roll-out goes to ${next.rollout}%`;
  if (waitingFor !== null && waitingFor.guard !== null) {
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
    <li class={`plan-step ${place}`} aria-current={place === 'now' ? 'step' : undefined}>
      <strong>{rollout}%</strong>
      <span>{holdText(step)}</span>
      <span class="plan-place">
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

function guardsText({ guards, onTrip }: RolloutPlan): string {
  if (guards === null) return 'It has no guards: nothing but people stops it.';
  const what = onTrip === 'pause' ? 'the release is paused and the plan held' : 'the plan is held';
  const who = guards.source === 'push' ? ' Only devices that are reported with a key count.' : '';
  return `When a signal is surely above its limit, ${what}.${who}`;
}

type Question = PlanAction | 'plan';

/** Buttons of a plan; none for viewers. Each asks first. */
function PlanControls({ name, release, found, onDone }: Props) {
  const mayPlan = useMay('publisher');
  const [asking, setAsking] = useState<Question>();
  const close = () => setAsking(undefined);
  const actions = found.plan === null ? [] : planActions(found.plan.status);
  const isPlannable = release.status === 'published' || release.status === 'paused';
  // A dialog stays when the right ends meanwhile: the service says so to what is sent.
  if ((!mayPlan || (actions.length === 0 && !isPlannable)) && asking === undefined) return null;
  return (
    <div class="form-actions plan-controls">
      {actions.map((action) => (
        <button
          key={action}
          type="button"
          class={`button ${action === 'resume' ? 'primary' : 'plain'}`}
          disabled={action === 'resume' && release.status !== 'published'}
          title={
            action === 'resume' && release.status !== 'published'
              ? 'The release is paused: resume it first'
              : undefined
          }
          onClick={() => setAsking(action)}
        >
          {PLAN_WORDS[action].verb}…
        </button>
      ))}
      {actions.length === 0 && (
        <button type="button" class="button primary" onClick={() => setAsking('plan')}>
          Plan the roll-out…
        </button>
      )}
      {asking === 'plan' && <PlanDialog name={name} onDone={onDone} onClose={close} />}
      {asking !== undefined && asking !== 'plan' && (
        <SteerPlanDialog
          name={name}
          action={asking}
          next={nextStep(found.plan?.steps ?? [])}
          onDone={onDone}
          onClose={close}
        />
      )}
    </div>
  );
}
