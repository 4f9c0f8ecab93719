// Page that a browser gets in place of a download: why there is no file, and which files exist. It contains
// only escaped text and links, so that no text of a publisher or a stranger can do harm.

import type { Failure } from '../../contract/failure.ts';
import { platformName } from '../../contract/text.ts';
import type { Download } from '../../domain/decision/download.ts';
import { escapeHtml } from '../transport/escape-html.ts';
import { failureReply, type HeaderPair, type Reply } from '../transport/reply.ts';

const TYPE = 'text/html; charset=utf-8';
const GUARDS: readonly HeaderPair[] = [
  ['Content-Security-Policy', "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"],
  ['X-Content-Type-Options', 'nosniff'],
  ['Referrer-Policy', 'no-referrer'],
];

/** Requested download: parameters of the path, and the platform if it is known. */
export type DownloadAsked = {
  readonly app: string;
  readonly channel: string;
  readonly platform: string | undefined;
  /** Relative URL from the requested address to the channel's, with a trailing slash. */
  readonly base: string;
};

/** Returns whether the header `Accept` names HTML, as browsers do when a person opens an address. */
export function acceptsHtml(accept = ''): boolean {
  return /(?:^|,)\s*text\/html\s*(?:[;,]|$)/i.test(accept);
}

/** Builds the page for a refusal, with the channel's files that everybody may download. */
export function downloadPage(
  failure: Failure,
  { app, channel, platform, base }: DownloadAsked,
  downloads: readonly Download[],
): Reply {
  const { status, headers } = failureReply(failure);
  const title = `${app} ${channel}`;
  const items = downloads.map((each) => {
    const address = escapeHtml(base + pathOf(each));
    return `<li><a href="${address}">${escapeHtml(nameOf(each))}</a></li>`;
  });
  const list = items.length === 0 ? [] : ['<p>These are the files:</p>', '<ul>', ...items, '</ul>'];
  const body = [
    '<!doctype html>',
    '<html lang="en">',
    `<head><meta charset="utf-8"><title>${escapeHtml(title)}</title></head>`,
    '<body>',
    `<h1>${escapeHtml(title)}</h1>`,
    `<p>${escapeHtml(sentenceOf(failure, platform, items.length > 0))}</p>`,
    ...list,
    '</body>',
    '</html>\n',
  ].join('\n');
  return { status, contentType: TYPE, headers: [...(headers ?? []), ...GUARDS], body };
}

function sentenceOf(
  { failure, message }: Failure,
  platform: string | undefined,
  hasFiles: boolean,
): string {
  if (failure === 'unavailable') {
    return 'The download cannot be found at the moment. Try again in a minute.';
  }
  if (failure !== 'noDownload') return `There is no download at this address: ${message}.`;
  if (!hasFiles) return 'There is no file to download yet.';
  if (platform === undefined) return 'Your browser does not tell what your device is.';
  return `There is no file for ${platformName(platform)} that is asked for.`;
}

function pathOf({ platform, arch, format }: Download): string {
  const path = [platform, ...(arch === undefined ? [] : [arch])].map(encodeURIComponent).join('/');
  return format === undefined ? path : `${path}?format=${encodeURIComponent(format)}`;
}

function nameOf({ platform, arch, format }: Download): string {
  const name = platformName(platform);
  return [name, arch, format].filter((part) => part !== undefined).join(', ');
}
