// The verdict on a release: its state in one sentence, the cause, since when, and what follows by itself.

import { SIGNALS } from '../../contract/choice.ts';
import type { PlanAndHealth, ReleaseDetail } from '../../contract/console.ts';
import { type Health, isOpenEnded, type RolloutPlan } from '../../contract/rollout-plan.ts';
import type { ReleaseStanding } from '../../contract/standing.ts';
import { actorWords } from '../../words/name.ts';
import { percentText } from './figure-text.ts';
import { heldText, isOpenPlan, nextStep } from './plan-words.ts';
import { standingText } from './serving.ts';

type VerdictTone = 'good' | 'warn' | 'bad' | 'quiet';

export type ReleaseVerdict = {
  readonly tone: VerdictTone;
  readonly state: string;
  /** Without a full stop; null if there is nothing to say. */
  readonly cause: string | null;
  /** Time of the change that led to the state, RFC 3339. */
  readonly since: string | null;
  /** What happens next automatically, with its time; null if the state says it. */
  readonly next: { readonly text: string; readonly at: string | null } | null;
};

type Judged = {
  readonly rolloutPct: number;
  readonly standing: ReleaseStanding;
  readonly planned: PlanAndHealth | undefined;
  readonly hold: ReleaseDetail['release']['hold'];
  readonly history: ReleaseDetail['history'];
};

/** Returns the verdict; `planned` is undefined until it is loaded. */
export function releaseVerdict(judged: Judged): ReleaseVerdict {
  const { rolloutPct, standing, planned, hold } = judged;
  const { change } = standing;
  const plan = planned?.plan ?? null;
  const isOpen = plan !== null && isOpenPlan(plan.status);
  return {
    tone: toneOf(standing, planned),
    state: standingText({ rolloutPct, standing }),
    cause: causeOf(judged, plan),
    since: change?.at ?? null,
    next: nextOf(standing, isOpen ? plan : null, hold),
  };
}

/** Returns whether the signals of a release say that it harms devices. */
export function isUnhealthy(planned: PlanAndHealth | undefined): boolean {
  return planned?.health.verdict === 'unhealthy';
}

function toneOf({ state }: ReleaseStanding, planned: PlanAndHealth | undefined): VerdictTone {
  if (isUnhealthy(planned)) return 'bad';
  switch (state) {
    case 'serving':
    case 'rolling out':
      return planned?.plan?.status === 'held' ? 'warn' : 'good';
    case 'stopped by its guard':
    case 'rolled back':
      return 'bad';
    case 'paused':
    case 'without files':
      return 'warn';
    default:
      return 'quiet';
  }
}

function causeOf(
  { standing: { state, change }, planned, history }: Judged,
  plan: RolloutPlan | null,
): string | null {
  if (state === 'stopped by its guard') return change?.reason ?? plan?.reason ?? null;
  if (change !== null) {
    const reason = change.reason === null ? '' : `: ${change.reason}`;
    return `By ${actorWords(change.by)}${reason}`;
  }
  if (plan?.status === 'held') return `Its plan is ${heldText(plan, history)}`;
  return planned === undefined ? null : exceededText(planned.health);
}

/** Names the signals above their limits: `stuck 14.6 %, limit 2.5 %`; null if there are none. */
function exceededText({ verdict, rates }: Health): string | null {
  if (verdict !== 'unhealthy') return null;
  const above = SIGNALS.filter((signal) => {
    const { low, limit, tripped } = rates[signal];
    return tripped || (limit !== null && low > limit);
  });
  return above.length === 0
    ? null
    : above
        .map(
          (each) =>
            `${each} ${percentText(rates[each].percent)}, limit ${percentText(rates[each].limit ?? 0)}`,
        )
        .join('; ');
}

const BY_ITSELF = 'Nothing happens by itself';

function nextOf(
  { state }: ReleaseStanding,
  plan: RolloutPlan | null,
  hold: Judged['hold'],
): ReleaseVerdict['next'] {
  if (state === 'stopped by its guard') {
    return { text: `${BY_ITSELF}: roll it back, or resume it.`, at: null };
  }
  if (state === 'paused' && hold === 'expecting') {
    return { text: 'It is published by itself once the rest of its files is there.', at: null };
  }
  if (state === 'paused') return { text: `${BY_ITSELF}: it waits to be resumed.`, at: null };
  if (plan === null) {
    const isByHand = state === 'rolling out';
    return isByHand ? { text: `${BY_ITSELF}: the rollout is raised by hand.`, at: null } : null;
  }
  const next = nextStep(plan.steps);
  const what =
    next === undefined ? 'its plan is completed' : `its plan goes to ${percentText(next.rollout)}`;
  const { status, waitingFor, nextAt } = plan;
  if (status === 'held') return { text: `${BY_ITSELF} until its plan is resumed.`, at: null };
  if (isOpenEnded(waitingFor)) {
    return { text: `Its plan waits: ${waitingFor.reason}. Then ${what}.`, at: null };
  }
  if (nextAt === null && status === 'scheduled') {
    return { text: `Once it is published, ${what}.`, at: null };
  }
  return { text: `Next, ${what}`, at: nextAt };
}
