// Text for people of a release with its files and how it is served.

import { basename } from 'node:path';
import type { Artifact, Release, Targeting } from '../../contract/resource.ts';
import type { Health } from '../../contract/rollout-plan.ts';
import type { ReleaseStanding } from '../../contract/standing.ts';
import { artifactFormat, decodedFileName } from '../../domain/decision/artifact/artifact-format.ts';
import { countWords } from '../../words/name.ts';
import { healthText } from './plan-text.ts';
import { type Column, printAnswer, printableText, printTable } from './print-answer.ts';

/** Maximum number of lines of the notes that are shown; `--json` has all. */
const NOTES_LINES_MAX = 20;

/** A release, the devices that it is offered to, and how many run it. */
export type ShownRelease = {
  readonly release: Release;
  readonly targets: Targeting | null;
  readonly offered: boolean;
  readonly offeredAt: string | null;
  readonly devices: number;
  readonly standing: ReleaseStanding;
  readonly health: Health;
};

/** Returns the text of a release: what it is, its files, its notes and its health. */
export function releaseText(shown: ShownRelease): string {
  const { release, targets, offered, offeredAt, devices, standing, health } = shown;
  const { id, app, channel, version, status, rolloutPct, createdAt, artifacts, notes } = release;
  const head = printAnswer({
    release: `${app} ${version} on ${channel}`,
    ...{ id, status, state: `${stateText(standing)}${sinceText(standing)}` },
    ...{ rollout: `${rolloutPct} %`, targets: targetsText(targets) },
    ...{ published: createdAt, offered: offered ? `since ${offeredAt}` : 'to no device' },
    'runs on': countWords(devices, 'device'),
  });
  const parts = [head, publishedFilesText(artifacts), notesText(notes), healthText(health)];
  return parts.join('\n\n');
}

/** Describes which devices are offered a release: `serving on linux; others are offered 3.1.0`. */
export function stateText({ state, on, supersededBy, wayDownFor }: ReleaseStanding): string {
  const where = on.length === 0 ? '' : ` on ${on.join(', ')}; others are offered ${supersededBy}`;
  const by = state === 'superseded' ? ` by ${supersededBy}` : '';
  const down = wayDownFor.length === 0 ? '' : `; the way down from ${wayDownFor.join(', ')}`;
  return `${state}${where}${by}${down}`;
}

function sinceText({ change }: ReleaseStanding): string {
  return change === null ? '' : ` since ${change.at} by ${change.by}`;
}

/** Describes the devices that a release is for. */
export function targetsText(targets: Targeting | null): string {
  if (targets === null) return 'every device';
  const { matchLabels, matchExpressions } = targets;
  const conditions = [
    ...Object.entries(matchLabels).map(([key, values]) => `${key} In ${values.join(', ')}`),
    ...matchExpressions.map(({ key, operator, values }) =>
      `${key} ${operator} ${values.join(', ')}`.trim(),
    ),
  ];
  return conditions.join('; ') || 'every device';
}

function notesText(notes: string): string {
  const lines = notes.trimEnd().split(/\r?\n/);
  if (lines.join('') === '') return 'notes: none';
  const shown = lines.slice(0, NOTES_LINES_MAX).map((line) => `  ${printableText(line)}`.trimEnd());
  const left = lines.length - shown.length;
  return ['notes:', ...shown, ...(left > 0 ? [`  (${left} more lines: --json has all)`] : [])].join(
    '\n',
  );
}

// Tables of the files of releases.

/** Row of the table: the fields of an artifact that people look at. */
export type FileRow = Pick<Artifact, 'url' | 'platform' | 'arch' | 'format' | 'size'> & {
  /** Path on this machine, if the file was published from here. */
  readonly file?: string;
  readonly signed: boolean;
};

const COLUMNS: readonly Column<FileRow>[] = [
  { label: 'file', value: nameOf },
  { label: 'platform', value: ({ platform }) => platform },
  { label: 'arch', value: ({ arch }) => arch },
  { label: 'format', value: ({ format }) => format },
  { label: 'signed', value: ({ signed }) => (signed ? 'yes' : 'no') },
  { label: 'size', value: ({ size }) => size },
];
const ADDRESS: Column<FileRow> = { label: 'address', value: ({ url }) => url };

/** Returns the row of an artifact. */
export function fileRow(artifact: Artifact): FileRow {
  const { platform, arch, url, size, signature } = artifact;
  const format = artifactFormat(artifact);
  return {
    ...{ platform, signed: signature !== undefined },
    ...(url === undefined ? {} : { url }),
    ...(arch === undefined ? {} : { arch }),
    ...(format === undefined ? {} : { format }),
    ...(size === undefined ? {} : { size }),
  };
}

/** Returns the table of files that are published from this machine. */
export function filesText(files: readonly FileRow[]): string {
  return printTable(COLUMNS, files, 'no files');
}

/** Returns the table of files that were published, with their addresses. */
export function publishedFilesText(artifacts: readonly Artifact[]): string {
  const columns = [...COLUMNS, ADDRESS];
  return printTable(columns, artifacts.map(fileRow), 'no files');
}

/** Returns the name of a file, and the name in its address if it differs. */
function nameOf({ file, url = '' }: FileRow): string {
  const inAddress = decodedFileName(url);
  const name = file === undefined ? inAddress : basename(file);
  return inAddress === '' || inAddress === name ? name : `${name} (at ${inAddress})`;
}
