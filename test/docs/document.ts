// Reads the documents of the repository for the tests of this folder.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export type Document = {
  /** Path from the root of the repository, with `/`. */
  readonly path: string;
  readonly text: string;
};

const ROOT = new URL('../../', import.meta.url);
/** The path of the root itself. */
export const repositoryPath = fileURLToPath(ROOT);

/** Every document: those at the root and all below docs/. */
export function listDocuments(): Document[] {
  const below = readdirSync(new URL('docs', ROOT), { recursive: true, encoding: 'utf8' });
  const paths = [
    ...readdirSync(ROOT, 'utf8'),
    ...below.map((name) => `docs/${name.replaceAll('\\', '/')}`),
  ];
  return paths.filter((path) => path.endsWith('.md')).map(readDocument);
}

/** The document at a path from the root. */
export function readDocument(path: string): Document {
  return { path, text: readFileSync(new URL(path, ROOT), 'utf8') };
}

/** Every file below folders of the root. */
export function filesBelow(...folders: readonly string[]): Document[] {
  return folders.flatMap((folder) => {
    const entries = readdirSync(new URL(folder, ROOT), { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    return files.map(({ parentPath, name }) =>
      readDocument(relative(repositoryPath, join(parentPath, name)).replaceAll('\\', '/')),
    );
  });
}

/** Whether a file or folder exists at a path from the root. */
export function isInRepository(path: string): boolean {
  return existsSync(new URL(path, ROOT));
}

/** The text without its fenced and indented code. */
export function proseOf({ text }: Document): string {
  return text.replace(/^ *```.*?^ *```$/gms, '').replace(/^ {4}.*$/gm, '');
}

/** The part below a heading of the second level, up to the next one. Throws when there is none. */
export function sectionOf({ path, text }: Document, title: string): string {
  const start = text.indexOf(`\n## ${title}\n`);
  if (start === -1) throw new Error(`${path} has no section "${title}"`);
  const end = text.indexOf('\n## ', start + 1);
  return text.slice(start, end === -1 ? undefined : end);
}

/** The cells of every table row in a text, without heading rows and rulers. */
export function tableRows(text: string): string[][] {
  const lines = text.split('\n');
  return lines
    .filter((line, index) => line.startsWith('| ') && !/^\|[-|]+$/.test(lines[index + 1] ?? ''))
    .map((line) =>
      line
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim()),
    );
}

/** Returns the anchors that a code host makes of the headings. */
export function anchorsOf(document: Document): ReadonlySet<string> {
  const titles = [...proseOf(document).matchAll(/^#{1,6} (.*)$/gm)].map(([, title = '']) => title);
  return new Set(
    titles.map((title) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

/** Returns the quotations in backticks of a text. */
export function quotedIn(text: string): string[] {
  return [...text.matchAll(/`([^`\n]+)`/g)].map((match) => match[1] as string);
}
