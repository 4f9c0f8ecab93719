// Commands that publishers and their pipelines call with an API key: releases, stops, approvals, and why a
// device gets what it gets.

import { type Command, InvalidArgumentError } from 'commander';
import { APPROVAL_STATUSES, RELEASE_STATUSES } from '../../contract/choice.ts';
import type { DryRunAnswer } from '../../contract/dry-run.ts';
import type { Explanation } from '../../contract/explanation.ts';
import type {
  Approval,
  Release,
  ReleaseStatus,
  ResumedStop,
  Stop,
  Targeting,
  WithdrawnRelease,
} from '../../contract/resource.ts';
import type { Health } from '../../contract/rollout-plan.ts';
import type { ReleaseStanding, StandingState } from '../../contract/standing.ts';
import { approvalsText, approvalText } from '../call/approval-text.ts';
import { answering, asking, type Connect, send } from '../call/asking.ts';
import {
  choice,
  type Options,
  ofRelease,
  query,
  wholeNumber,
  withNextPage,
} from '../call/options.ts';
import { type ServiceClient, ServiceError } from '../call/service-client.ts';
import { effectText, findingsText } from '../print/findings-text.ts';
import { type Colour, fieldColumns, printAnswer, printTable } from '../print/print-answer.ts';
import { releaseText, type ShownRelease, stateText, targetsText } from '../print/release-text.ts';
import { addDeviceCommand } from './device-commands.ts';
import { addImportCommand } from './import-command.ts';
import { addPlanCommands } from './plan-commands.ts';
import { addPromoteCommand, addPublishCommand } from './publish-commands.ts';

const NOT_FOUND = 404;
/** Number of releases on a page by default. */
const PER_PAGE = 20;

/** Adds all commands that call the management API. `connect` is called only when a command runs. */
export function addReleaseCommands(program: Command, connect: Connect): void {
  const release = program.command('release').description('releases of an app, with SLUICE_KEY');
  addPublishCommand(release, connect);
  addReadingCommands(release, connect);
  addServingCommands(release, connect);
  addMovingCommands(release, connect);
  addPlanCommands(program, connect);
  addStopCommands(program, connect);
  addApprovalCommands(program, connect);
  addDeviceCommand(program, connect);
  addExplainCommand(program, connect);
  addImportCommand(program, connect);
}

function addReadingCommands(release: Command, connect: Connect): void {
  const list = release
    .command('list')
    .description('list releases with their state, newest first')
    .option('--app <ref>', 'only of this app')
    .option('--channel <name>', 'only of this channel')
    .option('--version <version>', 'only this version')
    .addOption(choice('--status <status>', 'only of this status', RELEASE_STATUSES))
    .option('--page <n>', 'which page', wholeNumber)
    .option('--per-page <n>', 'how many releases (default: 20, at most 100)', wholeNumber);
  const listed = (options: Options) => query({ ...options, standing: true });
  asking(list, connect, (options) => send('GET', `releases?${listed(options)}`), {
    text: listText,
  });
  const one = release.command('show');
  one.description('show a release, how it is served, and who runs it');
  answering(ofRelease(one), connect, show, { text: releaseText });
}

async function show(client: ServiceClient, options: Options): Promise<ShownRelease> {
  const answer = await client.call('GET', `releases?${query(options)}`);
  const [found] = (answer as { releases: readonly Release[] }).releases;
  if (found === undefined) throw new ServiceError('Unknown release', NOT_FOUND);
  const owned = await client.call('GET', `releases/${encodeURIComponent(found.id)}`);
  const health = await client.call('GET', `releases/health?${query(options)}`);
  return { ...(owned as Omit<ShownRelease, 'health'>), ...(health as { health: Health }) };
}

/** Commands that change how a release is served, and the status that each sets. */
const STATUS_COMMANDS: readonly (readonly [string, string, ReleaseStatus])[] = [
  ['pause', 'offer a release to nobody for now', 'paused'],
  ['resume', 'offer a paused or deprecated release again', 'published'],
  ['rollback', 'pull a release for good: its devices go back to the one before', 'rolled_back'],
  ['deprecate', 'offer a release to nobody new', 'deprecated'],
];

function addServingCommands(release: Command, connect: Connect): void {
  const rollout = release
    .command('rollout')
    .description('offer a release to so many percent of the devices')
    .argument('<percent>', 'percentage, 0 to 100', percentage);
  controlling(rollout, connect, ([percent = '']) => ({ rollout: Number(percent) }));
  for (const [name, description, status] of STATUS_COMMANDS) {
    controlling(release.command(name).description(description), connect, () => ({ status }));
  }
}

function controlling(
  command: Command,
  connect: Connect,
  change: (args: readonly string[]) => Readonly<Record<string, unknown>>,
): void {
  asking(
    ofRelease(command),
    connect,
    ({ dryRun, ...options }, args) => {
      const path = dryRun === true ? 'releases?dryRun=true' : 'releases';
      return send('PATCH', path, { ...options, ...change(args) });
    },
    { text: changedText },
  )
    .option('--reason <text>', 'why, for the audit')
    .option('--dry-run', 'say what it would do, and change nothing');
}

function addMovingCommands(release: Command, connect: Connect): void {
  addPromoteCommand(release, connect);
  const withdraw = ofRelease(release.command('withdraw'))
    .description('remove a release that nobody was offered: its version is free again')
    .option('--reason <text>', 'why, for the audit');
  asking(withdraw, connect, (body) => send('DELETE', 'releases', body), { text: changedText });
  const retry = ofRelease(release.command('retry [device-id...]'))
    .description('let devices that speak DDI have a release again: all, or at most 500')
    .option('--reason <text>', 'why, for the audit');
  asking(
    retry,
    connect,
    (body, ids) =>
      send('POST', 'releases/retry', { ...body, ...(ids.length > 0 && { deviceIds: ids }) }),
    { text: retriedText },
  );
}

function addStopCommands(program: Command, connect: Connect): void {
  const command = program
    .command('stop')
    .description('pause all that an app has published, with SLUICE_KEY')
    .requiredOption('--app <ref>', 'app')
    .option('--channel <name>', 'only what is published on this channel')
    .option('--reason <text>', 'why, for the audit');
  asking(command, connect, (body) => send('POST', 'stop', body), { text: stoppedText });
  const resume = program
    .command('resume <stop>')
    .description('publish again what a stop has paused, with SLUICE_KEY');
  asking(resume, connect, (_options, [stop]) => send('POST', 'resume', { stop }), {
    text: resumedText,
  });
}

function stoppedText({ stop: { id, releases } }: { readonly stop: Stop }): string {
  if (releases.length === 0) return 'Nothing is published: nothing is stopped.';
  const paused = releases.map(({ channel, version }) => `paused  ${channel} ${version}`);
  return [...paused, '', `To let them go on: sluice resume ${id}`].join('\n');
}

function resumedText({ released, changed }: ResumedStop): string {
  const lines = [
    ...released.map(({ channel, version }) => `published  ${channel} ${version}`),
    ...changed.map(({ channel, version, reason }) => `left       ${channel} ${version}: ${reason}`),
  ];
  return lines.length === 0 ? 'The stop has paused nothing.' : lines.join('\n');
}

function addApprovalCommands(program: Command, connect: Connect): void {
  const approval = program
    .command('approval')
    .description('calls that wait for a second person, with SLUICE_KEY');
  const list = approval
    .command('list')
    .description('list what waits, and what became of it, newest first')
    .option('--app <ref>', 'only of this app')
    .addOption(choice('--status <status>', 'only of this status', APPROVAL_STATUSES))
    .option('--before <id>', 'the page after this approval');
  asking(list, connect, (options) => send('GET', `approvals?${query(options)}`), {
    text: approvalsText,
  });
  asking(
    approval.command('show <id>').description('show a call that waits, and what became of it'),
    connect,
    (_options, [id = '']) => send('GET', `approvals/${encodeURIComponent(id)}`),
    { text: ({ approval: found }: { readonly approval: Approval }) => approvalText(found) },
  );
}

function addExplainCommand(program: Command, connect: Connect): void {
  asking(
    program.command('explain').description('say why a device gets what it gets, with SLUICE_KEY'),
    connect,
    ({ device: deviceId, ...options }) => send('GET', `explain?${query({ ...options, deviceId })}`),
    { text: explanationText },
  )
    .requiredOption('--app <ref>', 'app')
    .option('--channel <name>', 'channel (default: the one that the device asked last)')
    .requiredOption('--device <id>', 'device');
}

const COLOURS: Readonly<Partial<Record<StandingState, Colour>>> = {
  serving: 'green',
  'rolling out': 'green',
  paused: 'yellow',
  'stopped by its guard': 'yellow',
  'rolled back': 'red',
};

/** Page of releases; a key that may not read gets no standings. */
type ListedReleases = {
  readonly releases: readonly (Release & { readonly standing?: ReleaseStanding })[];
  readonly total: number;
};

function listText({ releases, total }: ListedReleases, options: Options): string {
  const table = printTable(
    [
      ...fieldColumns('version', 'app', 'channel'),
      {
        label: 'state',
        value: ({ status, standing }) => (standing === undefined ? status : stateText(standing)),
        paint: ({ standing }) => standing && COLOURS[standing.state],
      },
      { label: 'rollout', value: ({ rolloutPct }) => `${rolloutPct} %` },
      { label: 'files', value: ({ artifacts }) => artifacts.length },
      { label: 'published', value: ({ createdAt }) => createdAt },
    ],
    releases,
    'no releases',
  );
  if (releases.length >= total) return table;
  const [page, perPage] = [Number(options.page ?? 1), Number(options.perPage ?? PER_PAGE)];
  const next = page * perPage < total ? { page: page + 1 } : {};
  const counted = `${table}\n${releases.length} of ${total}`;
  return withNextPage(counted, 'release list', options, next);
}

type Changed = Pick<DryRunAnswer<Release & { readonly targets?: Targeting | null }>, 'release'> &
  Partial<DryRunAnswer<unknown>>;

function changedText({ release, findings, effect }: Changed): string {
  const { targets, ...fields } = release;
  const changed = printAnswer(
    targets === undefined ? fields : { ...fields, targets: targetsText(targets) },
  );
  if (findings === undefined || effect === undefined) return changed;
  const said = findingsText(findings, release.artifacts);
  return [changed, said, effectText(release.version, effect)].join('\n');
}

function explanationText({ decision, device, candidates }: Explanation): string {
  const table = printTable(
    [
      ...fieldColumns('version', 'channel', 'verdict', 'bucket'),
      { label: 'below', value: ({ threshold }) => threshold },
      {
        label: 'unmet',
        value: ({ unmet }) =>
          unmet.map(({ key, operator, values }) => `${key} ${operator} ${values}`).join('; '),
      },
    ],
    candidates,
    'no candidates',
  );
  const offer = `${decision.reason}: ${decision.update?.version ?? 'nothing'}`;
  return [offer, printAnswer(device), '', table].join('\n');
}

type Retried = { readonly release: WithdrawnRelease; readonly devices: number };

function retriedText({ release: { version, channel }, devices }: Retried): string {
  const who = devices === 1 ? '1 device gets' : `${devices} devices get`;
  return `${who} ${version} on ${channel} again`;
}

function percentage(text: string): string {
  if (!/^(?:\d{1,2}|100)$/.test(text)) throw new InvalidArgumentError('Not 0 to 100.');
  return text;
}
