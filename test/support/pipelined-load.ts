// Update checks at a rate that only pipelining reaches, of which every one is answered in the end.

import { connect } from 'node:net';
import { sleep } from './eventually.ts';
import type { ServingNode } from './node.ts';
import type { Tenant } from './tenant.ts';

const CONNECTIONS = 32;
const PIPELINE_MAX = 16;
const SILENCE_MS_MAX = 10_000;

export type Check = { readonly device: string; readonly version: string };
type Answered = (check: Check, node: ServingNode) => void;

/** Update checks over keep-alive connections with pipelining; what stays unanswered is asked elsewhere. */
export class PipelinedLoad {
  readonly statuses = new Map<number, number>();
  answerCount = 0;
  private readonly nodes: readonly ServingNode[];
  private readonly tenant: Pick<Tenant, 'app'>;
  private readonly waiting: Check[] = [];
  private next = 0;
  private unanswered = 0;

  constructor(tenant: Pick<Tenant, 'app'>, nodes: readonly ServingNode[]) {
    this.tenant = tenant;
    this.nodes = nodes;
  }

  /** Resolves when every check was answered. */
  async run(checks: readonly Check[], onAnswer: Answered = () => undefined): Promise<void> {
    this.waiting.length = 0;
    this.next = 0;
    this.unanswered = checks.length;
    const take = () => this.waiting.pop() ?? checks[this.next++];
    await Promise.all(
      Array.from({ length: CONNECTIONS }, async (_, lane) => {
        while (this.unanswered > 0) {
          const living = this.nodes.filter((node) => !node.process.hasExited());
          const node = living[lane % living.length];
          if (node === undefined) throw new Error('no node is left to ask');
          await this.converse(node, take, onAnswer);
          await sleep(1);
        }
      }),
    );
  }

  /** One connection, until it breaks or there is nothing left to ask. */
  private converse(
    node: ServingNode,
    take: () => Check | undefined,
    onAnswer: Answered,
  ): Promise<void> {
    const socket = connect(Number(new URL(node.url).port), '127.0.0.1');
    socket.setNoDelay(true);
    socket.setTimeout(SILENCE_MS_MAX, () => socket.destroy());
    const asked: Check[] = [];
    let unread = '';
    const ask = () => {
      let text = '';
      while (asked.length < PIPELINE_MAX) {
        const wanted = take();
        if (wanted === undefined) break;
        asked.push(wanted);
        text += this.requestOf(wanted);
      }
      if (text !== '') socket.write(text);
      else if (asked.length === 0) socket.destroy();
    };
    socket.on('connect', ask);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      unread += chunk.toString('latin1');
      for (let answer = readAnswer(unread); answer; answer = readAnswer(unread)) {
        unread = unread.slice(answer.length);
        const answered = asked.shift();
        if (answered === undefined) throw new Error('an answer that nobody asked for');
        this.unanswered -= 1;
        this.answerCount += 1;
        this.statuses.set(answer.status, (this.statuses.get(answer.status) ?? 0) + 1);
        onAnswer(answered, node);
      }
      ask();
    });
    return new Promise((resolve) => {
      socket.on('close', () => {
        this.waiting.push(...asked);
        resolve();
      });
    });
  }

  private requestOf({ device, version }: Check): string {
    const path = `/u/${this.tenant.app}/stable/linux/x86_64/${version}`;
    return `GET ${path} HTTP/1.1\r\nHost: sluice\r\nX-Service-Device: ${device}\r\n\r\n`;
  }
}

/** The first whole answer in a text; undefined when there is none yet. */
function readAnswer(text: string): { status: number; length: number } | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const head = text.slice(0, end);
  const bodyLength = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  const length = end + 4 + bodyLength;
  if (text.length < length) return undefined;
  return { status: Number(head.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length)), length };
}
