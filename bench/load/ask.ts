// Asks one thing after another on connections that are kept, for what is measured or compared by its answers.

import { createHash } from 'node:crypto';
import { Agent, request } from 'node:http';
import { nthRequest, type Question } from './question.ts';

/** Answer of a server, without the headers that every server adds by itself. */
export type FixedAnswer = {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
};

type Answers = readonly FixedAnswer[];

const OWN_HEADERS = /^(?:date|uwebsockets|content-length|connection|keep-alive)$/i;
const PROBE_LANES = 16;
/** Times in an answer, such as the creation time of a release. Comparisons ignore them. */
const TIMES = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

export function ask(agent: Agent, url: string, device: string): Promise<FixedAnswer> {
  return new Promise((resolve, reject) => {
    const headers = { 'x-service-device': device };
    const sent = request(url, { agent, headers }, (response) => {
      const { rawHeaders: raw, statusCode: status = 0 } = response;
      const pairs = raw.flatMap((name, index): [string, string][] =>
        index % 2 === 1 || OWN_HEADERS.test(name) ? [] : [[name, raw[index + 1] ?? '']],
      );
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject);
      response.on('end', () => {
        resolve({ status, headers: pairs, body: Buffer.concat(chunks).toString('utf8') });
      });
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** Makes as many checks as are wanted over this number of connections; answers are in the order of checks. */
export async function askAll(
  lanes: number,
  count: number,
  check: (index: number) => { readonly url: string; readonly device: string },
): Promise<FixedAnswer[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: lanes });
  const answers: FixedAnswer[] = new Array(count);
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) {
      const { url, device } = check(index);
      answers[index] = await ask(agent, url, device);
    }
  };
  try {
    await Promise.all(Array.from({ length: lanes }, lane));
    return answers;
  } finally {
    agent.destroy();
  }
}

export function askFirst(url: string, question: Question, count: number): Promise<FixedAnswer[]> {
  return askAll(PROBE_LANES, count, (index) => {
    const { path, device } = nthRequest(question, index);
    return { url: url + path, device };
  });
}

/** Checksum of the first answers, which tells whether two runs measured the same, and the first of them. */
export async function probe(url: string, question: Question, count: number) {
  const answers = await askFirst(url, question, count);
  const checksum = checksumOf(answers.map(({ status, body }) => `${status} ${body}\n`));
  return { checksum, first: answers[0] as FixedAnswer };
}

export function checksumOf(texts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(text);
  return hash.digest('hex').slice(0, 12);
}

/** Share of the answers that one service gave and the other did not; cohorts, and so orders, are random. */
export function differingShare(answers: Answers, others: Answers): number {
  const surplus = new Map<string, number>();
  const count = ({ status, headers, body }: FixedAnswer, by: number) => {
    const text = JSON.stringify([status, headers, body.replace(TIMES, '')]);
    surplus.set(text, (surplus.get(text) ?? 0) + by);
  };
  for (const answer of answers) count(answer, 1);
  for (const answer of others) count(answer, -1);
  const unmatched = [...surplus.values()].reduce((sum, left) => sum + Math.abs(left), 0);
  return unmatched / (answers.length + others.length);
}
