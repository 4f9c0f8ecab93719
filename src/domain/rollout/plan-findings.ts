// Warnings about a plan before it is created: its first effect, and what its guards cannot do.

import { SIGNALS } from '../../contract/choice.ts';
import { type Finding, warning } from '../../contract/dry-run.ts';
import type { RolloutPlan, Signal } from '../../contract/rollout-plan.ts';

type FoundPlan = Pick<
  RolloutPlan,
  'status' | 'steps' | 'guards' | 'nextAt' | 'onBlind' | 'raiseBetween'
>;

type GuardedPlan = Pick<FoundPlan, 'steps' | 'guards' | 'onBlind'>;

/** Present state that a plan would start from. */
export type PlanSurroundings = {
  /** Present rollout of its release, in percent. */
  readonly rolloutPct: number;
  /** Number of devices that its guards could judge by at 100 %. */
  readonly known: number;
  /** Number of devices that the first raise newly offers the release. */
  readonly gain: number;
};

export function planFindings(plan: FoundPlan, found: PlanSurroundings): readonly Finding[] {
  return [...firstRaise(plan, found), ...stepsReached(plan, found), ...guardFindings(plan, found)];
}

/** Returns the warnings about what the guards of a plan cannot do. */
export function guardFindings(
  plan: GuardedPlan,
  found: Pick<PlanSurroundings, 'known'>,
): readonly Finding[] {
  return plan.guards === null ? [] : [...blindSteps(plan, found), ...shortHolds(plan)];
}

function firstRaise(plan: FoundPlan, found: PlanSurroundings): Finding[] {
  const { status, steps, nextAt, raiseBetween } = plan;
  const index = steps.findIndex(({ rollout }) => rollout > found.rolloutPct);
  const step = steps[index];
  if (step === undefined || index > 0) return [];
  const devices = `about ${found.gain} ${found.gain === 1 ? 'device' : 'devices'}`;
  const raise = `from ${found.rolloutPct} % to ${step.rollout} %, for ${devices} more`;
  const when = {
    scheduled: nextAt === null ? 'Once the release is published' : `At ${nextAt}`,
    held: 'Once it is resumed',
    running: raiseBetween === null ? 'At once' : `Once its hours are open (${nextAt})`,
  };
  const at = status === 'scheduled' || status === 'held' ? when[status] : when.running;
  return [warning('steps.0.rollout', `${at} the plan raises the rollout ${raise}`)];
}

function stepsReached({ steps }: FoundPlan, { rolloutPct }: PlanSurroundings): Finding[] {
  const count = steps.filter(({ rollout }) => rollout <= rolloutPct).length;
  return steps.slice(0, count).map(({ holdMinutes }, index) => {
    const hold =
      index === count - 1 ? `its hold of ${holdMinutes} minutes comes first` : 'it has no hold';
    return warning(
      `steps.${index}.rollout`,
      `The rollout is at ${rolloutPct} % already: the step counts as reached, and ${hold}`,
    );
  });
}

/** Warns once of all steps with fewer devices than the guards need. */
function blindSteps(plan: GuardedPlan, { known }: Pick<PlanSurroundings, 'known'>): Finding[] {
  const needed = plan.guards?.minimumDevices ?? 0;
  const signals = limited(plan);
  const reached = plan.steps.map(({ rollout }) => Math.floor((known * rollout) / 100));
  // Steps rise, so those with too few devices are the first.
  const blind = reached.filter((devices) => devices < needed);
  if (signals.length === 0 || blind.length === 0) return [];
  const shares = blind
    .map((devices, index) => `${plan.steps[index]?.rollout} % are ${devices}`)
    .join(', ');
  const what = `Of ${known} devices that are known for long enough ${shares}`;
  const guards = `the guards of ${signals.join(', ')} need ${needed}`;
  const then =
    plan.onBlind === 'advance' ? 'the plan goes on unjudged' : 'the plan waits, and is held';
  return [warning('guards', `${what}; ${guards}: there they cannot judge, and ${then}`)];
}

/** Warns of holds that end before a guard could trip. */
function shortHolds(plan: GuardedPlan): Finding[] {
  const { guards, steps } = plan;
  if (guards === null) return [];
  const signals = limited(plan);
  const times = [
    ...(signals.includes('stuck') ? (['stuckAfterMinutes'] as const) : []),
    ...(signals.includes('silent') ? (['silentAfterMinutes'] as const) : []),
    ...(signals.length > 0 ? (['confirmMinutes'] as const) : []),
  ];
  return steps.flatMap(({ holdMinutes }, index) => {
    const longer = times.filter((time) => holdMinutes < guards[time]);
    if (longer.length === 0) return [];
    const named = longer.map((time) => `${time} (${guards[time]})`).join(', ');
    const message = `The hold of ${holdMinutes} minutes is shorter than ${named}`;
    return [warning(`steps.${index}.holdMinutes`, message)];
  });
}

function limited({ guards }: Pick<FoundPlan, 'guards'>): readonly Signal[] {
  return SIGNALS.filter((signal) => guards?.[`${signal}Percent`] !== undefined);
}
