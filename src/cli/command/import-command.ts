// The command that imports releases from elsewhere: those of a GitHub repository, or the one in an update
// file of electron-builder.

import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { DryRunAnswer, Finding } from '../../contract/dry-run.ts';
import type { Artifact } from '../../contract/resource.ts';
import { classifyAssets } from '../../domain/release/asset/classify-assets.ts';
import { tagVersion } from '../../domain/release/host/tag-version.ts';
import { fullPageText, type GithubRelease, readGithubReleases } from '../build/github-releases.ts';
import { answering, type Connect, type Say } from '../call/asking.ts';
import { type Options, wholeNumber } from '../call/options.ts';
import { type ServiceClient, ServiceError, Waits } from '../call/service-client.ts';
import { readUpdateFile, refuseStaged } from '../call/update-file.ts';
import { UsageError } from '../call/usage-error.ts';
import { errorsText, findingsText, isError } from '../print/findings-text.ts';
import { fieldColumns, printableText, printTable } from '../print/print-answer.ts';

/** Release to be imported, and the names of those of its files that devices cannot install. */
type Brought = {
  readonly version: string;
  readonly release: {
    readonly version: string;
    readonly notes: string;
    readonly artifacts: readonly Artifact[];
  };
  readonly passedOver: readonly string[];
};

/** Release that is passed over, and why. */
type PassedOver = { readonly version: string; readonly reason: string };

type Imported = {
  readonly releases: readonly Result[];
  /** What to do if the file may lack some releases. */
  readonly notice?: string;
};
type Result = {
  readonly version: string;
  readonly outcome: string;
  readonly passedOver?: readonly string[];
  /** Findings about the release; each names the artifact that it is about. */
  readonly findings?: readonly Finding[];
};

/** Channel that the releases go to, and how. */
type Destination = {
  readonly app: string;
  readonly channel: string;
  /** Percentage of the devices. */
  readonly rollout: number;
  /** Whether releases with errors are published too. */
  readonly isForced: boolean;
};

const STOPPED = 'stopped';
const CONFLICT = 409;
const TOO_MANY = 429;
/** The limit of a key is per minute (300 calls), so no wait is longer than a minute. */
const WAIT_SECONDS_MAX = 60;
const ATTEMPTS_MAX = 5;

/** Adds the command. */
export function addImportCommand(program: Command, connect: Connect): void {
  const command = program
    .command('import')
    .description('publish the releases of another home, oldest first, with SLUICE_KEY')
    .requiredOption('--app <ref>', 'app')
    .requiredOption('--channel <name>', 'channel')
    .option(
      '--github-json <file>',
      "answer of GitHub's GET /repos/OWNER/REPO/releases, in pages or of one release",
    )
    .option('--latest-yml <file>', 'update file of electron-builder with absolute addresses')
    .option('--rollout <percent>', 'devices that get them (default: 100)', wholeNumber)
    .option('--force', 'publish although findings are errors');
  answering(command, connect, bring, { text: textOf, isWell });
}

function isWell({ releases }: Imported): boolean {
  return releases.every(({ outcome }) => !outcome.startsWith(STOPPED));
}

async function bring(
  client: ServiceClient,
  options: Options,
  _args: readonly string[],
  say: Say,
): Promise<Imported> {
  const { app, channel, githubJson, latestYml } = options as Readonly<Record<string, string>>;
  if ((githubJson === undefined) === (latestYml === undefined)) {
    throw new UsageError('one of --github-json and --latest-yml is required');
  }
  const rollout = options.rollout as number | undefined;
  const answer = githubJson === undefined ? undefined : readGithubReleases(githubJson);
  const found =
    answer === undefined
      ? [ofUpdateFile(String(latestYml), rollout)]
      : ofGithub(answer.releases, String(app), String(channel));
  const isForced = options.force === true;
  const to = { app: String(app), channel: String(channel), rollout: rollout ?? 100, isForced };
  const releases: Result[] = [];
  for (const each of found) {
    if ('reason' in each) releases.push({ version: each.version, outcome: each.reason });
    else releases.push(await publish(client, to, each, say));
  }
  const { fullPage } = answer ?? {};
  if (fullPage === undefined) return { releases };
  return { releases, notice: fullPageText(String(githubJson), fullPage) };
}

/** Publishes a release, unless it exists already or a dry run finds errors; prints the findings first. */
async function publish(
  client: ServiceClient,
  { isForced, ...place }: Destination,
  { version, release, passedOver }: Brought,
  say: Say,
): Promise<Result> {
  const body = { ...place, ...release };
  const more = passedOver.length === 0 ? {} : { passedOver };
  try {
    const path = 'releases?dryRun=true';
    const { findings } = (await callInTurn(client, path, body)) as DryRunAnswer<unknown>;
    const lines =
      findings.length === 0 ? [] : findingsText(findings, release.artifacts).split('\n');
    for (const line of lines) say(printableText(`${version}: ${line}`));
    const told = { version, ...more, ...(findings.length === 0 ? {} : { findings }) };
    if (findings.some(isError) && !isForced) {
      return { ...told, outcome: `${STOPPED} (${errorsText(findings)})` };
    }
    await callInTurn(client, 'releases', body);
    return { ...told, outcome: 'published' };
  } catch (error) {
    if (error instanceof Waits) {
      const { id } = error.answer.approval;
      return { version, outcome: `waits for an approval: ${id}`, ...more };
    }
    if (!(error instanceof ServiceError)) throw error;
    const isThere = error.status === CONFLICT && /already exists/.test(error.message);
    if (isThere) return { version, outcome: 'already there', ...more };
    throw new ServiceError(`${version}: ${error.message}`, error.status);
  }
}

/** Makes a call, and repeats it after the wait that the service asks for. */
async function callInTurn(client: ServiceClient, path: string, body: object): Promise<unknown> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await client.call('POST', path, body);
    } catch (error) {
      const isTooMany = error instanceof ServiceError && error.status === TOO_MANY;
      if (!isTooMany || attempt === ATTEMPTS_MAX) throw error;
      await sleep(1000 * Math.min(WAIT_SECONDS_MAX, error.retryAfterSeconds || 1));
    }
  }
}

function ofUpdateFile(path: string, rollout: number | undefined): Brought {
  const { version, entries, minimumSystemVersion, staged } = readUpdateFile(path);
  if (rollout === undefined) refuseStaged(basename(path), staged);
  const targets = classifyAssets([...entries.map(({ name }) => name), basename(path)]);
  const artifacts = entries.flatMap(({ name, url, sha512, size }, index): Artifact[] => {
    const target = targets[index];
    if (target === undefined) return [];
    if (url === undefined) throw new ServiceError(`${path}: ${name} has no absolute address`);
    return [
      {
        ...{ ...target, url },
        ...(sha512 === undefined ? {} : { sha512 }),
        ...(size === undefined ? {} : { size }),
        ...(minimumSystemVersion === undefined ? {} : { minimumSystemVersion }),
      },
    ];
  });
  if (artifacts.length === 0) throw new ServiceError(`${path} names no file for a device`);
  const passedOver = entries.flatMap(({ name }, index) => (targets[index] ? [] : [name]));
  return { version, release: { version, notes: '', artifacts }, passedOver };
}

/** Returns the releases of an answer, oldest first. */
function ofGithub(
  releases: readonly GithubRelease[],
  app: string,
  channel: string,
): readonly (Brought | PassedOver)[] {
  const timeOf = ({ published_at, created_at }: GithubRelease) => published_at ?? created_at;
  return releases
    .toSorted((left, right) => Date.parse(timeOf(left)) - Date.parse(timeOf(right)))
    .map((release) => releaseOf(release, app, channel));
}

function releaseOf(release: GithubRelease, app: string, channel: string): Brought | PassedOver {
  const tag = release.tag_name;
  if (release.draft) return { version: tag, reason: 'passed over: a draft' };
  if (release.prerelease && channel === 'stable') {
    return { version: tag, reason: 'passed over: a prerelease is not for stable' };
  }
  const version = tagVersion(tag, app, undefined);
  if (version === undefined) return { version: tag, reason: 'passed over: its tag is no version' };
  const targets = classifyAssets(release.assets.map(({ name }) => name));
  const artifacts = release.assets.flatMap((asset, index): Artifact[] => {
    const isUploaded = asset.state === 'uploaded' || asset.state === undefined;
    const target = targets[index];
    if (target === undefined || !isUploaded) return [];
    const [, sha256] = /^sha256:([0-9a-f]{64})$/i.exec(asset.digest ?? '') ?? [];
    return [
      {
        ...{ ...target, url: asset.browser_download_url },
        ...(asset.size === undefined ? {} : { size: asset.size }),
        ...(sha256 === undefined ? {} : { sha256 }),
      },
    ];
  });
  const passedOver = release.assets.flatMap(({ name }, index) => (targets[index] ? [] : [name]));
  const { text } = version;
  return {
    version: text,
    release: { version: text, notes: release.body ?? '', artifacts },
    passedOver,
  };
}

function textOf({ releases, notice }: Imported): string {
  const table = printTable(
    [
      ...fieldColumns('version', 'outcome'),
      { label: 'passed over', value: ({ passedOver }) => passedOver?.join(', ') },
    ],
    releases,
    'no releases',
  );
  return notice === undefined ? table : `${table}\n${printableText(notice)}`;
}
