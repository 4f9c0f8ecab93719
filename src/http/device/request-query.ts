// Parses the query of a device's request: labels (`l.`), device id, and parameters that the updater knows.

import { type Failure, invalidField, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { MistakenId } from '../../contract/ref.ts';
import { isFoldedAway, isLongerThan, isStorable } from '../../contract/text.ts';
import type { Labels } from '../../domain/decision/targeting.ts';
import { refuseLabel, tagLabels } from '../../domain/fleet/labels.ts';
import { mistakenIdIn } from '../../domain/fleet/mistaken-id.ts';

export type RequestQuery = {
  readonly labels: Labels;
  /** Result of `tagLabels` for the labels. */
  readonly labelsTag: number;
  /** Device id; undefined if there is none, or the text is no valid id. */
  readonly deviceId: string | undefined;
  /** Kind of the mistaken id in place of a device id; undefined with a valid id, or without any. */
  readonly mistake: MistakenId | undefined;
  /** Values of the updater's parameters that the query has. */
  readonly parameters: ReadonlyMap<string, string>;
  /** Text that distinguishes queries by the values of these parameters; '' without any. */
  readonly variant: string;
};

const LABEL_PREFIX = 'l.';
const DEVICE = 'device';
const NO_LABELS: Labels = new Map();
const NO_PARAMETERS: ReadonlyMap<string, string> = new Map();
/** Characters because of which a parameter needs `URLSearchParams`: `%`, `+` and non-ASCII. */
const ENCODED = /[%+\u0080-\uffff]/;

/**
 * Escapes each `+` of a query, so that form decoding leaves it a `+`: clients of updaters send versions such
 * as `1.0.0+4` unescaped.
 */
export function keepPlus(query: string): string {
  return query.replaceAll('+', '%2B');
}

/** Result for a request without a query. */
export const EMPTY_QUERY: RequestQuery = {
  labels: NO_LABELS,
  labelsTag: tagLabels(NO_LABELS),
  deviceId: undefined,
  mistake: undefined,
  parameters: NO_PARAMETERS,
  variant: '',
};

/** Parameters that an endpoint reads, beside labels and `device`. */
type KnownParameters = {
  readonly parameters: readonly string[];
  /** Parameter with the device id if `device` has none. */
  readonly deviceParameter?: string | undefined;
};

const NONE_KNOWN: KnownParameters = { parameters: [] };

/**
 * Parses a query string (`l.tier=gold&bundle=deb`). Of a repeated name the last value counts; names that are
 * neither labels nor in `known` are ignored. A `+` becomes a space in labels and ids, but stays a `+` in
 * known parameters (docs/contract.md 1.8). Parsing stops at the first label that is refused (400), because
 * clients choose the length of a query.
 */
export function readRequestQuery(
  query: string | undefined,
  known: KnownParameters = NONE_KNOWN,
): Outcome<RequestQuery> {
  if (query === undefined || query === '') return EMPTY_QUERY;
  const reader = new QueryReader(known);
  for (let from = 0; from <= query.length; ) {
    const to = endOfParameter(query, from);
    const refusal = reader.read(query, from, to);
    if (refusal !== undefined) return refusal;
    from = to + 1;
  }
  return reader.result();
}

class QueryReader {
  private readonly labels = new Map<string, string>();
  /** Known parameters; undefined until there is one, because most queries have none. */
  private parameters: Map<string, string> | undefined;
  private device: string | undefined;
  private otherDevice: string | undefined;

  constructor(private readonly known: KnownParameters) {}

  /**
   * Reads the parameter between two indexes; returns the refusal of a label that is not allowed. The `&`
   * prevents `URLSearchParams` from removing a leading `?`.
   */
  read(query: string, from: number, to: number): Failure | undefined {
    const equals = query.indexOf('=', from);
    const end = equals === -1 || equals > to ? to : equals;
    if (!this.mayCount(query, from, end)) return undefined;
    const parameter = query.slice(from, to);
    if (!ENCODED.test(parameter)) {
      // Most parameters contain nothing to decode, and this way is ten times as fast.
      return this.add(query.slice(from, end), query.slice(end + 1, to));
    }
    for (const [name, value] of new URLSearchParams(`&${parameter}`)) {
      const isPlain = value.includes(' ') && this.known.parameters.includes(name);
      const refusal = isPlain ? this.addPlain(parameter) : this.add(name, value);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  }

  result(): RequestQuery {
    const { labels, parameters = NO_PARAMETERS } = this;
    const { deviceId, mistake } = this.name();
    // A path contains no space, so a path with this text appended equals no other path with a variant.
    const variant = parameters.size === 0 ? '' : ` ${JSON.stringify([...parameters].sort())}`;
    // Written without a spread, so that V8 gives it the same hidden class as `EMPTY_QUERY`.
    return { labels, labelsTag: tagLabels(labels), deviceId, mistake, parameters, variant };
  }

  /** Returns whether the name between two indexes is one that counts, or may be once it is decoded. */
  private mayCount(query: string, from: number, end: number): boolean {
    if (query.startsWith(LABEL_PREFIX, from)) return true;
    const name = query.slice(from, end);
    const { parameters, deviceParameter } = this.known;
    const isKnown = name === DEVICE || name === deviceParameter || parameters.includes(name);
    return isKnown || name.includes('%');
  }

  /** Adds a known parameter, decoded as a path is: a `+` stays a `+`. */
  private addPlain(parameter: string): undefined {
    for (const [name, value] of new URLSearchParams(`&${keepPlus(parameter)}`)) {
      this.addParameter(name, value);
    }
  }

  private addParameter(name: string, value: string): void {
    this.parameters ??= new Map();
    this.parameters.set(name, value);
  }

  private name(): ReturnType<typeof nameIn> {
    const { device, otherDevice } = this;
    return device === undefined && otherDevice === undefined
      ? EMPTY_QUERY
      : nameIn(device, otherDevice);
  }

  private add(name: string, value: string): Failure | undefined {
    if (name === DEVICE) this.device = value;
    else if (name === this.known.deviceParameter) this.otherDevice = value;
    else if (this.known.parameters.includes(name)) this.addParameter(name, value);
    else if (name.startsWith(LABEL_PREFIX)) return addLabel(name, value, this.labels);
    return undefined;
  }
}

function endOfParameter(query: string, from: number): number {
  const end = query.indexOf('&', from);
  return end === -1 ? query.length : end;
}

function addLabel(name: string, value: string, labels: Map<string, string>): Failure | undefined {
  const key = name.slice(LABEL_PREFIX.length);
  const refusal = refuseLabel(name, key, value) ?? refuseCount(labels, key);
  if (refusal === undefined) labels.set(key, value);
  return refusal;
}

function refuseCount(labels: Labels, key: string): Failure | undefined {
  if (labels.has(key) || labels.size < LIMIT.labelCountMax) return undefined;
  return invalidField('l', `At most ${LIMIT.labelCountMax} labels`);
}

/** Returns the first of two texts that is a valid device id; else the kind of the first mistaken id. */
function nameIn(
  ...texts: readonly [string | undefined, string | undefined]
): Pick<RequestQuery, 'deviceId' | 'mistake'> {
  let mistake: MistakenId | undefined;
  for (const text of texts) {
    if (text === undefined || text === '' || !isId(text)) continue;
    const kind = mistakenIdIn(text);
    if (kind === undefined) return { deviceId: text, mistake: undefined };
    mistake ??= kind;
  }
  return { deviceId: undefined, mistake };
}

function isId(text: string): boolean {
  return isStorable(text) && !isLongerThan(text, LIMIT.deviceIdLengthMax) && !isFoldedAway(text);
}
