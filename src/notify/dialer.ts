// Sends a request to an address that others have chosen. The name is resolved once, every address is judged,
// and exactly those are dialled: a name that resolves otherwise a moment later reaches nothing else. No
// redirect is followed, no proxy used, no connection kept.

import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { callOut, LateAnswer, type OutgoingAnswer } from '../flow/outgoing-call.ts';
import { withinTime } from '../flow/within-time.ts';
import { type AddressJudge, literalOf } from './address-judgement.ts';

/** Longest time for a request in all, in milliseconds: name, connection, TLS, answer. */
export const DIAL_MS_MAX = 10_000;
/** Bytes of an answer that are read; the connection is closed then. */
const ANSWER_BYTES_MAX = 64 * 1024;
/** Bytes of an answer that are kept, for the log of tries. */
const KEPT_BYTES_MAX = 256;
/** Options that try one address after the other, each for so many milliseconds before the next. */
const CONNECT_OPTIONS = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 2000 };
const RESOLVE_MS_MAX = 2000;
const RESOLVE_TRIES = 2;

/** What came of a request: an answer of any status, or in words why there is none. */
export type Answer =
  | { readonly status: number; readonly retryAfter: string | undefined; readonly text: string }
  | { readonly status: undefined; readonly error: string };

export type DialRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** Resolves a name to all of its addresses; rejects with an error of DNS. */
export type ResolveName = (name: string) => Promise<readonly LookupAddress[]>;

export type DialerDependencies = {
  readonly judge: AddressJudge;
  readonly resolve: ResolveName;
  /** Certificates that count beside those of Node, for tests. */
  readonly ca?: string;
  /** Default: `DIAL_MS_MAX`. */
  readonly timeoutMs?: number;
};

export class Dialer {
  readonly #dependencies: DialerDependencies;

  constructor(dependencies: DialerDependencies) {
    this.#dependencies = dependencies;
  }

  /** Posts a body. Never rejects: what goes wrong is an answer in words, without the secrets of the URL. */
  async post({ url, headers, body }: DialRequest): Promise<Answer> {
    const timeoutMs = this.#dependencies.timeoutMs ?? DIAL_MS_MAX;
    const late: Answer = { status: undefined, error: `No answer within ${timeoutMs / 1000} s` };
    const target = new URL(url);
    const startedAt = performance.now();
    try {
      const addresses = await withinTime(this.#resolve(target), timeoutMs);
      if (addresses === undefined) return late;
      const refusal = this.#refuse(target, addresses);
      if (refusal !== undefined) return { status: undefined, error: refusal };
      const leftMs = timeoutMs - (performance.now() - startedAt);
      return answerOf(await this.#send(target, { headers, body, addresses, timeoutMs: leftMs }));
    } catch (error) {
      return error instanceof LateAnswer ? late : { status: undefined, error: wordsOf(error) };
    }
  }

  async #resolve(target: URL): Promise<readonly LookupAddress[]> {
    const literal = literalOf(target);
    if (literal !== undefined) return [{ address: literal, family: isIP(literal) }];
    return await this.#dependencies.resolve(target.hostname);
  }

  /** One address that is refused refuses the name: an attacker could choose which one is dialled. */
  #refuse(target: URL, addresses: readonly LookupAddress[]): string | undefined {
    const judgements = addresses.map(({ address }) => this.#dependencies.judge.judge(address));
    if (judgements.length === 0) return 'The name has no address';
    if (judgements.includes('refused')) return 'The name leads to an address that is not public';
    if (target.protocol === 'http:' && judgements.includes('public')) {
      return 'The address is public, and must be https://';
    }
    return undefined;
  }

  #send(target: URL, sending: Sending): Promise<OutgoingAnswer> {
    const { headers, body, addresses, timeoutMs } = sending;
    const { ca } = this.#dependencies;
    return callOut({
      ...{ url: target, method: 'POST', body, timeoutMs, answerBytesMax: ANSWER_BYTES_MAX },
      headers,
      // The status counts also when the receiver breaks off what it says about it.
      isPartEnough: true,
      connection: { lookup: lookupIn(addresses), ...CONNECT_OPTIONS, ...(ca && { ca }) },
    });
  }
}

type Sending = {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly addresses: readonly LookupAddress[];
  readonly timeoutMs: number;
};

/** Answers the look-ups of a connection with what was judged. */
function lookupIn(addresses: readonly LookupAddress[]): LookupFunction {
  return (_hostname, options, callback) => {
    const [first] = addresses;
    if (options.all) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family);
  };
}

function answerOf({ status, headers, body }: OutgoingAnswer): Answer {
  const text = body.toString('utf8', 0, KEPT_BYTES_MAX);
  return { status, retryAfter: headers['retry-after'], text };
}

const WORDS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'The name has no address',
  ENODATA: 'The name has no address',
  ESERVFAIL: 'The name could not be resolved',
  ETIMEOUT: 'The name could not be resolved in time',
  ECONNREFUSED: 'The connection was refused',
  ECONNRESET: 'The receiver closed the connection without an answer',
  EPIPE: 'The receiver closed the connection without an answer',
  EHOSTUNREACH: 'The address cannot be reached',
  ENETUNREACH: 'The address cannot be reached',
  ETIMEDOUT: 'The connection could not be made in time',
  HPE_HEADER_OVERFLOW: 'The head of the answer is too large',
};

/** Says in words what went wrong; the messages of Node name hosts, and never paths. */
function wordsOf(error: unknown): string {
  // Of several addresses, each with its error, the first one's is said.
  const first = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const { code = '', message } = first as Partial<NodeJS.ErrnoException>;
  return WORDS[code] || message || 'The request failed';
}

/**
 * Returns the resolver of the service. It asks the servers of the system by itself: Node has two threads for
 * the system's own resolver, which two slow names would hold up for all others. Where the operator allows
 * networks of the service's own, names of the system count as well (`/etc/hosts`, search domains).
 */
export function createResolver(knowsSystemNames: boolean): ResolveName {
  return async (name) => {
    const found = await askServers(name).catch((error: unknown) => error);
    if (Array.isArray(found)) return found;
    if (!knowsSystemNames) throw found;
    return await lookup(name, { all: true, verbatim: true });
  };
}

/** Asks for both families; one of them is enough. */
async function askServers(name: string): Promise<readonly LookupAddress[]> {
  const resolver = new Resolver({ timeout: RESOLVE_MS_MAX, tries: RESOLVE_TRIES });
  const asked = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const found = asked.flatMap((answer, index) =>
    answer.status === 'rejected'
      ? []
      : answer.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })),
  );
  const [first] = asked;
  if (found.length === 0 && first?.status === 'rejected') throw first.reason;
  return found;
}
