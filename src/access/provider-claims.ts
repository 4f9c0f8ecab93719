// Claims of an OpenID Connect provider, in the forms that providers use. A claim in an unknown form is
// distinguished from a missing claim: only a missing one means that a person has nothing.

export type Claims = Readonly<Record<string, unknown>>;

/** Claim that was found. If a value on the way is not an object, it is this value, and `path` ends at it. */
export type FoundClaim = { readonly path: string; readonly value: unknown };

/** Maximum numbers of keys and elements that `formOf` describes. */
const KEYS_SHOWN_MAX = 5;
const ELEMENTS_READ_MAX = 100;

/**
 * Finds a claim in the answers of a provider, in their order: by its exact name, else by its name as a path
 * with dots, whose parts may contain dots themselves. A claim that is null counts as missing.
 */
export function findClaim(name: string, answers: readonly Claims[]): FoundClaim | undefined {
  const exact = answers.find((answer) => isThere(answer, name));
  if (exact !== undefined) return { path: name, value: exact[name] };
  for (const answer of answers) {
    const found = follow(answer, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function follow(answer: Claims, path: string): FoundClaim | undefined {
  let value: unknown = answer;
  let rest = path;
  while (isObject(value)) {
    const key = longestKey(value, rest);
    if (key === undefined) return undefined;
    value = value[key];
    if (key === rest) return { path, value };
    rest = rest.slice(key.length + 1);
  }
  return { path: path.slice(0, -rest.length - 1), value };
}

/** Returns the longest prefix of a path, up to one of its dots or its end, that is a key of the object. */
function longestKey(object: Claims, path: string): string | undefined {
  let key = path;
  while (!isThere(object, key)) {
    const dot = key.lastIndexOf('.');
    if (dot === -1) return undefined;
    key = key.slice(0, dot);
  }
  return key;
}

/** Returns whether the provider keeps a claim elsewhere, because it is too large for its answers. */
export function isElsewhere(name: string, answers: readonly Claims[]): boolean {
  return answers.some(({ _claim_names: names }) => {
    return isObject(names) && longestKey(names, name) !== undefined;
  });
}

/**
 * Reads the groups that a claim names. Forms: a text of one group, of several with commas, or with a JSON
 * list; a list of texts, or of objects with a name; an object whose keys are the groups, each with an object
 * as value. Returns undefined for any other form. Never splits a text that is one of the `known` groups.
 */
export function readGroups(
  claim: unknown,
  known: ReadonlySet<string>,
): ReadonlySet<string> | undefined {
  const groups = typeof claim === 'string' ? readText(claim, known) : readElements(claim);
  return groups && new Set(groups);
}

function readText(text: string, known: ReadonlySet<string>): readonly string[] | undefined {
  if (known.has(text)) return [text];
  if (isLikeJson(text)) return readList(parseJson(text));
  const parts = text.split(',').map((part) => part.trim());
  return parts.filter((part) => part !== '');
}

function readElements(claim: unknown): readonly string[] | undefined {
  if (!isObject(claim)) return readList(claim);
  return Object.values(claim).every(isObject) ? Object.keys(claim) : undefined;
}

function readList(list: unknown): readonly string[] | undefined {
  if (!Array.isArray(list)) return undefined;
  const names = list.map((element: unknown) => (isObject(element) ? element.name : element));
  return names.every((name) => typeof name === 'string') ? names : undefined;
}

/**
 * Returns why an address may be another person's; undefined if the provider calls it verified, as a boolean
 * or as text.
 */
export function doubtAbout(isVerified: unknown): string | undefined {
  if (isVerified === true || isVerified === 'true') return undefined;
  if (isVerified === false || isVerified === 'false') return 'email_verified is false';
  if (isVerified === undefined || isVerified === null) return 'email_verified is missing';
  return `email_verified is ${formOf(isVerified)}`;
}

/** Describes the form of a claim, without its values: `an object with 1 keys, such as roles (a list)`. */
export function formOf(claim: unknown): string {
  if (Array.isArray(claim)) {
    if (claim.length === 0) return 'an empty list';
    const kinds = claim.slice(0, ELEMENTS_READ_MAX).map((element: unknown) => kindOf(element));
    return `a list with ${[...new Set(kinds)].join(', ')}`;
  }
  if (!isObject(claim)) return kindOf(claim);
  const keys = Object.keys(claim);
  const shown = keys
    .slice(0, KEYS_SHOWN_MAX)
    .map((key) => `${/^[\w.-]{1,40}$/.test(key) ? key : '…'} (${kindOf(claim[key])})`);
  return `an object with ${keys.length} keys, such as ${shown.join(', ')}`;
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (isObject(value)) return 'an object';
  if (typeof value !== 'string') return `a ${typeof value}`;
  return isLikeJson(value) ? 'a text like JSON' : 'a text';
}

function isLikeJson(text: string): boolean {
  return /^\s*[[{]/.test(text);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isThere(object: Claims, key: string): boolean {
  return Object.hasOwn(object, key) && object[key] !== undefined && object[key] !== null;
}

function isObject(value: unknown): value is Claims {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
