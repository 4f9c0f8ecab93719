// Tests what the command says of a release's health.

import { expect, it } from 'vitest';
import { healthText } from '../../../src/cli/print/plan-text.ts';
import { judgeHealth } from '../../../src/domain/rollout/judge-health.ts';
import { NO_SIGNALS } from '../../../src/domain/rollout/signal-counts.ts';
import { guards } from '../../domain/rollout/plan-fixture.ts';

it('health names the network that keeps a guard from judging, and only that (§27.14)', () => {
  const textOf = (hits: number) => {
    const stuck = { count: 1, parts: [{ hits, base: 200 }] };
    const networks = { ...NO_SIGNALS.networks, stuck };
    const context = { tripped: [], silentOthers: null, isOffered: true };
    const counts = { ...NO_SIGNALS, stuck: hits, stuckBase: 260, networks };
    return healthText(
      judgeHealth(counts, { ...context, guards: guards({ stuckPercent: 2.5 }) }).health,
    );
  };
  expect(textOf(200)).toContain(
    '\nstuck: without one network (200 of its 200 devices) too few are left to judge by',
  );
  expect(textOf(1)).not.toContain('network');
});
