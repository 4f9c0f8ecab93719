// Tests what is said of a plan before it is made: its first raise, the steps that are reached, and what its
// guards cannot do (docs/contract.md 27.12).

import { describe, expect, it } from 'vitest';
import type { RaiseHours } from '../../../src/contract/rollout-plan.ts';
import { planFindings } from '../../../src/domain/rollout/plan-findings.ts';
import { definition, guards } from './plan-fixture.ts';

type Plan = Parameters<typeof planFindings>[0];

const AT = '2027-01-01T08:00:00.000Z';
const HOURS: RaiseHours = { days: ['mon'], from: '09:00', to: '17:00', timeZone: 'Europe/Berlin' };

/** Findings of a plan of these steps for a release at 10 %, of which 7 devices more get the first step. */
function found(text: string, more: Partial<Plan> = {}, known = 0, gain = 7): readonly string[] {
  const steps = definition(text).steps.map((step) => ({ ...step, startedAt: null, endedAt: null }));
  const usual = { guards: null, raiseBetween: null, onBlind: 'hold', status: 'running' } as const;
  const plan: Plan = { ...usual, nextAt: AT, steps, ...more };
  return planFindings(plan, { rolloutPct: 10, known, gain }).map(({ path, severity, message }) => {
    expect(severity).toBe('warning');
    return `${path}: ${message}`;
  });
}

describe('the first raise', () => {
  it.each<[when: string, parts: Partial<Plan>, gain?: number]>([
    ['At once', {}],
    ['At once', {}, 1],
    [`Once its hours are open (${AT})`, { raiseBetween: HOURS }],
    [`At ${AT}`, { status: 'scheduled' }],
    ['Once the release is published', { status: 'scheduled', nextAt: null }],
    ['Once it is resumed', { status: 'held' }],
  ])('begins %s, with %j (§27.12)', (when, parts, gain = 7) => {
    const devices = gain === 1 ? '1 device' : '7 devices';
    const raise = `the plan raises the rollout from 10 % to 50 %, for about ${devices} more`;
    expect(found('50:60 100:0', parts, 0, gain)).toEqual([`steps.0.rollout: ${when} ${raise}`]);
  });

  it('is not said while a step is reached, which holds first, of several the last (§27.12)', () => {
    const reached = 'The rollout is at 10 % already: the step counts as reached, and';
    expect(found('5:60 10:90 50:60')).toEqual([
      `steps.0.rollout: ${reached} it has no hold`,
      `steps.1.rollout: ${reached} its hold of 90 minutes comes first`,
    ]);
  });
});

describe('guards', () => {
  const all = { failedPercent: 2, stuckPercent: 2, silentPercent: 2 };
  it.each<[what: string, text: string, parts: Partial<Plan>, known: number, findings: string[]]>([
    ['without a limit need no devices', '50:1', { guards: guards() }, 0, []],
    ['with enough devices can judge', '50:1440', { guards: guards({ stuckPercent: 2 }) }, 200, []],
    [
      'with too few wait, and hold the plan',
      '20:1440 50:1440 100:0',
      { guards: guards({ stuckPercent: 2, confirmMinutes: 0, stuckAfterMinutes: 0 }) },
      150,
      [
        'guards: Of 150 devices that are known for long enough 20 % are 30, 50 % are 75; ' +
          'the guards of stuck need 100: there they cannot judge, and the plan waits, and is held',
      ],
    ],
    [
      'with too few are passed over where the plan says so',
      '20:60',
      { onBlind: 'advance', guards: guards({ failedPercent: 2, confirmMinutes: 0 }) },
      0,
      [
        'guards: Of 0 devices that are known for long enough 20 % are 0; ' +
          'the guards of failed need 100: there they cannot judge, and the plan goes on unjudged',
      ],
    ],
    [
      'that trip later than a hold ends are named',
      '20:60 100:1440',
      { guards: guards({ ...all, confirmMinutes: 90, stuckAfterMinutes: 120 }) },
      1000,
      [
        'steps.0.holdMinutes: The hold of 60 minutes is shorter than stuckAfterMinutes (120), ' +
          'silentAfterMinutes (1440), confirmMinutes (90)',
      ],
    ],
  ])('%s (§27.12)', (_, text, parts, known, findings) => {
    expect(found(text, parts, known).slice(1)).toEqual(findings);
  });
});
