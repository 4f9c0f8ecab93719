// Built page for browsers, with its assets. All files are read once, at the start, with their compressed
// forms: a request costs a look-up, and no path of a request ever reaches the file system. The page itself is
// compressed here, because the path of its assets is only inserted at the start.

import { readdirSync, readFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { fail } from '../../contract/failure.ts';
import type { Exchange, Handler } from './exchange.ts';
import {
  acceptsEncoding,
  conditionalReply,
  failureReply,
  type Reply,
  type TaggedBody,
  tagBody,
} from './reply.ts';

type StaticFile = {
  readonly contentType: string;
  readonly plain: TaggedBody;
  /** Compressed forms of the file, smallest first. */
  readonly encoded: readonly { readonly encoding: string; readonly body: TaggedBody }[];
};

const PAGE = 'index.html';
const ASSETS = 'assets';

/** Media types by the extensions that assets may have; any other extension is a build error. */
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

/**
 * Policy of the page: nothing inline, nothing from other origins, and no page may frame it. The browser must
 * not submit forms, because the console's own code sends them.
 */
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

/** `Cache-Control` of assets: their names contain a hash of their content, so a copy never expires. */
const FOR_EVER = 'public, max-age=31536000, immutable';

/** Handlers of the page itself, and of its assets by the path parameter `name`. */
export type StaticSite = { readonly page: Handler; readonly asset: Handler };

/**
 * Reads a built page. `assetsPath` is the path under which browsers get its assets. Throws if `folder` is
 * missing, or contains an asset of a type that `CONTENT_TYPES` does not list.
 */
export function staticSite(folder: string, assetsPath: string): StaticSite {
  const page = readPage(join(folder, PAGE), assetsPath);
  const assets = readAssets(join(folder, ASSETS));
  return {
    page: (exchange) => serve(exchange, page, 'no-cache'),
    asset: (exchange) => {
      const asset = assets.get(exchange.params.get('name') ?? '');
      return asset === undefined
        ? failureReply(fail('notFound'))
        : serve(exchange, asset, FOR_EVER);
    },
  };
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

function readAssets(folder: string): ReadonlyMap<string, StaticFile> {
  const names = readdirSync(folder).filter((name) => !isEncoded(name));
  return new Map(names.map((name) => [name, readStaticFile(join(folder, name))]));
}

function readPage(path: string, assetsPath: string): StaticFile {
  const text = readFileSync(path, 'utf8').replaceAll(`"./${ASSETS}/`, () => `"${assetsPath}/`);
  const bytes = Buffer.from(text);
  return {
    contentType: 'text/html; charset=utf-8',
    plain: tagBody(bytes),
    encoded: [
      { encoding: 'br', body: tagBody(brotliCompressSync(bytes)) },
      { encoding: 'gzip', body: tagBody(gzipSync(bytes)) },
    ],
  };
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
