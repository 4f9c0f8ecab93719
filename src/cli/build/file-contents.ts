// Contents of a build's files: each file is read once, for its size and its checksums.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Artifact } from '../../contract/resource.ts';
import { ServiceError } from '../call/service-client.ts';
import type { BuildFile } from './build-files.ts';

export type Content = Pick<Artifact, 'size' | 'sha512' | 'sha256' | 'sha1'>;

/** Called with each file's progress: the bytes read so far, and the file's size. */
type Progress = (name: string, read: number, size: number) => void;

export class FileContents {
  private readonly read = new Map<BuildFile, Promise<Content>>();

  constructor(private readonly onProgress: Progress) {}

  /** Reads a file at the first call for it; rejects with `ServiceError` when it cannot be read. */
  of(file: BuildFile): Promise<Content> {
    const content = this.read.get(file) ?? readContent(file, this.onProgress);
    this.read.set(file, content);
    return content;
  }
}

async function readContent(
  { path, name, size: expected }: BuildFile,
  onProgress: Progress,
): Promise<Content> {
  const sha512 = createHash('sha512');
  const sha256 = createHash('sha256');
  // Squirrel, Velopack and DDI clients ask for it.
  const sha1 = createHash('sha1');
  let size = 0;
  try {
    for await (const part of createReadStream(path)) {
      const bytes = part as Buffer;
      for (const hash of [sha512, sha256, sha1]) hash.update(bytes);
      size += bytes.length;
      onProgress(name, size, expected);
    }
  } catch (error) {
    throw new ServiceError(`cannot read ${path}: ${(error as Error).message}`);
  }
  return {
    size,
    sha512: sha512.digest('base64'),
    sha256: sha256.digest('hex'),
    sha1: sha1.digest('hex'),
  };
}
