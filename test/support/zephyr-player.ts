// Plays the updater of Zephyr 4.1, for which the tests have no board. It takes what that takes, and throws
// where that would end its session with an error. All rules are of subsys/mgmt/hawkbit/hawkbit.c, but for
// those with another file.

import { createHash } from 'node:crypto';
import { ask, type Reply } from './http-ask.ts';
import type { Json } from './tenant.ts';

export type ZephyrConfig = {
  /** `CONFIG_HAWKBIT_SERVER` and `CONFIG_HAWKBIT_PORT`: the host of everything, also of files. */
  readonly server: string;
  /** `CONFIG_HAWKBIT_TENANT`, which may have slashes (subsys/mgmt/hawkbit/Kconfig). */
  readonly tenant: string;
  readonly deviceId: string;
  /** Whether the id of a cancellation loses its first digit, as in released versions. */
  readonly losesDigit?: boolean;
};

/** What a session came to. */
export type ZephyrStep = 'identified' | 'installed' | 'failed' | 'cancelled' | 'confirmed';

/** Bytes of buffers, each with the NUL at its end. */
const URL_BUFFER_SIZE = 300;
const DOWNLOAD_HTTP_SIZE = 200;
const DEPLOYMENT_BASE_SIZE = 50;
const CANCEL_BASE_SIZE = 50;
const SLEEP_LENGTH = 8;
const ACTION_ID_MAX = 2_147_483_647;
const SHA256_HEX = /^[0-9a-fA-F]{64}$/;
/** Polls after which a session that is still asked for attributes is stuck; the client has no bound. */
const POLLS_MAX = 5;

export class ZephyrPlayer {
  /** Action whose image is in place, and which is told once it is listed again after the restart. */
  private actionId: number | undefined;

  constructor(private readonly config: ZephyrConfig) {}

  /** Returns the same device with its new image, which may have another configuration. */
  restarted(config: Partial<ZephyrConfig> = {}): ZephyrPlayer {
    const player = new ZephyrPlayer({ ...this.config, ...config });
    player.actionId = this.actionId;
    return player;
  }

  /** Runs a session: cancellation, attributes, installation, in this order, until no link is left. */
  async poll(): Promise<readonly ZephyrStep[]> {
    const steps: ZephyrStep[] = [];
    for (let polls = 1; ; polls++) {
      const base = await this.get(this.base());
      const sleep = at(base, 'config', 'polling', 'sleep');
      if (typeof sleep !== 'string' || sleep.length !== SLEEP_LENGTH) {
        throw new Error(`no time of ${SLEEP_LENGTH} characters: ${sleep}`);
      }
      const [cancel, attributes, deployment] = LINKS.map((name) => pathOf(base, name));
      if (polls > POLLS_MAX) throw new Error(`a link stays: ${cancel ?? attributes}`);
      if (cancel !== undefined) {
        steps.push('cancelled');
        await this.cancel(cancel);
        // A new session: the link of an id that lost a digit would stay in this one.
        return steps;
      }
      if (attributes === undefined) {
        return deployment === undefined ? steps : [...steps, await this.install(deployment)];
      }
      await this.identify();
      steps.push('identified');
    }
  }

  private async identify(): Promise<void> {
    const status = { execution: 'closed', result: { finished: 'success' } };
    const data = { VIN: this.config.deviceId };
    const body = { mode: 'merge', data, id: '', time: '', status };
    exact(await this.send('PUT', `${this.base()}/configData`, body));
  }

  private async cancel(path: string): Promise<void> {
    const tail = tailOf(path, 'cancelAction/', CANCEL_BASE_SIZE);
    const id = idOf(tail.split('/')[1]?.slice(this.config.losesDigit ? 1 : 0));
    // An image that is in place stays, whoever wants it gone.
    const finished = this.actionId === undefined ? 'success' : 'failure';
    await this.report(`cancelAction/${id}`, id, finished);
  }

  private async install(path: string): Promise<ZephyrStep> {
    const tail = tailOf(path, 'deploymentBase/', DEPLOYMENT_BASE_SIZE);
    const answer = await this.get(`${this.base()}/${tail}`);
    const id = idOf(at(answer, 'id'));
    if (id === this.actionId) {
      await this.report(`deploymentBase/${id}`, id, 'success');
      return 'confirmed';
    }
    const { file, sha256 } = artifactOf(answer);
    const { text } = exact(await this.send('GET', file));
    const hash = createHash('sha256').update(text).digest('hex');
    // Of a failure nothing is told: the next session tries again.
    if (hash !== sha256.toLowerCase()) return 'failed';
    this.actionId = id;
    return 'installed';
  }

  private async report(resource: string, id: number, finished: string): Promise<void> {
    const status = { result: { finished }, execution: 'closed' };
    exact(
      await this.send('POST', `${this.base()}/${resource}/feedback`, { id: String(id), status }),
    );
  }

  private base(): string {
    const { tenant, deviceId } = this.config;
    return `/${tenant}/controller/v1/${deviceId}`;
  }

  private async get(path: string): Promise<Json> {
    return JSON.parse(exact(await this.send('GET', path)).text) as Json;
  }

  /** Asks its own host for a path: it knows no other, and follows nowhere. */
  private send(method: string, path: string, body?: Json): Promise<Reply> {
    if (path.length >= URL_BUFFER_SIZE) throw new Error(`too long: ${path}`);
    const headers = { 'content-type': 'application/json;charset=UTF-8' };
    const url = `http://${this.config.server}${path}`;
    return ask(url, { method, ...(body && { headers, body: JSON.stringify(body) }) });
  }
}

const LINKS = ['cancelAction', 'configData', 'deploymentBase'] as const;

/** Returns an answer with exactly 200 and the length of what came, neither chunked nor compressed. */
function exact(reply: Reply): Reply {
  const { status, headers, text } = reply;
  if (status !== 200) throw new Error(`HTTP request denied: ${status} ${text}`);
  const length = Buffer.byteLength(text);
  const isTold = headers['content-length'] === String(length);
  if (isTold && headers['content-encoding'] === undefined) return reply;
  throw new Error(`HTTP response len mismatch: ${length}`);
}

/** Returns the file of the one artifact of the one chunk, which must be the part `bApp`. */
function artifactOf(answer: Json) {
  const [chunk, ...chunks] = at(answer, 'deployment', 'chunks') as Json[];
  const [artifact, ...artifacts] = (chunk?.artifacts ?? []) as Json[];
  if (chunks.length > 0 || artifacts.length > 0) throw new Error('expecting one of each');
  if (chunk?.part !== 'bApp') throw new Error(`only part 'bApp' is supported; got ${chunk?.part}`);
  const sha256 = at(artifact, 'hashes', 'sha256');
  if (typeof sha256 !== 'string' || !SHA256_HEX.test(sha256)) throw new Error('no SHA-256');
  if (!Number.isInteger(at(artifact, 'size'))) throw new Error('no size');
  const file = pathOf(artifact ?? {}, 'download-http');
  if (file === undefined || file.length >= DOWNLOAD_HTTP_SIZE) throw new Error(`no file: ${file}`);
  return { file, sha256 };
}

/** Returns the path of a link, without its host; undefined where there is none. */
function pathOf(from: Json, name: string): string | undefined {
  const href = at(from, '_links', name, 'href');
  return typeof href === 'string' ? new URL(href).pathname : undefined;
}

/** Returns a path from a name on; it must fit into a buffer. */
function tailOf(path: string, name: string, size: number): string {
  const tail = path.slice(path.indexOf(name));
  if (path.includes(name) && tail.length < size) return tail;
  throw new Error(`missing ${name}, or too big: ${path}`);
}

/** Returns the number that a text of an id is. */
function idOf(text: unknown): number {
  const id = typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : 0;
  if (id >= 1 && id <= ACTION_ID_MAX) return id;
  throw new Error(`invalid action_id: ${text}`);
}

function at(from: unknown, ...path: readonly string[]): unknown {
  return path.reduce((value, name) => (value as Json | undefined)?.[name], from);
}
