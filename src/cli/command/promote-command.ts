// The command that publishes what one channel has on another.

import type { Command } from 'commander';
import type { DryRunAnswer, Finding } from '../../contract/dry-run.ts';
import type { Release } from '../../contract/resource.ts';
import { answering, type Connect, type Say } from '../call/asking.ts';
import { type Options, wholeNumber } from '../call/options.ts';
import type { ServiceClient } from '../call/service-client.ts';
import { publishedFilesText } from '../print/files-table.ts';
import { effectText, errorsText, findingsText, isError } from '../print/findings-text.ts';
import { printableText } from '../print/print-answer.ts';
import { presetOption } from './plan-set-command.ts';

/** What came of promoting. */
type PromoteAnswer = {
  readonly outcome: 'promoted' | 'rehearsed' | 'stopped';
  readonly release: Omit<Release, 'id' | 'createdAt'>;
  readonly findings: readonly Finding[];
  readonly effect?: DryRunAnswer<unknown>['effect'];
};

const PATH = 'releases/promote';

/** Adds the command to those of releases. */
export function addPromoteCommand(releases: Command, connect: Connect): void {
  const command = releases
    .command('promote')
    .description('publish what one channel has on another')
    .requiredOption('--app <ref>', 'app')
    .requiredOption('--from <channel>', 'channel that has the release')
    .requiredOption('--to <channel>', 'channel that gets it')
    .requiredOption('--version <version>', 'version')
    .option('--rollout <percent>', "devices that get it (default: the channel's)", wholeNumber)
    .addOption(presetOption('--plan <preset>'))
    .option('--paused', 'offer it to nobody yet')
    .option('--reason <text>', 'why, for the audit')
    .option('--force', 'publish although findings are errors')
    .option('--dry-run', 'say what speaks against it and what it would do, and promote nothing');
  answering(command, connect, promote, { text: textOf, isWell });
}

/** Whether the command ends with code 0: errors that `--force` passed over are none any more. */
function isWell({ outcome, findings }: PromoteAnswer): boolean {
  return outcome === 'promoted' || (outcome === 'rehearsed' && !findings.some(isError));
}

/** Promotes a release unless devices would fail; says first what a dry run finds. */
async function promote(
  client: ServiceClient,
  { paused, plan: preset, dryRun, force, ...options }: Options,
  _args: readonly string[],
  say: Say,
): Promise<PromoteAnswer> {
  const body = {
    ...options,
    ...(paused === true ? { status: 'paused' } : {}),
    ...(preset === undefined ? {} : { plan: { preset } }),
  };
  const tried = (await client.call('POST', `${PATH}?dryRun=true`, body)) as DryRunAnswer<Release>;
  const { release, findings } = tried;
  if (dryRun === true) return { outcome: 'rehearsed', ...tried };
  if (findings.length > 0) say(findingsText(findings, release.artifacts));
  if (findings.some(isError) && force !== true) return { outcome: 'stopped', release, findings };
  const promoted = (await client.call('POST', PATH, body)) as { readonly release: Release };
  return { outcome: 'promoted', release: promoted.release, findings };
}

/** Returns what became of it, as `release publish` does; findings were said before, but for a dry run. */
function textOf({ outcome, release, findings, effect }: PromoteAnswer): string {
  const { app, channel, version, artifacts, status, rolloutPct } = release;
  const effected =
    effect === undefined ? [] : [findingsText(findings, artifacts), effectText(version, effect)];
  const serving = outcome === 'stopped' ? errorsText(findings) : `${status}, ${rolloutPct} %`;
  const last = printableText(`${outcome}: ${app} ${version} on ${channel} (${serving})`);
  return [publishedFilesText(artifacts), ...effected, last].join('\n');
}
