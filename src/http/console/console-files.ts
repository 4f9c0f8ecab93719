// Serves the console's page and its assets. Every byte is read once, at the start, compressed forms
// included: a request costs a look-up, and no path of a request ever reaches the file system.

import { readdirSync, readFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { fail } from '../../contract/failure.ts';
import { conditionalReply, type TaggedBody, tagBody } from '../conditional.ts';
import type { Exchange } from '../exchange.ts';
import { failureReply, type Reply } from '../reply.ts';
import type { Route } from '../router.ts';
import { acceptsEncoding } from './accepts-encoding.ts';

type StaticFile = {
  readonly contentType: string;
  readonly plain: TaggedBody;
  /** The same, compressed: smallest first. */
  readonly encoded: readonly { readonly encoding: string; readonly body: TaggedBody }[];
};

const PAGE = 'index.html';
const ASSETS = 'assets';
const METHODS = ['GET', 'POST', 'PATCH', 'DELETE'] as const;

/** What a bundle may consist of; anything else in it is a fault of the build. */
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

/** Nothing inline, nothing from elsewhere, framed by nobody; forms are sent by the console's own code. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const GUARDS = [
  ['Content-Security-Policy', CONTENT_SECURITY_POLICY],
  ['X-Content-Type-Options', 'nosniff'],
  ['X-Frame-Options', 'DENY'],
  ['Referrer-Policy', 'no-referrer'],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
  ['Permissions-Policy', 'camera=(), geolocation=(), microphone=()'],
] as const;

/** Their names carry a hash of what is in them, so a copy is good for ever. */
const FOR_EVER = 'public, max-age=31536000, immutable';

/**
 * The routes of `/console`: the assets by their names, and the one page at every other address, because
 * which view an address means is decided in the browser. `folder` is the built console; throws when it is
 * not there, or holds what no browser is meant to get.
 */
export function consoleFiles(folder: string): readonly Route[] {
  const page = readStaticFile(join(folder, PAGE));
  const assets = readAssets(join(folder, ASSETS));
  const servePage = (exchange: Exchange) => serve(exchange, page, 'no-cache');
  const serveAsset = (exchange: Exchange): Reply => {
    const asset = assets.get(exchange.params.get('name') ?? '');
    return asset === undefined ? notFound() : serve(exchange, asset, FOR_EVER);
  };
  return [
    { method: 'GET', path: '/console', handler: servePage },
    { method: 'GET', path: '/console/*', handler: servePage },
    { method: 'GET', path: '/console/assets/:name', handler: serveAsset },
    { method: 'GET', path: '/console/assets/*', handler: notFound },
    // What the API does not know is unknown in its own words, not a page.
    ...METHODS.map((method) => ({ method, path: '/console/api/*', handler: notFound })),
  ];
}

function serve({ headers }: Exchange, file: StaticFile, cacheControl: string): Reply {
  const accepted = headers.get('accept-encoding');
  const found = file.encoded.find(({ encoding }) => acceptsEncoding(accepted, encoding));
  const about = [...GUARDS, ['Cache-Control', cacheControl], ['Vary', 'Accept-Encoding']] as const;
  const reply = conditionalReply(
    headers.get('if-none-match'),
    found?.body ?? file.plain,
    file.contentType,
    about,
  );
  if (found === undefined || reply.status !== 200) return reply;
  return { ...reply, headers: [...(reply.headers ?? []), ['Content-Encoding', found.encoding]] };
}

function notFound(): Reply {
  return failureReply(fail('notFound'));
}

function readAssets(folder: string): ReadonlyMap<string, StaticFile> {
  const names = readdirSync(folder).filter((name) => !isEncoded(name));
  return new Map(names.map((name) => [name, readStaticFile(join(folder, name))]));
}

function readStaticFile(path: string): StaticFile {
  const contentType = CONTENT_TYPES[extname(path)];
  if (contentType === undefined) throw new Error(`${basename(path)} is of no type that is served`);
  return {
    contentType,
    plain: tagBody(readFileSync(path)),
    encoded: ENCODINGS.map(([encoding, ending]) => ({
      encoding,
      body: tagBody(readFileSync(path + ending)),
    })),
  };
}

function isEncoded(name: string): boolean {
  return ENCODINGS.some(([, ending]) => name.endsWith(ending));
}
