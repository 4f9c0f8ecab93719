// Client of the running service: of its console API with the admin token, or of its management API with a
// key.

import type { Approval } from '../../contract/resource.ts';
import { callOut, type OutgoingAnswer } from '../../flow/outgoing-call.ts';

const TIMEOUT_MS = 30_000;
/** Far larger than any answer. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024;

/** API that a client calls, and the credential for it. */
type Surface = {
  /** Prefix of all paths of the client. */
  readonly base: string;
  readonly token: string | undefined;
  /** Error text if there is no token. */
  readonly missing: string;
  /** Words for the address of the API. */
  readonly place: string;
};

const CONSOLE = 'console/api';
const ACCEPTED = 202;
const NO_CONTENT = 204;
const NOT_FOUND = 404;

export class ServiceClient {
  private answers = 0;

  private constructor(
    private readonly url: string,
    private readonly surface: Surface,
  ) {}

  /** Client of the console API. */
  static ofConsole(url: string, token: string | undefined): ServiceClient {
    const missing = 'no admin token: set ADMIN_TOKEN, or DATA_DIR to where the service keeps it';
    const place = 'of the console, which is that of ADMIN_LISTEN where it is set';
    return new ServiceClient(url, { base: CONSOLE, token, missing, place });
  }

  /** Client of the management API; `isUrlGiven` is whether the environment sets its address. */
  static ofManagement(url: string, token: string | undefined, isUrlGiven: boolean): ServiceClient {
    const address = `; no address of the service: set SLUICE_URL, else ${url} is asked`;
    const missing = `no API key: set SLUICE_KEY${isUrlGiven ? '' : address}`;
    const place = 'that devices ask, not that of ADMIN_LISTEN';
    return new ServiceClient(url, { base: 'api/v1', token, missing, place });
  }

  /** Whether the client's credential is the operator's admin token; if not, it is a publisher's key. */
  get isOperators(): boolean {
    return this.surface.base === CONSOLE;
  }

  /** Error text if the credential is missing, so that no call is possible; undefined if it is there. */
  get missing(): string | undefined {
    return this.surface.token === undefined ? this.surface.missing : undefined;
  }

  /** Whether the service has answered a call successfully. */
  get hasAnswered(): boolean {
    return this.answers > 0;
  }

  /**
   * Sends a request and returns the JSON answer, an object. Rejects with `ServiceError`, or with `Waits` when
   * the call waits for an approval.
   */
  async call(method: string, path: string, body?: unknown): Promise<unknown> {
    const { answer } = await this.ask(method, path, body);
    if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) {
      throw new ServiceError(`what answers at ${this.url} is not the service`);
    }
    this.answers += 1;
    return answer;
  }

  /** Sends a request that the service answers with 204 once it is done; rejects as `call` does. */
  async callForNothing(method: string, path: string): Promise<void> {
    const { status } = await this.ask(method, path, undefined);
    if (status !== NO_CONTENT) {
      throw new ServiceError(`what answers at ${this.url} is not the service`);
    }
  }

  /** Returns the error for an answer of the service that a command could not read. */
  unexpected(cause: TypeError): ServiceError {
    const text =
      `the service at ${this.url} has answered, and not what this command expects ` +
      `(${cause.message}): compare its version with sluice --version`;
    return new ServiceError(text, undefined, 0, { cause });
  }

  /** Sends a request; returns status and JSON of a 2xx answer. */
  private async ask(
    method: string,
    path: string,
    body: unknown,
  ): Promise<{ readonly status: number; readonly answer: unknown }> {
    const { token, missing } = this.surface;
    if (token === undefined) throw new ServiceError(missing);
    const response = await this.send(method, path, token, body);
    const { status } = response;
    const answer = readJson(response);
    if (status === ACCEPTED && isWaiting(answer)) throw new Waits(answer);
    if (status >= 200 && status < 300) return { status, answer };
    const text = this.redirection(path, response) ?? this.refusal(path, status, errorText(answer));
    throw new ServiceError(text, status, Number(response.headers['retry-after'] ?? 0));
  }

  /**
   * Returns the text for a refusal. A 404 that names no subject means that this API is at another address,
   * such as on the port of ADMIN_LISTEN.
   */
  private refusal(path: string, status: number, text: string | undefined): string {
    const isElsewhere = text === undefined || /^not found\.?$/i.test(text);
    if (status !== NOT_FOUND || !isElsewhere) return text ?? `the service answered ${status}`;
    const { base, place } = this.surface;
    const [asked] = path.split('?');
    return `nothing at ${this.url}/${base}/${asked}: SLUICE_URL must be the address ${place}`;
  }

  /**
   * Returns the text for a redirect to an address; undefined for any other answer. No redirect is followed,
   * because the credential is for the address of SLUICE_URL alone.
   */
  private redirection(path: string, { status, headers }: OutgoingAnswer): string | undefined {
    if (status < 300 || status >= 400 || headers.location === undefined) return undefined;
    const { base, place } = this.surface;
    const [asked] = path.split('?');
    const end = `/${base}/${asked}`;
    const address = plainAddress(headers.location, `${this.url}${end}`);
    if (address === undefined) return undefined;
    return address.endsWith(end)
      ? `the service at ${this.url} answered ${status}: set SLUICE_URL to ${address.slice(0, -end.length)}`
      : `${this.url} answered ${status} and names ${address}: SLUICE_URL must be the address ${place}`;
  }

  private async send(
    method: string,
    path: string,
    token: string,
    body: unknown,
  ): Promise<OutgoingAnswer> {
    try {
      return await callOut({
        ...{ url: `${this.url}/${this.surface.base}/${path}`, method },
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: body === undefined ? undefined : JSON.stringify(body),
        ...{ timeoutMs: TIMEOUT_MS, answerBytesMax: ANSWER_BYTES_MAX },
      });
    } catch (error) {
      throw new ServiceError(`cannot reach the service at ${this.url}: ${reasonOf(error)}`);
    }
  }
}

type Waiting = { readonly approval: Approval };

/** Thrown when a call waits for an approval, so that the command does nothing that would follow the call. */
export class Waits extends Error {
  readonly answer: Waiting;

  constructor(answer: Waiting) {
    super('the call waits for an approval');
    this.answer = answer;
  }
}

/** Whether a 202 means that the call waits: one for a call that has begun contains no approval. */
function isWaiting(answer: unknown): answer is Waiting {
  return typeof answer === 'object' && answer !== null && 'approval' in answer;
}

/** Error of a command, in one line for the person at the terminal. */
export class ServiceError extends Error {
  /** HTTP status of the service's answer; undefined if there was none. */
  readonly status: number | undefined;
  /** Seconds after which the service wants to be called again; 0 or NaN if it named none. */
  readonly retryAfterSeconds: number;

  constructor(message: string, status?: number, retryAfterSeconds = 0, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Returns the http(s) address of a `Location` header, without credentials, query and trailing slash. */
function plainAddress(location: string, from: string): string | undefined {
  if (!URL.canParse(location, from)) return undefined;
  const { protocol, origin, pathname } = new URL(location, from);
  return /^https?:$/.test(protocol) ? `${origin}${pathname}`.replace(/\/$/, '') : undefined;
}

function readJson({ body }: OutgoingAnswer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

function errorText(answer: unknown): string | undefined {
  if (typeof answer !== 'object' || answer === null || !('error' in answer)) return undefined;
  return String(answer.error).replace(/\s+/g, ' ');
}

function reasonOf(error: unknown): string {
  // If several addresses failed, the first one's error is reported.
  const first: unknown = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  return (first instanceof Error ? first.message : String(first)).replace(/\s+/g, ' ');
}

/**
 * Calls until the service says that nothing is left, each time from where the previous part ended. Rejects if
 * the service returns the same position again.
 */
export async function callInParts<Part extends { readonly next: string | null }>(
  client: ServiceClient,
  path: string,
  body: object,
  add: (part: Part) => void,
): Promise<void> {
  for (let after: string | undefined; ; ) {
    const part = (await client.call('POST', path, { ...body, after })) as Part;
    add(part);
    const { next } = part;
    if (next === null) return;
    if (typeof next !== 'string' || next === after) throw new TypeError('next does not get on');
    after = next;
  }
}
