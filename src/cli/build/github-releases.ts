// Reads saved answers of GitHub about releases: pages of its API in the forms that `gh api` and `curl` write,
// one release, and the output of `gh release view --json`. Refuses anything else, with advice on what to do.

import { z } from 'zod';
import { ServiceError } from '../call/service-client.ts';
import { readText } from '../call/text-file.ts';

/** `fullPage`: number of releases if the file is one full page, which may be the first of several. */
export type GithubAnswer = {
  readonly releases: readonly GithubRelease[];
  readonly fullPage: number | undefined;
};

const githubRelease = z.object({
  tag_name: z.string(),
  body: z.string().nullish(),
  draft: z.boolean(),
  prerelease: z.boolean(),
  created_at: z.string(),
  published_at: z.string().nullish(),
  assets: z.array(
    z.object({
      name: z.string(),
      state: z.string().optional(),
      size: z.int().optional(),
      browser_download_url: z.string(),
      digest: z.string().nullish(),
    }),
  ),
});

export type GithubRelease = z.output<typeof githubRelease>;

/** Release with the field names of `gh release view --json`. */
const viewedRelease = z
  .object({
    tagName: z.string(),
    body: z.string().nullish(),
    isDraft: z.boolean(),
    isPrerelease: z.boolean(),
    createdAt: z.string(),
    publishedAt: z.string().nullish(),
    assets: z.array(
      z.object({
        name: z.string(),
        state: z.string().optional(),
        size: z.int().optional(),
        url: z.string(),
        digest: z.string().nullish(),
      }),
    ),
  })
  .transform(
    ({ tagName, isDraft, isPrerelease, createdAt, publishedAt, body, assets }): GithubRelease => ({
      ...{ tag_name: tagName, body, draft: isDraft, prerelease: isPrerelease },
      ...{ created_at: createdAt, published_at: publishedAt },
      assets: assets.map(({ url, ...asset }) => ({ ...asset, browser_download_url: url })),
    }),
  );

/** Command whose output has all releases with their files. */
const CALL = 'gh api --paginate --slurp "repos/OWNER/REPO/releases?per_page=100"';
/** Sizes of a full page: GitHub's default, and its maximum. */
const PAGE_SIZES = [30, 100];

/** Reads a saved answer; throws a `ServiceError` if the file is none. */
export function readGithubReleases(path: string): GithubAnswer {
  const documents = documentsOf(path, readText(path));
  const entries = documents.flat(2);
  const releases = entries.map((entry, index) => releaseOf(path, entry, index));
  // Several lists, or lists in a list, are a complete set of pages.
  const isOnePage = documents.length === 1 || !documents.some(Array.isArray);
  const isNested = documents.flat().some(Array.isArray);
  const isFull = PAGE_SIZES.includes(releases.length) && isOnePage && !isNested;
  return { releases, fullPage: isFull ? releases.length : undefined };
}

/** Returns the advice for a page that may be the first of several. */
export function fullPageText(path: string, count: number): string {
  return `${path} has ${count} releases, which is a full page: if there are more, save ${CALL}`;
}

function releaseOf(path: string, entry: unknown, index: number): GithubRelease {
  if (typeof entry !== 'object' || entry === null) throw noList(path);
  const isViewed = 'tagName' in entry;
  if (!isViewed && !('tag_name' in entry)) {
    throw 'message' in entry ? answered(path, String(entry.message)) : noList(path);
  }
  if (isViewed && !('assets' in entry)) {
    throw new ServiceError(`${path} tells no files, as gh release list does not: save ${CALL}`);
  }
  const parsed = (isViewed ? viewedRelease : githubRelease).safeParse(entry);
  if (parsed.success) return parsed.data;
  throw new ServiceError(
    `${path} is no answer of GitHub's releases: ${faultOf(parsed.error, index)}`,
  );
}

function noList(path: string): ServiceError {
  const words = "as GitHub's GET /repos/OWNER/REPO/releases answers it";
  return new ServiceError(`${path} is no list of releases, ${words}: save ${CALL}`);
}

const WAYS_OUT: readonly (readonly [RegExp, string])[] = [
  [/^not found/i, 'OWNER/REPO is another one, or is private and asks for a token'],
  [/rate limit/i, 'call it with a token (gh auth login), or in an hour'],
  [/credentials|authenticat/i, 'its token is wrong or has expired (gh auth login)'],
];
const MESSAGE_LENGTH_MAX = 200;

/** Returns the error for an answer that GitHub refused. */
function answered(path: string, message: string): ServiceError {
  const way = WAYS_OUT.find(([form]) => form.test(message))?.[1];
  const said = `GitHub answered "${message.slice(0, MESSAGE_LENGTH_MAX)}"`;
  return new ServiceError(`${path} has no releases: ${said}${way === undefined ? '' : `: ${way}`}`);
}

/** Describes what differs from GitHub's form, and where: `[3].assets[0].size`. */
function faultOf({ issues: [issue] }: z.ZodError, index: number): string {
  const place = [index, ...(issue?.path ?? [])]
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('');
  const expected = issue?.code === 'invalid_type' ? KINDS[issue.expected] : undefined;
  return `${place} ${expected === undefined ? 'is not as GitHub writes it' : `must be ${expected}`}`;
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a whole number',
  array: 'a list',
  object: 'an object',
};

/** Parses concatenated JSON documents, or one on each line. */
function documentsOf(path: string, text: string): readonly unknown[] {
  if (text.trim() === '') throw new ServiceError(`${path} is empty: save ${CALL}`);
  if (/^\s*</.test(text)) throw new ServiceError(`${path} is a web page: save ${CALL}`);
  if (/^HTTP\/\d/.test(text)) {
    throw new ServiceError(`${path} begins with the headers of HTTP: leave out --include (-i)`);
  }
  const { texts, isCut } = textsOf(text);
  if (isCut) throw new ServiceError(`cannot read ${path}: it ends in the middle, save it again`);
  return texts.map((each) => {
    try {
      return JSON.parse(each) as unknown;
    } catch (error) {
      throw new ServiceError(`cannot read ${path}: ${(error as Error).message}`);
    }
  });
}

/** Returns the texts of the concatenated documents, and whether the last one is incomplete. */
function textsOf(text: string): { readonly texts: readonly string[]; readonly isCut: boolean } {
  const texts: string[] = [];
  let [begin, depth, isQuoted] = [0, 0, false];
  for (let place = 0; place < text.length; place++) {
    const char = text[place];
    if (isQuoted) {
      if (char === '\\') place += 1;
      else if (char === '"') isQuoted = false;
    } else if (char === '"') isQuoted = true;
    else if (char === '[' || char === '{') depth += 1;
    else if (char === ']' || char === '}') {
      depth -= 1;
      if (depth !== 0) continue;
      texts.push(text.slice(begin, place + 1));
      begin = place + 1;
    }
  }
  const rest = text.slice(begin);
  return { texts: rest.trim() === '' ? texts : [...texts, rest], isCut: isQuoted || depth > 0 };
}
