// What a finding says to people: the same words on the command line and in the answer to a webhook.

import type { Finding } from '../contract/dry-run.ts';
import type { Artifact } from '../contract/resource.ts';
import { decodedFileName } from '../domain/decision/artifact/artifact-format.ts';

/** Returns the text of a finding, with the name of the file that it is about in place of its number. */
export function findingText(
  { path, message }: Finding,
  artifacts: readonly Pick<Artifact, 'url'>[],
): string {
  const [, index = '', field] = path.split('.');
  const url = artifacts[Number(index)]?.url;
  const place =
    url === undefined || field === undefined ? path : `${decodedFileName(url)}: ${field}`;
  return `${place}: ${message}`;
}
