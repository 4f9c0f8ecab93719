// Sends a request to a URL that others have chosen. It resolves the name once, judges every IP address, and
// connects to exactly these: a name that resolves to others a moment later has no effect. It follows no
// redirect, uses no proxy and keeps no connection.

import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { callOut, LateAnswer, type OutgoingAnswer } from '../flow/outgoing-call.ts';
import { withinTime } from '../flow/within-time.ts';
import { type AddressJudge, literalOf } from './address-judgement.ts';

/** Maximum milliseconds for a whole request: name, connection, TLS and answer. */
export const DIAL_MS_MAX = 10_000;
/** Maximum number of bytes read of an answer; the connection is closed after them. */
const ANSWER_BYTES_MAX = 64 * 1024;
/** Maximum number of bytes of an answer that are returned, for the list of tries. */
const KEPT_BYTES_MAX = 256;
/** Options that try the IP addresses one after the other, each for 2 s before the next. */
const CONNECT_OPTIONS = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 2000 };
const RESOLVE_MS_MAX = 2000;
const RESOLVE_TRIES = 2;

/** Outcome of a request: an answer of any status, or the reason in words why there is none. */
export type Answer =
  | { readonly status: number; readonly retryAfter: string | undefined; readonly text: string }
  | { readonly status: undefined; readonly error: string };

export type DialRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** Resolves a name to all of its IP addresses; rejects with an error of DNS. */
export type ResolveName = (name: string) => Promise<readonly LookupAddress[]>;

export type DialerDependencies = {
  readonly judge: AddressJudge;
  readonly resolve: ResolveName;
  /** Certificate authorities trusted in place of those of Node, for tests. */
  readonly ca?: string;
  /** Default: `DIAL_MS_MAX`. */
  readonly timeoutMs?: number;
};

export class Dialer {
  readonly #dependencies: DialerDependencies;

  constructor(dependencies: DialerDependencies) {
    this.#dependencies = dependencies;
  }

  /** Posts a body. Never rejects: an error is returned in words, without secrets that the URL contains. */
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

  /** Refuses a name if any of its IP addresses is refused: an attacker could choose which one is used. */
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
      // The status counts even if the receiver breaks off the body.
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

/** Returns a look-up function for a connection that answers with the judged addresses. */
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

/** Returns the words for an error; messages of Node contain host names, but never paths of URLs. */
function wordsOf(error: unknown): string {
  // An AggregateError has one error for each IP address: the first one counts.
  const first = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const { code = '', message } = first as Partial<NodeJS.ErrnoException>;
  return WORDS[code] || message || 'The request failed';
}

/**
 * Returns the resolver of the service. It asks the name servers directly, because Node has two threads for
 * the system's own resolver, and two slow names would block all others. If the operator allows private
 * networks (`knowsSystemNames`), it falls back to the system's names (`/etc/hosts`, search domains).
 */
export function createResolver(knowsSystemNames: boolean): ResolveName {
  return async (name) => {
    const found = await askServers(name).catch((error: unknown) => error);
    if (Array.isArray(found)) return found;
    if (!knowsSystemNames) throw found;
    return await lookup(name, { all: true, verbatim: true });
  };
}

/** Asks for the addresses of IPv4 and IPv6; rejects only if there are none of either. */
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
