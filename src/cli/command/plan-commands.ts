// Commands of rollout plans.

import type { Command } from 'commander';
import { PLAN_ACTIONS, type PlanAction } from '../../contract/rollout-plan.ts';
import { asking, type Connect, send } from '../call/asking.ts';
import { ofRelease, query } from '../call/options.ts';
import { planText } from '../print/plan-text.ts';
import { addPlanSetCommand } from './plan-set-command.ts';

const DESCRIPTIONS: Readonly<Record<PlanAction, string>> = {
  hold: 'let a plan wait until it is resumed',
  resume: 'let a held plan go on',
  advance: 'end the present wait of a plan',
  cancel: 'end a plan; the rollout stays where it is',
};

/** Adds the commands of plans, which call the management API. */
export function addPlanCommands(program: Command, connect: Connect): void {
  const plan = program
    .command('plan')
    .description('rollouts that raise and stop themselves, with SLUICE_KEY');
  const set = ofRelease(plan.command('set').description('plan the rollout of a release'));
  addPlanSetCommand(set, connect);
  const show = ofRelease(
    plan.command('show').description('show the plan of a release, and its health'),
  );
  asking(show, connect, (options) => send('GET', `releases/plan?${query(options)}`), {
    text: planText,
  });
  for (const action of PLAN_ACTIONS) {
    const command = ofRelease(plan.command(action).description(DESCRIPTIONS[action]));
    asking(command, connect, (options) => send('PATCH', 'releases/plan', { ...options, action }), {
      text: planText,
    }).option('--reason <text>', 'why, for the audit');
  }
}
