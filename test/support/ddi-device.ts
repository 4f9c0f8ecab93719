// A device that speaks DDI: it polls its own address and follows the links of the answers, as the clients do.

import { expect } from 'vitest';
import { eventually } from './eventually.ts';
import { type Addressed, type Answer, type Json, send } from './tenant.ts';

export type DdiDeviceOptions = {
  readonly channel?: string;
  /** What the address says of it: `linux/aarch64`, or `linux/aarch64/1.0.0`. */
  readonly machine?: string;
  readonly headers?: Record<string, string>;
};

/** What a poll lists; ids are those of the links. */
export type Polled = {
  readonly sleep: string;
  readonly deployment: string | undefined;
  readonly cancel: string | undefined;
  readonly asksAttributes: boolean;
};

export class DdiDevice {
  private readonly base: string;

  constructor(
    private readonly node: Addressed,
    app: string,
    readonly id: string,
    private readonly options: DdiDeviceOptions = {},
  ) {
    const { channel = 'stable', machine } = options;
    const place = ['ddi', app, channel, ...(machine === undefined ? [] : [machine])].join('/');
    this.base = `/${place}/controller/v1/${encodeURIComponent(id)}`;
  }

  /** Returns the same device at another node. */
  at(node: Addressed): DdiDevice {
    const other = new DdiDevice(node, '', this.id, this.options);
    return Object.assign(other, { base: this.base });
  }

  ask(method: string, below = '', body?: unknown): Promise<Answer> {
    const { headers = {} } = this.options;
    return send(this.node, method, this.base + below, {
      headers,
      ...(body !== undefined && { body }),
    });
  }

  /** Polls; throws unless the answer is a 200 that clients take. */
  async poll(): Promise<Polled> {
    return readPoll(await this.accepted(this.ask('GET')));
  }

  /** Tells attributes. */
  tell(data: Json): Promise<Answer> {
    return this.accepted(this.ask('PUT', '/configData', { data }));
  }

  /** Fetches an action; returns its document. */
  async fetch(id: string | undefined): Promise<Json> {
    return (await this.accepted(this.ask('GET', `/deploymentBase/${id}`))).body ?? {};
  }

  /** Closes an action, or reports progress. */
  report(
    id: string | undefined,
    finished: string,
    execution = 'closed',
    details: readonly string[] = [],
  ): Promise<Answer> {
    const status = { execution, result: { finished }, details };
    return this.accepted(this.ask('POST', `/deploymentBase/${id}/feedback`, { id, status }));
  }

  /** Closes an action, again while the answer is 429, which clients repeat; expects no other refusal. */
  untilClosed(id: string | undefined, finished: string): Promise<void> {
    const status = { execution: 'closed', result: { finished } };
    return eventually('the closing is kept', async () => {
      const answer = await this.ask('POST', `/deploymentBase/${id}/feedback`, { status });
      expect([200, 429]).toContain(answer.status);
      return answer.status === 200;
    });
  }

  /** Answers a cancellation. */
  answerCancel(id: string | undefined, execution = 'closed'): Promise<Answer> {
    const status = { execution, result: { finished: 'success' }, details: [] };
    return this.accepted(this.ask('POST', `/cancelAction/${id}/feedback`, { id, status }));
  }

  /** Throws unless the status is exactly 200 and the length is told: Zephyr takes nothing else. */
  private async accepted(asked: Promise<Answer>): Promise<Answer> {
    const answer = await asked;
    const length = answer.headers.get('content-length');
    if (answer.status === 200 && length !== null) return answer;
    throw new Error(`${answer.status}, length ${length}: ${answer.text.slice(0, 200)}`);
  }
}

/** Reads what the answer to a poll lists. */
export function readPoll({ body = {} }: Answer): Polled {
  const { config, _links: links } = body as {
    config: { polling: { sleep: string } };
    _links: Json;
  };
  const id = (name: string) => {
    const { href } = (links[name] ?? {}) as { href?: string };
    return href?.split('/').at(-1);
  };
  const deployment = id('deploymentBase');
  const cancel = id('cancelAction');
  const asksAttributes = links.configData !== undefined;
  return { sleep: config.polling.sleep, deployment, cancel, asksAttributes };
}
