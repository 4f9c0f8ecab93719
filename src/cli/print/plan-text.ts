// Text for people of rollout plans and of a release's health.

import { SIGNALS } from '../../contract/choice.ts';
import type { Health, RaiseHours, RolloutPlan, UnstoredPlan } from '../../contract/rollout-plan.ts';
import { printAnswer, printTable } from './print-answer.ts';

type ShownPlan = { readonly plan: RolloutPlan | UnstoredPlan; readonly health?: Health };

/** Returns the text of a plan, stored or not, and of its release's health. */
export function planText({ plan, health }: ShownPlan): string {
  const { steps, guards, step, waitingFor, raiseBetween, ...fields } = plan;
  const table = printTable(
    [
      { label: 'step', value: (one) => steps.indexOf(one) + 1 },
      { label: 'rollout', value: ({ rollout }) => `${rollout} %` },
      { label: 'hold', value: ({ holdMinutes }) => `${holdMinutes} min` },
      {
        label: 'began',
        value: ({ startedAt, endedAt }) => startedAt ?? (endedAt ? 'passed over' : ''),
      },
      { label: 'ended', value: ({ endedAt }) => endedAt ?? '' },
    ],
    steps,
    'no steps',
  );
  const place = step === null ? 'none yet' : `${step + 1} of ${steps.length}`;
  const hours = raiseBetween === null ? 'any' : hoursText(raiseBetween);
  const waits = waitingFor === null ? null : waitingFor.reason;
  const head = printAnswer({
    ...fields,
    ...{ step: place, waitingFor: waits, raiseBetween: hours, guards: guards ?? 'none' },
  });
  return [head, '', table, ...(health === undefined ? [] : ['', healthText(health)])].join('\n');
}

/** Returns hours as `--between` takes them, such as `mon,tue 09:00-17:00 Europe/Berlin`. */
function hoursText({ days, from, to, timeZone }: RaiseHours): string {
  return `${days.join(',')} ${from}-${to} ${timeZone}`;
}

/** Returns the text of a release's health. */
export function healthText({ offered, installed, verdict, ...health }: Health): string {
  const table = printTable(
    [
      { label: 'signal', value: (signal) => signal },
      { label: 'devices', value: (signal) => health[signal] },
      { label: 'rate', value: (signal) => `${health.rates[signal].percent} %` },
      {
        label: '95 % interval',
        value: (signal) => `${health.rates[signal].low} to ${health.rates[signal].high} %`,
      },
      { label: 'limit', value: (signal) => limitText(health.rates[signal].limit) },
      { label: 'tripped', value: (signal) => (health.rates[signal].tripped ? 'yes' : '') },
    ],
    SIGNALS,
    'no signals',
  );
  const networks = SIGNALS.flatMap((signal) => {
    const { network } = health.rates[signal];
    // An older service sends no `network`.
    if (!network) return [];
    const share = `${network.count} of its ${network.base} devices`;
    return [`${signal}: without one network (${share}) too few are left to judge by`];
  });
  const head = `health: ${verdict}, offered to ${offered}, installed by ${installed}`;
  return [head, table, ...networks].join('\n');
}

function limitText(limit: number | null): string {
  return limit === null ? '' : `${limit} %`;
}
