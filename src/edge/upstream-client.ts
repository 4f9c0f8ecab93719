// Calls of an edge to the service that it follows. Every answer must be signed for its call with the key in
// the edge's token; any other answer is refused, whatever it contains, and counts as no answer.

import { createPublicKey, type KeyObject, randomBytes, verify } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import {
  EDGE_NONCE_HEADER,
  EDGE_RECORD_HEADER,
  EDGE_SIGNATURE_HEADER,
  type EdgeAnswer,
  PUBLIC_KEY_LENGTH,
  SIGNATURES_MAX,
  signedHead,
} from '../contract/edge.ts';
import { Unavailable } from '../contract/store-fault.ts';
import { callOut } from '../flow/outgoing-call.ts';

/**
 * Why an answer of the upstream was refused. `unsigned`: without a signature. `tampered`: changed in transit,
 * an answer to another call, or signed by another service. `replayed`: older than the known state. `foreign`:
 * of a service with another record. `malformed`: signed, but not what was requested. `revoked`: the upstream
 * refuses the token.
 */
export type UpstreamRefusal =
  | 'unsigned'
  | 'tampered'
  | 'replayed'
  | 'foreign'
  | 'malformed'
  | 'revoked';

export type UpstreamCall = {
  readonly method: 'GET' | 'POST';
  /** Path below `/edge/v1/`. */
  readonly path: string;
  /** Bytes, or a value to send as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Maximum time of the whole call. */
  readonly timeoutMs: number;
};

/**
 * Answer of the requested kind, with its bytes and their proof: the nonce of the call and the signatures,
 * separated by a space.
 */
export type ProvenAnswer<Kind extends EdgeAnswer['kind']> = {
  readonly answer: Extract<EdgeAnswer, { kind: Kind }>;
  readonly bytes: Buffer;
  readonly proof: string;
};

type UpstreamClientOptions = {
  /** Base URL of the upstream, without a trailing slash. */
  readonly url: string;
  readonly credential: EdgeCredential;
  /** Returns the name of the followed record; undefined while it is unknown. */
  readonly record: () => string | undefined;
  readonly onRefused: (refusal: UpstreamRefusal, path: string) => void;
};

/** Maximum size of an answer: the content of the largest channel, with its JSON. */
const ANSWER_BYTES_MAX = 192 * 1024 * 1024;
const SOCKETS_MAX = 16;
const NONCE_BYTES = 16;
const OK = 200;
/** Statuses that refuse a token: that of the service, and that of a proxy before it. */
const REFUSING: ReadonlySet<number> = new Set([401, 403]);
/** Status with which a service refuses an edge that names another record than the service's. */
const OTHER_RECORD = 409;

export class UpstreamClient {
  private credential: EdgeCredential;
  private agent: HttpAgent;
  /** Ends the unanswered calls; the callers bound their number. */
  private running = endingMany();
  private isClosed = false;

  constructor(private readonly options: UpstreamClientOptions) {
    this.credential = options.credential;
    this.agent = this.openAgent();
  }

  /** Uses another token from the next call on. */
  use(credential: EdgeCredential): void {
    this.credential = credential;
  }

  /** Ends all calls, which reject with `Unavailable`, as later ones do. */
  close(): void {
    this.isClosed = true;
    this.running.abort(new Error('closed'));
    this.agent.destroy();
  }

  /**
   * Makes later calls on new connections, for which the address is looked up again: an open connection may
   * lead to a server that is no longer the upstream, for as long as that server keeps it open.
   */
  reconnect(): void {
    const { agent } = this;
    this.agent = this.openAgent();
    // Sockets in use end with their calls.
    agent.maxFreeSockets = 0;
    for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
  }

  /** Ends the unanswered calls, which reject with `Unavailable`, and reconnects. */
  restart(): void {
    this.running.abort(new Error('the upstream was away meanwhile'));
    this.running = endingMany();
    this.reconnect();
  }

  /**
   * Makes a call and returns its proven answer; undefined for 304. Rejects with `Unavailable` if the upstream
   * does not answer in time, answers that it cannot, or its answer is refused; with `RefusedByUpstream` if it
   * answers that the call is wrong.
   */
  async call<Kind extends EdgeAnswer['kind']>(
    kind: Kind,
    call: UpstreamCall,
  ): Promise<ProvenAnswer<Kind> | undefined> {
    const nonce = randomBytes(NONCE_BYTES).toString('base64url');
    const { status, signatures, bytes } = await this.send(call, nonce);
    if (REFUSING.has(status)) {
      return this.refuse('revoked', call, `it does not accept the token (${status})`);
    }
    const text = bytes.toString('utf8', 0, 200);
    if (status >= 500 || status === 408 || status === 429) {
      throw new Unavailable('upstream', new Error(`it answers ${status}: ${text}`));
    }
    if (signatures === '') {
      return this.refuse('unsigned', call, `its answer ${status} is not signed`);
    }
    const proof = `${nonce} ${signatures}`;
    if (!this.isProven(bytes, proof, status)) {
      return this.refuse('tampered', call, 'its answer has no signature of the right key');
    }
    if (status === 304) return undefined;
    if (status === OTHER_RECORD) return this.refuse('foreign', call, 'it is of another record');
    if (status !== OK) throw new RefusedByUpstream(status, text);
    const answer = parseAnswer(bytes, kind);
    if (answer === undefined) return this.refuse('malformed', call, `its answer is no ${kind}`);
    return { answer, bytes, proof };
  }

  /** Returns whether the upstream's key made one of the signatures of an answer. */
  isProven(bytes: Buffer, proof: string, status = OK): boolean {
    const [nonce = '', signatures = ''] = proof.split(' ');
    const signed = Buffer.concat([Buffer.from(signedHead(nonce, status)), bytes]);
    const { publicKey } = this.credential;
    return signatures
      .split(',')
      .slice(0, SIGNATURES_MAX)
      .some((each) => verify(null, signed, publicKey, Buffer.from(each, 'base64url')));
  }

  /** Reports and throws the refusal of an answer. */
  refuse(refusal: UpstreamRefusal, { path }: Pick<UpstreamCall, 'path'>, reason: string): never {
    this.options.onRefused(refusal, path.split('?')[0] ?? path);
    throw new Unavailable('upstream', new RefusedAnswer(refusal, reason));
  }

  private async send(call: UpstreamCall, nonce: string): Promise<RawAnswer> {
    const { method, path, body, headers = {}, timeoutMs } = call;
    if (this.isClosed) throw new Unavailable('upstream', new Error('closed'));
    const record = this.options.record();
    const bytes = Buffer.isBuffer(body) || body === undefined ? body : JSON.stringify(body);
    try {
      const answer = await callOut({
        ...{ url: `${this.options.url}/edge/v1/${path}`, method, body: bytes, timeoutMs },
        headers: {
          authorization: `Bearer ${this.credential.secret}`,
          [EDGE_NONCE_HEADER]: nonce,
          ...(record !== undefined && { [EDGE_RECORD_HEADER]: record }),
          ...headers,
        },
        answerBytesMax: ANSWER_BYTES_MAX,
        signal: this.running.signal,
        connection: { agent: this.agent },
      });
      const signatures = String(answer.headers[EDGE_SIGNATURE_HEADER] ?? '');
      return { status: answer.status, signatures, bytes: answer.body };
    } catch (error) {
      throw new Unavailable('upstream', error);
    }
  }

  private openAgent(): HttpAgent {
    const settings = { keepAlive: true, maxSockets: SOCKETS_MAX };
    const isHttps = this.options.url.startsWith('https:');
    return isHttps ? new HttpsAgent(settings) : new HttpAgent(settings);
  }
}

/** Makes a controller for any number of calls: Node warns of a leak from the eleventh listener on. */
function endingMany(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

/** Reason of the failure of a call whose answer was refused. */
export class RefusedAnswer extends Error {
  readonly refusal: UpstreamRefusal;

  constructor(refusal: UpstreamRefusal, reason: string) {
    super(reason);
    this.name = 'RefusedAnswer';
    this.refusal = refusal;
  }
}

/** Returns whether a call failed because the upstream, or a proxy before it, refuses the token. */
export function isTokenRefused(error: unknown): boolean {
  const cause = error instanceof Unavailable ? error.cause : undefined;
  return cause instanceof RefusedAnswer && cause.refusal === 'revoked';
}

/** Refusal of a call by the upstream, which would refuse the same call again. */
export class RefusedByUpstream extends Error {
  readonly status: number;

  constructor(status: number, text: string) {
    super(`the upstream refuses the call with ${status}: ${text}`);
    this.name = 'RefusedByUpstream';
    this.status = status;
  }
}

type RawAnswer = { readonly status: number; readonly signatures: string; readonly bytes: Buffer };

/** Parses an answer of a kind; undefined for any other. Trusts the rest of its content: it is signed. */
function parseAnswer<Kind extends EdgeAnswer['kind']>(
  bytes: Buffer,
  kind: Kind,
): Extract<EdgeAnswer, { kind: Kind }> | undefined {
  try {
    const value = JSON.parse(bytes.toString('utf8')) as EdgeAnswer | null;
    return value?.kind === kind ? (value as Extract<EdgeAnswer, { kind: Kind }>) : undefined;
  } catch {
    return undefined;
  }
}

/** Parts of `EDGE_TOKEN`: the secret that the edge sends, and the public key of the service. */
type EdgeCredential = { readonly secret: string; readonly publicKey: KeyObject };

/** Head of an Ed25519 public key in SPKI (RFC 8410), before its 32 bytes. */
const SPKI_HEAD = Buffer.from('302a300506032b6570032100', 'hex');

/** Reads a token of the form `SECRET.KEY`; undefined if it has another form. */
export function readCredential(token: string): EdgeCredential | undefined {
  const [secret = '', key = '', ...rest] = token.split('.');
  if (rest.length > 0 || !/^sluice-edge_[\w-]+$/.test(secret)) return undefined;
  const raw = Buffer.from(key, 'base64url');
  if (key.length !== PUBLIC_KEY_LENGTH || raw.length !== 32) return undefined;
  const spki = Buffer.concat([SPKI_HEAD, raw]);
  return { secret, publicKey: createPublicKey({ key: spki, format: 'der', type: 'spki' }) };
}

// Why the upstream does not answer, in words that anybody may read: `/readyz` shows them, so they contain no
// URL and quote nothing of an answer. The log and `sluice doctor` have the whole error.

const UNKNOWN_CERTIFICATE = 'an authority unknown to this machine issued its certificate';

/** Texts for the error codes of Node.js. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens at its address',
  ECONNRESET: 'it ended the connection',
  EPIPE: 'it ended the connection',
  ENOTFOUND: 'its name is not known',
  EAI_AGAIN: 'its name could not be looked up',
  ETIMEDOUT: 'no connection could be made',
  EHOSTUNREACH: 'its address cannot be reached',
  ENETUNREACH: 'its address cannot be reached',
  EPROTO: 'the server at its address does not speak TLS correctly',
  HPE_INVALID_CONSTANT: 'the server at its address does not speak HTTP: is it https?',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_CERTIFICATE,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_CERTIFICATE,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_CERTIFICATE,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_CERTIFICATE,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_CERTIFICATE,
};
/** Form of error codes, which is too strict for a URL. */
const CODE = /^[A-Z][A-Z0-9_]{2,63}$/;

/** Returns why a call to the upstream failed, without URLs and without parts of the answer. */
export function describeFailure(error: unknown): string {
  const cause = error instanceof Unavailable ? error.cause : error;
  if (cause instanceof RefusedByUpstream) return `it answers ${cause.status}: is it a service?`;
  if (!(cause instanceof Error)) return 'it does not answer';
  const { code } = cause as NodeJS.ErrnoException;
  if (code === undefined || !CODE.test(code)) return cause.message.split(':')[0] ?? '';
  const words = WORDS[code];
  return words === undefined ? code : `${words} (${code})`;
}
