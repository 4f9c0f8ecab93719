// Plays rauc-hawkbit-updater 1.4, which no distribution of the tests has. It takes what that takes, and
// throws where that would log an error. Each rule names the file of its source that has it.

import { createHash } from 'node:crypto';
import { ask, type Reply } from './http-ask.ts';
import type { Json } from './tenant.ts';

export type RaucConfig = {
  /** `hawkbit_server`: host and path, without the scheme. */
  readonly server: string;
  /** `tenant_id` of its configuration. */
  readonly tenant: string;
  /** `target_name` of its configuration. */
  readonly target: string;
  /** Attributes of the section `[device]`, which it must have (src/config-file.c). */
  readonly device: Readonly<Record<string, string>>;
  /** Waits between two tries of a feedback. */
  readonly pause: (ms: number) => Promise<void>;
};

type Artifact = { readonly url: string; readonly sha1: string };
type Action = {
  readonly id: string;
  readonly artifact: Artifact;
  readonly state: 'downloading' | 'installing';
};
/** What a poll made the client do. */
export type RaucStep = 'identified' | 'started' | 'cancelled' | 'rejected';

const USER_AGENT = 'rauc-hawkbit-c-agent/1.0';
const TRIES_MAX = 10;
const RETRY_MS = 1000;
const SLEEP = /^\d{1,2}:\d{1,2}:\d{1,2}$/;

export class RaucPlayer {
  private action: Action | undefined;

  constructor(private readonly config: RaucConfig) {}

  /** Polls once, and does what the links ask for: attributes, then an action, then a cancellation. */
  async poll(): Promise<readonly RaucStep[]> {
    const steps: RaucStep[] = [];
    const base = await this.get(this.address(''));
    // src/hawkbit-client.c, json_get_sleeptime: read as %T.
    const sleep = text(base, 'config', 'polling', 'sleep');
    if (!SLEEP.test(sleep)) throw new Error(`no time: ${sleep}`);
    if (has(base, 'configData')) {
      await this.identify();
      steps.push('identified');
    }
    // src/hawkbit-client.c: what is in progress is not begun again.
    if (has(base, 'deploymentBase') && this.action === undefined) {
      await this.start(text(base, '_links', 'deploymentBase', 'href'));
      steps.push('started');
    }
    if (has(base, 'cancelAction')) {
      steps.push(await this.cancel(text(base, '_links', 'cancelAction', 'href')));
    }
    return steps;
  }

  /** Ends the download and, if the file is the right one, begins to install; else tells the failure. */
  async download(): Promise<boolean> {
    const { id, artifact } = this.busy('downloading');
    const { text: file } = await this.send('GET', artifact.url);
    await this.feedback(`deploymentBase/${id}`, id, 'Download complete.', 'none', 'proceeding');
    // src/hawkbit-client.c, download_thread: the SHA-1 is compared once the whole file is there.
    if (createHash('sha1').update(file).digest('hex') !== artifact.sha1) {
      await this.close(id, 'failure', 'Invalid checksum');
      return false;
    }
    await this.feedback(`deploymentBase/${id}`, id, 'File checksum OK.', 'none', 'proceeding');
    this.action = { id, artifact, state: 'installing' };
    return true;
  }

  /** Ends the installation. It is told before the restart (src/hawkbit-client.c, install_complete_cb). */
  async install(isWell = true): Promise<void> {
    const { id } = this.busy('installing');
    // One for each step of RAUC (src/rauc-installer.c).
    for (const step of ['Checking bundle', 'Updating slots']) {
      await this.feedback(`deploymentBase/${id}`, id, step, 'none', 'proceeding');
    }
    await this.close(id, isWell ? 'success' : 'failure', 'Installation ended.');
  }

  private async close(id: string, finished: 'success' | 'failure', detail: string): Promise<void> {
    // It forgets the id: another poll that lists it makes the client install once more.
    this.action = undefined;
    await this.feedback(`deploymentBase/${id}`, id, detail, finished, 'closed');
  }

  private busy(state: Action['state']): Action {
    if (this.action?.state !== state) throw new Error(`not ${state}: ${this.action?.state}`);
    return this.action;
  }

  private async start(href: string): Promise<void> {
    const answer = await this.get(href);
    const id = text(answer, 'id');
    const way = text(answer, 'deployment', 'update');
    if (way !== 'forced' && way !== 'attempt') throw new Error(`it does not install: ${way}`);
    text(answer, 'deployment', 'download');
    const chunk = only(answer, 'deployment', 'chunks');
    text(chunk, 'name');
    text(chunk, 'version');
    const artifact = only(chunk, 'artifacts');
    // src/hawkbit-client.c, process_deployment: neither may be missing, nor the size be 0.
    const sha1 = text(artifact, 'hashes', 'sha1');
    const size = at(artifact, 'size');
    if (!Number.isInteger(size) || Number(size) <= 0) throw new Error(`no size: ${size}`);
    const links = at(artifact, '_links') as Json;
    const url = text(links, 'download' in links ? 'download' : 'download-http', 'href');
    this.action = { id, artifact: { url, sha1 }, state: 'downloading' };
  }

  /** Answers a cancellation: a download is given up, an installation is not. */
  private async cancel(href: string): Promise<RaucStep> {
    const stopId = text(await this.get(href), 'cancelAction', 'stopId');
    if (this.action?.state === 'installing') {
      await this.feedback(`cancelAction/${stopId}`, stopId, 'Installing.', 'success', 'rejected');
      return 'rejected';
    }
    this.action = undefined;
    await this.feedback(`cancelAction/${stopId}`, stopId, 'Cancelled.', 'success', 'closed');
    return 'cancelled';
  }

  /** Sends its attributes: without an id (src/hawkbit-client.c, identify). */
  private async identify(): Promise<void> {
    const status = { result: { finished: 'success' }, execution: 'closed' };
    const body = { time: '20260102T030405', status, data: this.config.device };
    accepted(await this.send('PUT', this.address('/configData'), body));
  }

  /**
   * Sends feedback to the address of its configuration, not to one of an answer. It is repeated on 409 and
   * 429 alone, ten times; the body has the id as a text (src/hawkbit-client.c, feedback and rest_request).
   */
  private async feedback(
    resource: string,
    id: string,
    detail: string,
    finished: string,
    execution: string,
  ): Promise<void> {
    const status = { result: { finished }, execution, details: [detail] };
    const body = { id, time: '20260102T030405', status };
    for (let tries = 1; ; tries++) {
      const reply = await this.send('POST', this.address(`/${resource}/feedback`), body);
      if (tries === TRIES_MAX || ![409, 429].includes(reply.status)) {
        accepted(reply);
        return;
      }
      await this.config.pause(RETRY_MS);
    }
  }

  /** Asks for JSON. */
  private async get(url: string): Promise<Json> {
    return JSON.parse(accepted(await this.send('GET', url)).text) as Json;
  }

  private send(method: string, url: string, body?: Json): Promise<Reply> {
    const headers = { 'user-agent': USER_AGENT, 'content-type': 'application/json' };
    return ask(url, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  }

  /** Returns an address (src/hawkbit-client.c, build_api_url). */
  private address(below: string): string {
    const { server, tenant, target } = this.config;
    return `http://${server}/${tenant}/controller/v1/${target}${below}`;
  }
}

/** Returns an answer whose status is exactly 200; every other one is an error (src/hawkbit-client.c). */
function accepted(reply: Reply): Reply {
  if (reply.status === 200) return reply;
  throw new Error(`HTTP request failed: ${reply.status}; server response: ${reply.text}`);
}

function at(from: unknown, ...path: readonly string[]): unknown {
  return path.reduce((value, name) => (value as Json | undefined)?.[name], from);
}

function has(base: Json, link: string): boolean {
  return at(base, '_links', link) !== undefined;
}

/** Returns a text; a number is none (src/json-helper.c, json_get_string). */
function text(from: unknown, ...path: readonly string[]): string {
  const value = at(from, ...path);
  if (typeof value === 'string') return value;
  throw new Error(`no text: ${path.join('.')}`);
}

/** Returns the one entry of a list; it takes neither several chunks nor several artifacts. */
function only(from: unknown, ...path: readonly string[]): Json {
  const list = at(from, ...path);
  if (Array.isArray(list) && list.length === 1) return list[0] as Json;
  throw new Error(`not exactly one: ${path.join('.')}`);
}
