// The command that brings the releases of another home: those of a GitHub repository, or what stands in an
// update file of electron-builder.

import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { z } from 'zod';
import type { Artifact } from '../contract/resource.ts';
import { classifyAssets } from '../domain/release/classify-assets.ts';
import { tagVersion } from '../domain/release/tag-version.ts';
import { answering, type Connect, type Options } from './asking.ts';
import { printTable, takesColours } from './print-table.ts';
import { type ServiceClient, ServiceError } from './service-client.ts';
import { readJson } from './text-file.ts';
import { readUpdateFile } from './update-file.ts';
import { UsageError } from './usage-error.ts';

/** Release to be brought, and the names of its files that devices cannot install. */
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

type Imported = { readonly releases: readonly Result[] };
type Result = {
  readonly version: string;
  readonly outcome: string;
  readonly passedOver?: readonly string[];
};

const CONFLICT = 409;
const TOO_MANY = 429;
/** A key may make 300 calls a minute: a wait is never longer than that. */
const WAIT_SECONDS_MAX = 60;
const ATTEMPTS_MAX = 5;

/** Adds the command. */
export function addImportCommand(program: Command, connect: Connect): void {
  const command = program
    .command('import')
    .description('publish the releases of another home, oldest first, at 100 %, with SLUICE_KEY')
    .requiredOption('--app <ref>', 'app')
    .requiredOption('--channel <name>', 'channel')
    .option('--github-json <file>', "answer of GitHub's GET /repos/OWNER/REPO/releases")
    .option('--latest-yml <file>', 'update file of electron-builder with absolute addresses');
  answering(command, connect, bring, textOf);
}

async function bring(client: ServiceClient, options: Options): Promise<Imported> {
  const { app, channel, githubJson, latestYml } = options as Readonly<Record<string, string>>;
  if ((githubJson === undefined) === (latestYml === undefined)) {
    throw new UsageError('one of --github-json and --latest-yml is required');
  }
  const found =
    githubJson === undefined
      ? [ofUpdateFile(String(latestYml))]
      : ofGithub(githubJson, String(app), String(channel));
  const releases: Result[] = [];
  for (const each of found) {
    const { version } = each;
    if ('reason' in each) {
      releases.push({ version, outcome: each.reason });
    } else {
      const outcome = await publish(client, app, channel, each);
      const { passedOver } = each;
      releases.push({ version, outcome, ...(passedOver.length === 0 ? {} : { passedOver }) });
    }
  }
  return { releases };
}

async function publish(
  client: ServiceClient,
  app: string | undefined,
  channel: string | undefined,
  { version, release }: Brought,
): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      await client.call('POST', 'releases', { app, channel, rollout: 100, ...release });
      return 'published';
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (error.status === CONFLICT && /already exists/.test(error.message)) return 'already there';
      if (error.status !== TOO_MANY || attempt === ATTEMPTS_MAX) {
        throw new ServiceError(`${version}: ${error.message}`, error.status);
      }
      await sleep(1000 * Math.min(WAIT_SECONDS_MAX, error.retryAfterSeconds || 1));
    }
  }
}

function ofUpdateFile(path: string): Brought {
  const { version, entries, minimumSystemVersion } = readUpdateFile(path);
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

const githubReleases = z.array(
  z.object({
    tag_name: z.string(),
    body: z.string().nullish(),
    draft: z.boolean(),
    prerelease: z.boolean(),
    created_at: z.string(),
    published_at: z.string().nullish(),
    assets: z.array(
      z.object({
        name: z.string(),
        state: z.string().optional(),
        size: z.int().optional(),
        browser_download_url: z.string(),
        digest: z.string().nullish(),
      }),
    ),
  }),
);

type GithubRelease = z.output<typeof githubReleases>[number];

/** Returns the releases of an answer, oldest first. */
function ofGithub(path: string, app: string, channel: string): readonly (Brought | PassedOver)[] {
  const parsed = githubReleases.safeParse(readJson(path));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new ServiceError(`${path}: ${issue?.path.join('.') || 'it'}: ${issue?.message}`);
  }
  const timeOf = ({ published_at, created_at }: GithubRelease) => published_at ?? created_at;
  return parsed.data
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
    const [, sha256] = /^sha256:([0-9a-f]{64})$/.exec(asset.digest ?? '') ?? [];
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

function textOf({ releases }: Imported): string {
  return printTable(
    [
      { label: 'version', value: ({ version }) => version },
      { label: 'outcome', value: ({ outcome }) => outcome },
      { label: 'passed over', value: ({ passedOver }) => passedOver?.join(', ') },
    ],
    releases,
    'no releases',
    takesColours(process.stdout),
  );
}
