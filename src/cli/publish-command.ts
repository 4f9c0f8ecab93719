// The command that publishes files of a build.

import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import type { Finding, Rehearsed } from '../contract/rehearsed.ts';
import type { Artifact, Release } from '../contract/resource.ts';
import { artifactFormat } from '../domain/decision/artifact-format.ts';
import { fileNameFindings } from '../domain/release/file-name-findings.ts';
import { answering, type Connect, type Options, query, wholeNumber } from './asking.ts';
import { differenceOf } from './difference.ts';
import { effectText, findingsText } from './findings-text.ts';
import { presetOption } from './plan-set-command.ts';
import { printTable, takesColours } from './print-table.ts';
import { printableText } from './printable-text.ts';
import { ProgressLine } from './progress-line.ts';
import { type FoundFiles, readReleaseFiles } from './release-files.ts';
import { type ServiceClient, ServiceError } from './service-client.ts';
import { UsageError } from './usage-error.ts';

/** What the service takes to publish a release. */
type Publication = Pick<Release, 'app' | 'channel' | 'version'> & {
  readonly notes: string | undefined;
  readonly artifacts: readonly Artifact[];
  readonly rollout: number | undefined;
  readonly targets: { readonly matchLabels: Labels } | undefined;
  readonly status: 'paused' | undefined;
  readonly plan: { readonly preset: unknown } | undefined;
};

type Labels = Readonly<Record<string, readonly string[]>>;

/** What came of publishing. */
type PublishAnswer = {
  readonly release: Omit<Release, 'id' | 'createdAt'>;
  readonly outcome: 'published' | 'already published' | 'rehearsed';
  readonly passedOver: readonly string[];
  readonly findings?: readonly Finding[];
  readonly effect?: Rehearsed<unknown>['effect'];
};

const CONFLICT = 409;

/** Adds the command to those of releases. */
export function addPublishCommand(releases: Command, connect: Connect): void {
  const command = releases
    .command('publish')
    .description('publish the files of a build; those that devices cannot install are passed over')
    .argument('<file...>', 'files of the release, with FILE.sig beside them where they are signed')
    .requiredOption('--app <ref>', 'app')
    .requiredOption('--channel <name>', 'channel')
    .requiredOption('--version <version>', 'version')
    .option('--url-base <url>', 'address of the folder that the files are uploaded to', urlBase)
    .option('--notes <file>', 'file with the release notes, in Markdown')
    .option('--rollout <percent>', "devices that get it (default: the channel's)", wholeNumber)
    .option('--label <key=values>', 'only devices with one of these values, repeatable', addLabel)
    .addOption(presetOption('--plan <preset>'))
    .option('--paused', 'offer it to nobody yet')
    .option('--dry-run', 'say what speaks against it and what it would do, and publish nothing');
  answering(command, connect, publish, textOf, ({ findings = [] }) =>
    findings.every(({ severity }) => severity !== 'error'),
  );
}

async function publish(
  client: ServiceClient,
  options: Options,
  paths: readonly string[],
): Promise<PublishAnswer> {
  const { app, channel, version, urlBase: base } = options as Readonly<Record<string, string>>;
  const labels = options.label as Labels | undefined;
  const line = new ProgressLine(process.stderr);
  const found = await readReleaseFiles(
    paths,
    String(version),
    (name) => (base === undefined ? undefined : base + encodeURIComponent(name)),
    (name, read, size) => line.show(name, read, size),
  ).finally(() => line.clear());
  refuseUnusable(found);
  const publication: Publication = {
    ...{ app: String(app), channel: String(channel), version: String(version) },
    notes: options.notes === undefined ? undefined : readNotes(String(options.notes)),
    artifacts: found.artifacts,
    rollout: options.rollout as number | undefined,
    targets: labels === undefined ? undefined : { matchLabels: labels },
    status: options.paused === true ? 'paused' : undefined,
    plan: options.plan === undefined ? undefined : { preset: options.plan },
  };
  const { passedOver } = found;
  try {
    if (options.dryRun === true) {
      const answer = await client.call('POST', 'releases?dryRun=true', publication);
      return { outcome: 'rehearsed', ...(answer as Rehearsed<Release>), passedOver };
    }
    const answer = await client.call('POST', 'releases', publication);
    const findings = fileNameFindings(publication.artifacts);
    return { outcome: 'published', ...(answer as { release: Release }), passedOver, findings };
  } catch (error) {
    const isThere = error instanceof ServiceError && error.status === CONFLICT;
    const present = isThere ? await findSame(client, publication) : undefined;
    if (present === undefined) throw error;
    return { outcome: 'already published', release: present, passedOver };
  }
}

/**
 * Returns the release that has this version already, if it has the same content: then a pipeline that runs
 * again has done its work. How it is served may have been changed since. Rejects when the content differs.
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

function refuseUnusable({ artifacts, passedOver }: FoundFiles): void {
  if (artifacts.length === 0) {
    throw new ServiceError(`none of the files is for a device: ${passedOver.join(', ')}`);
  }
  const without = artifacts.filter(({ url }) => url === undefined).length;
  if (without > 0) {
    throw new UsageError(`--url-base is missing: ${without} of the files would have no address`);
  }
}

function readNotes(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw new ServiceError(
      isMissing ? `no such file: ${path}` : `cannot read ${path}: ${(error as Error).message}`,
    );
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

function textOf({ release, outcome, passedOver, findings, effect }: PublishAnswer): string {
  const { app, channel, version, status, rolloutPct, artifacts } = release;
  const files = printTable(
    [
      { label: 'file', value: ({ url }) => url?.slice(url.lastIndexOf('/') + 1) },
      { label: 'platform', value: ({ platform }) => platform },
      { label: 'arch', value: ({ arch }) => arch },
      { label: 'format', value: (artifact) => artifactFormat(artifact) },
      { label: 'size', value: ({ size }) => size },
      { label: 'signed', value: ({ signature }) => (signature === undefined ? 'no' : 'yes') },
    ],
    artifacts,
    'no files',
    takesColours(process.stdout),
  );
  const skipped = passedOver.length === 0 ? [] : [`passed over: ${passedOver.join(', ')}`];
  const isSaid = findings !== undefined && (effect !== undefined || findings.length > 0);
  const said = isSaid ? [findingsText(findings)] : [];
  const effects = effect === undefined ? [] : [effectText(release.version, effect)];
  const serving = `${status}, ${rolloutPct} %`;
  const last = printableText(`${outcome}: ${app} ${version} on ${channel} (${serving})`);
  return [files, ...skipped.map(printableText), ...said, ...effects, last].join('\n');
}
