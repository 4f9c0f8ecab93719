// Bodies that clients of hawkBit's Direct Device Integration API send: what a device tells of itself
// (`configData`), and how an installation went (`feedback`). Neither is ever refused: a client whose report
// is refused repeats it and does nothing else, or installs the same file again. SWUpdate pastes log lines
// into its reports as they are, so that one of a failure with a line break or a quotation mark is no JSON. A
// scan reads such a report, in time linear in its length.

import { LIMIT } from '../contract/limit.ts';
import { isStorable, storableText } from '../contract/text.ts';
import { refuseLabel } from '../domain/fleet/labels.ts';

/** What a body of `configData` tells. */
export type DeviceAttributes = {
  /** At most 16, each a valid label. */
  readonly attributes: ReadonlyMap<string, string>;
  /** Whether the body is JSON with an object `data`; else it counts as an empty one. */
  readonly isReadable: boolean;
};

/** What a body of `feedback` tells. */
export type Feedback = {
  /** Undefined if the body has none, and so tells nothing. */
  readonly execution: string | undefined;
  /** Text of the result, as it is written; undefined if the body has none. */
  readonly finished: string | undefined;
  readonly result: 'success' | 'failure' | 'progress';
  /** Why it failed, in the words of the device; undefined if it did not fail, or does not say why. */
  readonly reason: string | undefined;
};

/**
 * Reads what a device tells of itself. Numbers and truth values become text, as JavaScript writes them: the
 * number 1.10 is `1.1`, so a version has to be a text. What is no label is left out. Of more than 16
 * attributes those of `firstKeys` are kept first, then the others in the order of their names.
 */
export function readAttributes(body: string, firstKeys: readonly string[]): DeviceAttributes {
  const data = property(parseJson(body), 'data');
  if (!isObject(data)) return { attributes: new Map(), isReadable: false };
  const first = new Set(firstKeys);
  const attributes = new Map<string, string>();
  for (const key of first) keep(attributes, key, property(data, key));
  const names: string[] = [];
  for (const key of Object.keys(data)) {
    if (!first.has(key) && labelValue(key, property(data, key)) !== undefined) {
      insertLowest(names, key, LIMIT.labelCountMax - attributes.size);
    }
  }
  for (const key of names) keep(attributes, key, property(data, key));
  return { attributes, isReadable: true };
}

/**
 * Reads a report of an installation. `failure` under `closed` is a failure, anything else under `closed` a
 * success, every other execution progress.
 */
export function readFeedback(body: string): Feedback {
  const status = parsedStatus(body) ?? scannedStatus(body);
  const { execution, finished } = status;
  const said = { execution, finished, reason: undefined };
  if (execution !== CLOSED) return { ...said, result: 'progress' };
  if (finished !== FAILURE) return { ...said, result: 'success' };
  return { ...said, result: 'failure', reason: reasonIn(status) };
}

const CLOSED = 'closed';
const FAILURE = 'failure';
/** UTF-16 units of a text that are read: enough for a reason of which every character is two escapes. */
const TEXT_LENGTH_MAX = 4096;

function keep(attributes: Map<string, string>, key: string, value: unknown): void {
  const text = labelValue(key, value);
  if (text !== undefined && attributes.size < LIMIT.labelCountMax) attributes.set(key, text);
}

/** Returns the value of an attribute as a label; undefined if the two are none. */
function labelValue(key: string, value: unknown): string | undefined {
  const isPlain = typeof value === 'string' || typeof value === 'boolean' || isNumber(value);
  if (!isPlain) return undefined;
  const text = String(value);
  const isLabel = isStorable(key, text) && refuseLabel(key, key, text) === undefined;
  return isLabel ? text : undefined;
}

/** Returns whether a value is a number that JSON can write; `1e999` is read as an infinite one. */
function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

/** Inserts a name into a sorted list, of which the lowest `max` stay: a body may have very many names. */
function insertLowest(names: string[], name: string, max: number): void {
  if (names.length >= max && name >= (names.at(-1) ?? '')) return;
  const place = names.findIndex((other) => name < other);
  names.splice(place === -1 ? names.length : place, 0, name);
  if (names.length > max) names.pop();
}

/** Status of a report. Few reports need the details, so they are read when they are asked for. */
type Status = {
  readonly execution: string | undefined;
  readonly finished: string | undefined;
  readonly details: () => readonly string[];
  /** Whether the details have the escapes of JSON. */
  readonly isEscaped: boolean;
};

/** Returns the status of a body in JSON; undefined if it is none. */
function parsedStatus(body: string): Status | undefined {
  const parsed = parseJson(body);
  if (parsed === undefined) return undefined;
  const status = property(parsed, 'status');
  return {
    execution: textOrNone(property(status, 'execution')),
    finished: textOrNone(property(property(status, 'result'), 'finished')),
    details: () => textsIn(property(status, 'details')),
    isEscaped: false,
  };
}

/** Returns what a body tells that is no JSON. */
function scannedStatus(body: string): Status {
  return {
    execution: textBehind(body, 'execution'),
    finished: textBehind(body, 'finished'),
    details: () => textsBehind(body, 'details'),
    isEscaped: true,
  };
}

function textsIn(details: unknown): readonly string[] {
  return [details].flat().filter((each) => typeof each === 'string');
}

/** Returns the text behind the first `"key":` that a text follows; undefined if there is none. */
function textBehind(body: string, key: string): string | undefined {
  for (const start of placesBehind(body, key)) {
    if (body.charCodeAt(start) !== QUOTE) continue;
    const end = quoteAt(body, start + 1);
    if (end === undefined) return undefined;
    return unescaped(body.slice(start + 1, Math.min(end, start + TEXT_LENGTH_MAX)));
  }
  return undefined;
}

/** Returns the texts in the brackets behind the first `"key":` that brackets follow, still escaped. */
function textsBehind(body: string, key: string): readonly string[] {
  for (const start of placesBehind(body, key)) {
    if (body[start] === '[') return textsFrom(body, start + 1);
  }
  return [];
}

/** Yields the places of what follows `"key":`. */
function* placesBehind(body: string, key: string): Generator<number> {
  const quoted = `"${key}"`;
  for (let at = body.indexOf(quoted); at !== -1; at = body.indexOf(quoted, at + quoted.length)) {
    const colon = afterBlanks(body, at + quoted.length);
    if (body[colon] === ':') yield afterBlanks(body, colon + 1);
  }
}

/** Returns the texts from a place up to the bracket that closes their list, or up to the end. */
function textsFrom(body: string, from: number): readonly string[] {
  const texts: string[] = [];
  for (let at = from; at < body.length && body[at] !== ']'; at++) {
    if (body.charCodeAt(at) !== QUOTE) continue;
    const start = at + 1;
    at = closingQuote(body, start) ?? body.length;
    texts.push(body.slice(start, at));
  }
  return texts;
}

/**
 * Returns the place of the quotation mark that closes a text of a list: the first one that the next text, the
 * end of the list or that of the body follows. Any other one is a part of the text.
 */
function closingQuote(body: string, from: number): number | undefined {
  let at = quoteAt(body, from);
  while (at !== undefined && !isClosing(body, at)) at = quoteAt(body, at + 1);
  return at;
}

function isClosing(body: string, at: number): boolean {
  const next = afterBlanks(body, at + 1);
  if (next >= body.length) return true;
  if (body[next] !== ',' && body[next] !== ']') return false;
  const after = body[afterBlanks(body, next + 1)];
  if (body[next] === ',') return after === '"';
  return after === undefined || after === ',' || after === '}';
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Returns the place of the next quotation mark without a backslash before it; undefined if there is none. */
function quoteAt(body: string, from: number): number | undefined {
  for (let at = from; at < body.length; at++) {
    const code = body.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at++;
  }
  return undefined;
}

/** Returns the place of the next character that is no blank of JSON. */
function afterBlanks(body: string, from: number): number {
  let at = from;
  while (isBlank(body.charCodeAt(at))) at++;
  return at;
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

const ESCAPE = /\\(?:(["\\/bfnrt])|u([0-9a-fA-F]{4}))/g;
const ESCAPED: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** Replaces the escapes of JSON; a backslash that begins none stays. */
function unescaped(text: string): string {
  return text.replace(ESCAPE, (_, letter: string | undefined, code: string | undefined) =>
    letter === undefined
      ? String.fromCharCode(Number.parseInt(code ?? '', 16))
      : (ESCAPED[letter] ?? letter),
  );
}

const CONTROLS = /\p{Cc}+/gu;

/** Returns the last text that is not blank, on one line and cut to the length of a reason. */
function reasonIn({ details, isEscaped }: Status): string | undefined {
  const texts = details();
  for (let index = texts.length - 1; index >= 0; index--) {
    const beginning = (texts[index] ?? '').slice(0, TEXT_LENGTH_MAX);
    // A body may have hundreds of thousands of empty texts.
    if (beginning === '') continue;
    const text = isEscaped ? unescaped(beginning) : beginning;
    const line = storableText(text.replace(CONTROLS, ' ')).trim();
    if (line !== '') return [...line].slice(0, LIMIT.failureReasonLengthMax).join('');
  }
  return undefined;
}

/** Returns the value of JSON; undefined if the text is none. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns an own property of an object; undefined if there is none, or the value is no object. */
function property(value: unknown, name: string): unknown {
  if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

function textOrNone(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
