// Reads electron-builder's update files (`latest.yml`, `latest-mac.yml`, `latest-linux-arm64.yml`) as builds
// write them; electron-updater learns from them which version there is.

import { FAILSAFE_SCHEMA, load } from 'js-yaml';
import { parseUrl } from '../../contract/address.ts';
import { ServiceError } from './service-client.ts';
import { readText } from './text-file.ts';
import { UsageError } from './usage-error.ts';

export type UpdateFile = {
  readonly version: string;
  readonly entries: readonly UpdateFileEntry[];
  readonly minimumSystemVersion: string | undefined;
  /** Percentage of the devices that the file offers the version to, as written; undefined for all. */
  readonly staged: string | undefined;
};

/** File that an update file lists. */
type UpdateFileEntry = {
  readonly name: string;
  /** Address, if it is absolute. */
  readonly url: string | undefined;
  /** SHA-512 in base64. */
  readonly sha512: string | undefined;
  readonly size: number | undefined;
};

type Fields = Readonly<Record<string, unknown>>;

/** Reads an update file; throws a `ServiceError` if it is none. */
export function readUpdateFile(path: string): UpdateFile {
  const content = fieldsOf(parse(path));
  const version = content?.version;
  if (content === undefined || typeof version !== 'string') {
    throw new ServiceError(`${path} is no update file: it has no version`);
  }
  // Old update files have no list, and name one file at the top level.
  const listed = Array.isArray(content.files) ? content.files : [{ ...content, url: content.path }];
  const entries = listed.map((each) => entryOf(fieldsOf(each) ?? {}));
  return {
    version,
    entries: entries.filter((entry) => entry !== undefined),
    minimumSystemVersion: dottedOf(content.minimumSystemVersion),
    staged: percentageOf(content.stagingPercentage),
  };
}

function parse(path: string): unknown {
  const text = readText(path);
  try {
    // Reads every value as text: as a number, the system version 10.10 would become 10.1.
    return load(text, { schema: FAILSAFE_SCHEMA });
  } catch (error) {
    const [reason = ''] = (error as Error).message.split('\n');
    throw new ServiceError(`cannot read ${path}: ${reason}`);
  }
}

function entryOf({ url, sha512, size }: Fields): UpdateFileEntry | undefined {
  if (typeof url !== 'string') return undefined;
  const absolute = parseUrl(url);
  const path = absolute?.pathname ?? url;
  return {
    name: decoded(path.slice(path.lastIndexOf('/') + 1)),
    url: absolute === undefined ? undefined : url,
    sha512: typeof sha512 === 'string' ? sha512 : undefined,
    size: typeof size === 'string' && /^\d+$/.test(size) ? Number(size) : undefined,
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns a text of numbers with dots between them; undefined for every other value. */
export function dottedOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^\d+(?:\.\d+)*$/.test(value) ? value : undefined;
}

/** Returns a percentage below 100; undefined if there is none, or the file is for every device. */
function percentageOf(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  return Number(value) >= 100 ? undefined : String(value);
}

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null ? (value as Fields) : undefined;
}

/** Throws if an update file is for a part of the devices: then the caller must say for how many. */
export function refuseStaged(name: string, staged: string | undefined): void {
  if (staged === undefined) return;
  throw new UsageError(
    `--rollout is missing: ${name} offers the version to ${staged} % of devices (stagingPercentage)`,
  );
}
