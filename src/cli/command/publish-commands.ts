// Commands that publish a release: `publish` from the files of a build, `promote` from another channel.

import { basename } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import type { DryRunAnswer, Finding, UnpublishedRelease } from '../../contract/dry-run.ts';
import type { Artifact, Release } from '../../contract/resource.ts';
import type { PassedOver } from '../build/build-files.ts';
import { FileContents } from '../build/file-contents.ts';
import {
  type Build,
  type ReleaseFiles,
  readBuild,
  readReleaseFiles,
  type TakenFile,
} from '../build/release-files.ts';
import { answering, type Connect, type Say } from '../call/asking.ts';
import { type Options, query, wholeNumber } from '../call/options.ts';
import { type ServiceClient, ServiceError } from '../call/service-client.ts';
import { readNotes } from '../call/text-file.ts';
import { refuseStaged } from '../call/update-file.ts';
import { UsageError } from '../call/usage-error.ts';
import { differenceOf } from '../print/difference.ts';
import { effectText, errorsText, findingsText, isError } from '../print/findings-text.ts';
import { printableText } from '../print/print-answer.ts';
import { ProgressLine } from '../print/progress-line.ts';
import { type FileRow, fileRow, filesText, publishedFilesText } from '../print/release-text.ts';
import { presetOption } from './plan-commands.ts';

/** Body of the call that publishes a release. */
type Publication = Pick<Release, 'app' | 'channel' | 'version'> & {
  readonly notes: string | undefined;
  readonly artifacts: readonly Artifact[];
  readonly rollout: number | undefined;
  readonly targets: { readonly matchLabels: Labels } | undefined;
  readonly status: 'paused' | undefined;
  readonly plan: { readonly preset: unknown } | undefined;
};

type Labels = Readonly<Record<string, readonly string[]>>;

/** Result of either command. */
type Answer = {
  readonly release: UnpublishedRelease;
  readonly outcome: 'published' | 'already published' | 'promoted' | 'rehearsed' | 'stopped';
  readonly findings: readonly Finding[];
  readonly effect?: DryRunAnswer<unknown>['effect'];
};

type PublishAnswer = Answer & {
  readonly files: readonly FileRow[];
  readonly passedOver: readonly PassedOver[];
};

const CONFLICT = 409;
/** Size from which on progress is shown; smaller files are read too fast to need it. */
const SHOWN_BYTES_MIN = 32 * 1024 * 1024;
const DRY_RUN = 'releases?dryRun=true';

/** Adds `publish` to the commands of releases. */
export function addPublishCommand(releases: Command, connect: Connect): void {
  const command = releases
    .command('publish')
    .description('publish the files of a build; those that devices cannot install are passed over')
    .argument('<path...>', 'files or folders of the build, with FILE.sig beside what is signed')
    .requiredOption('--app <ref>', 'app')
    .requiredOption('--channel <name>', 'channel')
    .requiredOption('--version <version>', 'version')
    .option('--url-base <url>', 'address of the folder that the files are uploaded to', urlBase)
    .option('--notes <file>', 'file with the release notes, in Markdown')
    .option('--rollout <percent>', "devices that get it (default: the channel's)", wholeNumber)
    .option('--label <key=values>', 'only devices with one of these values, repeatable', addLabel)
    .addOption(presetOption('--plan <preset>'))
    .option('--paused', 'offer it to nobody yet')
    .option('--force', 'publish although findings are errors')
    .option('--dry-run', 'say what speaks against it and what it would do, and publish nothing');
  answering(command, connect, publish, { text: textOf, isWell });
}

/** Adds `promote` to the commands of releases. */
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
  answering(command, connect, promote, { text: promotedText, isWell });
}

/** Whether the command ends with code 0: errors that `--force` overrode do not count. */
function isWell({ outcome, findings }: Answer): boolean {
  return outcome !== 'stopped' && (outcome !== 'rehearsed' || !findings.some(isError));
}

async function publish(
  client: ServiceClient,
  options: Options,
  paths: readonly string[],
  say: Say,
): Promise<PublishAnswer> {
  const { version, urlBase: base } = options as Readonly<Record<string, string>>;
  const build = await readBuild(paths, String(version));
  refuseIncomplete(client, base, build);
  // With a plan, the plan sets the rollout, and a paused release is offered to no device.
  if ([options.rollout, options.plan, options.paused].every((each) => each === undefined)) {
    for (const { from, staged } of build.entries) refuseStaged(from, staged);
  }
  const line = new ProgressLine(process.stderr);
  const contents = new FileContents((name, read, size) => {
    if (size < SHOWN_BYTES_MIN) return;
    const percent = Math.min(100, Math.floor((100 * read) / size));
    line.show(`reading ${name} … ${percent} %`);
  });
  const addressOf = (name: string) =>
    base === undefined ? undefined : base + name.split('/').map(encodeURIComponent).join('/');
  const found = await readReleaseFiles(build, addressOf, contents).finally(() => line.clear());
  refuseUnusable(found);
  const publication = publicationOf(options, found);
  const { passedOver } = found;
  const files = found.taken.map(publishedFile);
  const built = { files, passedOver };
  const dryRun = await attempt<DryRunAnswer<UnpublishedRelease>>(client, DRY_RUN, publication);
  const isThere = 'present' in dryRun;
  const findings = [...found.findings, ...(isThere ? [] : dryRun.answer.findings)];
  // Before the call that publishes, so that people can read the findings whatever its result.
  const isSaid = !isThere || findings.length > 0;
  say(builtText(built, isSaid ? [findingsText(findings, publication.artifacts)] : []));
  if (isThere) return already(dryRun.present, { findings, ...built });
  const { release, effect } = dryRun.answer;
  const answer = { release, findings, ...built };
  if (options.dryRun === true) return { outcome: 'rehearsed', ...answer, effect };
  if (findings.some(isError) && options.force !== true) return { outcome: 'stopped', ...answer };
  const published = await attempt<{ readonly release: Release }>(client, 'releases', publication);
  // Another pipeline may have published it meanwhile.
  if ('present' in published) return already(published.present, { findings, ...built });
  return { outcome: 'published', ...answer, release: published.answer.release };
}

function already(
  release: Release,
  more: Omit<PublishAnswer, 'release' | 'outcome'>,
): PublishAnswer {
  return { outcome: 'already published', release, ...more };
}

/** Sends a release; resolves with the existing release if that has the same version and content. */
async function attempt<Answer>(
  client: ServiceClient,
  path: string,
  publication: Publication,
): Promise<{ readonly answer: Answer } | { readonly present: Release }> {
  try {
    return { answer: (await client.call('POST', path, publication)) as Answer };
  } catch (error) {
    const isThere = error instanceof ServiceError && error.status === CONFLICT;
    const present = isThere ? await findSame(client, publication) : undefined;
    if (present === undefined) throw error;
    return { present };
  }
}

function publishedFile({ file, artifact }: TakenFile): FileRow {
  return { file: file.path, ...fileRow(artifact) };
}

function publicationOf(options: Options, { taken }: ReleaseFiles): Publication {
  const { app, channel, version } = options as Readonly<Record<string, string>>;
  const labels = options.label as Labels | undefined;
  return {
    ...{ app: String(app), channel: String(channel), version: String(version) },
    notes: options.notes === undefined ? undefined : readNotes(String(options.notes)),
    artifacts: taken.map(({ artifact }) => artifact),
    rollout: options.rollout as number | undefined,
    targets: labels === undefined ? undefined : { matchLabels: labels },
    status: options.paused === true ? 'paused' : undefined,
    plan: options.plan === undefined ? undefined : { preset: options.plan },
  };
}

/**
 * Returns the existing release of this version if it has the same content: then an earlier run of the
 * pipeline has published it. How it is served may have changed since. Rejects when the content differs.
 */
async function findSame(
  client: ServiceClient,
  publication: Publication,
): Promise<Release | undefined> {
  const { app, channel, version } = publication;
  const answer = await client.call('GET', `releases?${query({ app, channel, version })}`);
  const [present] = (answer as { releases: readonly Release[] }).releases;
  if (present === undefined) return undefined;
  const difference = differenceOf(present, publication);
  if (difference === undefined) return present;
  throw new ServiceError(`${version} is published already on ${channel}, and ${difference}`);
}

/** Throws before any long work begins, and names everything that is missing. */
function refuseIncomplete(client: ServiceClient, base: string | undefined, build: Build): void {
  const hasAddress = base !== undefined || build.entries.some(({ url }) => url !== undefined);
  const address = hasAddress ? [] : ['--url-base is missing: the files would have no address'];
  if (client.missing !== undefined) throw new ServiceError([client.missing, ...address].join('; '));
  if (!hasAddress) throw new UsageError(address.join());
}

function refuseUnusable({ taken, passedOver, findings }: ReleaseFiles): void {
  if (taken.length === 0) {
    const missing = findings.filter(isError).map(({ path, message }) => `${path}: ${message}`);
    const names = passedOver.map(({ file }) => basename(file)).join(', ');
    const reasons = [...missing, names].filter(Boolean).join('; ');
    throw new ServiceError(
      ['none of the files is for a device', reasons].filter(Boolean).join(': '),
    );
  }
  const without = taken.filter(({ artifact }) => artifact.url === undefined).length;
  if (without > 0) {
    throw new UsageError(`--url-base is missing: ${without} of the files would have no address`);
  }
}

function urlBase(text: string): string {
  if (!/^https?:\/\/[^/?#]/i.test(text)) throw new InvalidArgumentError('Not an http(s) address.');
  if (/[?#]/.test(text)) throw new InvalidArgumentError('It must not have ? or #.');
  return text.endsWith('/') ? text : `${text}/`;
}

function addLabel(text: string, labels: Labels = {}): Labels {
  const [, key = '', values = ''] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
  if (key === '') throw new InvalidArgumentError('It must be KEY=VALUE, or KEY=V1,V2.');
  const before = Object.hasOwn(labels, key) ? (labels[key] ?? []) : [];
  return { ...labels, [key]: [...before, ...values.split(',')] };
}

/** Returns effect and outcome; `publish` has printed the files and findings before. */
function textOf({ release, outcome, findings, effect }: Answer): string {
  const { app, channel, version, status, rolloutPct } = release;
  const effects = effect === undefined ? [] : [effectText(version, effect)];
  const serving = outcome === 'stopped' ? errorsText(findings) : `${status}, ${rolloutPct} %`;
  const last = printableText(`${outcome}: ${app} ${version} on ${channel} (${serving})`);
  return [...effects, last].join('\n');
}

/** Returns a table of the release's files, a line for each file that was passed over, and the findings. */
function builtText(
  { files, passedOver }: Pick<PublishAnswer, 'files' | 'passedOver'>,
  findings: readonly string[],
): string {
  const skipped = passedOver.map(({ file, reason }) => `passed over: ${file}: ${reason}`);
  return [filesText(files), ...skipped.map(printableText), ...findings].join('\n');
}

/** Promotes a release unless a dry run finds errors; prints the findings first. */
async function promote(
  client: ServiceClient,
  { paused, plan: preset, dryRun, force, ...options }: Options,
  _args: readonly string[],
  say: Say,
): Promise<Answer> {
  const body = {
    ...options,
    ...(paused === true ? { status: 'paused' } : {}),
    ...(preset === undefined ? {} : { plan: { preset } }),
  };
  const tried = (await client.call(
    'POST',
    'releases/promote?dryRun=true',
    body,
  )) as DryRunAnswer<Release>;
  const { release, findings } = tried;
  if (dryRun === true) return { outcome: 'rehearsed', ...tried };
  if (findings.length > 0) say(findingsText(findings, release.artifacts));
  if (findings.some(isError) && force !== true) return { outcome: 'stopped', release, findings };
  const promoted = (await client.call('POST', 'releases/promote', body)) as {
    readonly release: Release;
  };
  return { outcome: 'promoted', release: promoted.release, findings };
}

/** Returns the files and the outcome; the findings only for a dry run, else they are printed already. */
function promotedText(answer: Answer): string {
  const { release, findings, effect } = answer;
  const found = effect === undefined ? [] : [findingsText(findings, release.artifacts)];
  return [publishedFilesText(release.artifacts), ...found, textOf(answer)].join('\n');
}
