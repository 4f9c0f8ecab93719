// Form of the files that a node keeps on its disk: a line with the format and the checksum of what follows,
// then the content. A file that was cut off, damaged or changed by hand is recognised and not believed.

import { createHash } from 'node:crypto';

/** Returns the text of a file with this content. */
export function sealFile(format: number, content: string): string {
  return `${JSON.stringify({ format, sha256: checksumOf(content) })}\n${content}`;
}

/**
 * Returns the content of a file; undefined when the file has another format. Throws when the file is damaged:
 * its first line is no head, or its content is not the one that was written.
 */
export function openSealedFile(format: number, text: string): string | undefined {
  const end = text.indexOf('\n');
  const head = readHead(end === -1 ? text : text.slice(0, end));
  if (head.format !== format) return undefined;
  const content = text.slice(end + 1);
  if (end === -1 || head.sha256 !== checksumOf(content)) {
    throw new Error('the content does not have the checksum that the file names');
  }
  return content;
}

type Head = { readonly format?: unknown; readonly sha256?: unknown };

function readHead(line: string): Head {
  const head: unknown = JSON.parse(line);
  if (typeof head !== 'object' || head === null || !('format' in head)) {
    throw new Error('the file names no format');
  }
  return head;
}

function checksumOf(content: string): string {
  return createHash('sha256').update(content).digest('hex');
}
