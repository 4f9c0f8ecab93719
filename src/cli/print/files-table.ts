// Table of a release's files, for people.

import { basename } from 'node:path';
import type { Artifact } from '../../contract/resource.ts';
import { artifactFormat, decodedFileName } from '../../domain/decision/artifact/artifact-format.ts';
import { type Column, printTable } from './print-answer.ts';

/** Row of the table: the fields of an artifact that people look at. */
export type FileRow = Pick<Artifact, 'url' | 'platform' | 'arch' | 'format' | 'size'> & {
  /** Path on this machine, where the file was published from here. */
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

/** Returns the name of a file, and that in its address where it is another one. */
function nameOf({ file, url = '' }: FileRow): string {
  const inAddress = decodedFileName(url);
  const name = file === undefined ? inAddress : basename(file);
  return inAddress === '' || inAddress === name ? name : `${name} (at ${inAddress})`;
}
