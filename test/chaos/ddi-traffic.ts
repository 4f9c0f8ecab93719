// Devices of a chaos run that speak DDI. Each makes one request after another, at whatever node: it polls,
// tells what it is, installs what is listed, reports, and restarts with the new version. Every answer is
// judged.

import { DdiDevice, readPoll } from '../support/ddi-device.ts';
import { sleep } from '../support/eventually.ts';
import type { Answer } from '../support/tenant.ts';
import { type DdiChange, DdiHistory, unacknowledged } from './ddi-oracle.ts';
import type { Judge, Refusable, Unjudged } from './judge.ts';
import type { Random } from './random.ts';
import { type ChaosApp, DEVICE_PAUSE_MS, INSTALLED, within } from './traffic.ts';
import type { World } from './world.ts';

/** Devices of a loop: so few that each is asked for often, and so many that none meets its limit. */
const DEVICES = 16;
const ANSWERS = ['closed', 'canceled', 'rejected'] as const;
/** Text that is no JSON in place of its quotation marks, as SWUpdate sends it. */
const TEXTS = ['a reason', 'line\nbreak', 'a "quoted" word', '\u0000\u2028"}]', 'x'.repeat(4000)];
const KEPT_ELSE_503: Refusable = { statuses: [503], by: 'any' };
/** A fetch may be 404 as well, which is judged by what was listed. */
const FETCHED: Refusable = { statuses: [503], by: 'any' };
const CLOSING: Refusable = { statuses: [429], by: 'any' };
/** Progress needs no store. */
const PROGRESS: Refusable = { statuses: [429], by: 'node' };
const FAILS_SHARE = 0.25;
const REVERTS_SHARE = 0.15;

type Playing = {
  readonly world: World;
  readonly app: ChaosApp;
  readonly judge: Judge;
  readonly random: Random;
  /** Number of the loop, in the ids of its devices. */
  readonly loop: number;
};

/** Answer with what the judge has to know of it. */
type Asked = {
  readonly answer: Answer | undefined;
  readonly told: Unjudged;
  readonly change: DdiChange;
};

/** Plays devices of one app until `isOver`. */
export async function playDdiDevices(playing: Playing, isOver: () => boolean): Promise<void> {
  const devices = Array.from({ length: DEVICES }, (_, index) => new Player(playing, index));
  while (!isOver()) {
    await playing.random.pick(devices).step();
    await sleep(DEVICE_PAUSE_MS);
  }
}

class Player {
  private readonly id: string;
  private readonly history: DdiHistory;
  /** Whether its address says the version; otherwise its attributes do. */
  private readonly isVersionInAddress: boolean;
  private version = INSTALLED;
  private before = INSTALLED;
  private mustTell = true;
  /** Action that it was listed, and its version once it has fetched that. */
  private action: { readonly id: string; readonly version: string | undefined } | undefined;
  private cancel: string | undefined;

  constructor(
    private readonly playing: Playing,
    index: number,
  ) {
    const { app, loop } = playing;
    this.id = `ddi-${loop}-${index}`;
    this.history = new DdiHistory(this.id, app.model, app.numbers);
    app.histories.set(this.id, this.history);
    this.isVersionInAddress = index % 2 === 0;
  }

  /** Makes the next request. */
  step(): Promise<void> {
    const roll = this.playing.random.next();
    if (this.mustTell) return this.tell();
    if (this.cancel !== undefined && roll < 0.7) return this.answerCancel(this.cancel);
    if (this.action !== undefined && roll < 0.8) return this.install(this.action);
    const canRevert = this.version !== this.before && this.action === undefined;
    return canRevert && roll > 1 - REVERTS_SHARE ? this.restart(this.before) : this.poll();
  }

  private async poll(): Promise<void> {
    const { history } = this;
    const version = this.isVersionInAddress ? this.version : undefined;
    const { answer, told } = await this.ask('GET', '', undefined, KEPT_ELSE_503);
    if (answer?.status !== 200) return history.pollUnanswered(version, told.asked);
    const { deployment, cancel, asksAttributes } = readPoll(answer);
    const polled = { version, deployment, cancel, asksAttributes };
    this.judge(told, history.poll({ ...this.seen(told), ...polled }));
    this.mustTell = asksAttributes;
    this.cancel = cancel;
    if (deployment === undefined) this.action = undefined;
    else if (this.action?.id !== deployment) this.action = { id: deployment, version: undefined };
  }

  private async tell(): Promise<void> {
    const version = this.isVersionInAddress ? undefined : this.version;
    const data = { note: this.text(), ...(version !== undefined && { version }) };
    const { answer, told, change } = await this.ask('PUT', '/configData', { data }, KEPT_ELSE_503);
    const isTold = answer?.status === 200;
    this.history.attributes(isTold ? change : unacknowledged(told.asked), version);
    if (!isTold) return;
    this.judge(told, undefined);
    this.mustTell = false;
  }

  private install({ id, version }: { id: string; version: string | undefined }): Promise<void> {
    const { random } = this.playing;
    if (version === undefined) return this.fetch(id);
    return random.next() < 0.4 ? this.progress(id) : this.close(id, version);
  }

  private async fetch(id: string): Promise<void> {
    const { answer, told } = await this.ask('GET', `/deploymentBase/${id}`, undefined, FETCHED);
    const { status, body } = answer ?? {};
    if (status !== 200 && status !== 404) return;
    const { deployment } = (body ?? {}) as { deployment?: { chunks: { version: string }[] } };
    const version = deployment?.chunks[0]?.version;
    this.judge(told, this.history.fetched(this.seen(told), id, version));
    this.action = version === undefined ? undefined : { id, version };
  }

  private async progress(id: string): Promise<void> {
    const status = {
      execution: 'proceeding',
      result: { finished: 'none' },
      details: [this.text()],
    };
    const { answer, told } = await this.report(`/deploymentBase/${id}/feedback`, status, PROGRESS);
    if (answer?.status === 200) this.judge(told, undefined);
  }

  private async close(id: string, version: string): Promise<void> {
    const result = this.playing.random.next() < FAILS_SHARE ? 'failure' : 'success';
    const status = { execution: 'closed', result: { finished: result }, details: [this.text()] };
    const path = `/deploymentBase/${id}/feedback`;
    const { answer, told, change } = await this.report(path, status, CLOSING);
    const isClosed = answer?.status === 200;
    const closing = isClosed ? change : unacknowledged(told.asked);
    this.history.closed(id, version, result, { ...closing, isClosing: true });
    if (isClosed) {
      this.judge(told, undefined);
      this.playing.judge.counts.closed += 1;
    }
    // Clients repeat a 429, and nothing else.
    if (answer?.status === 429) return;
    this.action = undefined;
    if (result === 'success') await this.restart(version);
  }

  private async answerCancel(id: string): Promise<void> {
    const { random } = this.playing;
    const result = { finished: 'success' };
    const status = { execution: random.pick(ANSWERS), result, details: [this.text()] };
    const path = `/cancelAction/${id}/feedback`;
    const { answer, told, change } = await this.report(path, status, KEPT_ELSE_503);
    if (answer === undefined) return;
    this.history.cancelled(id, answer.status === 200 ? change : unacknowledged(told.asked));
    if (answer.status !== 200) return;
    this.judge(told, undefined);
    this.cancel = undefined;
  }

  /** Starts with a version, and tells that. */
  private async restart(version: string): Promise<void> {
    if (version !== this.before) this.before = this.version;
    this.version = version;
    this.mustTell = !this.isVersionInAddress;
  }

  /** Sends feedback, now and then as a text that is no JSON. */
  private report(path: string, status: object, refusable: Refusable): Promise<Asked> {
    const text = JSON.stringify({ status });
    const body = this.playing.random.next() < 0.3 ? text.replaceAll('\\', '') : text;
    return this.ask('POST', path, body, refusable);
  }

  private text(): string {
    return this.playing.random.pick(TEXTS);
  }

  /** Asks any node. Answers with other statuses than 200 and those that may be are judged as wrong. */
  private async ask(
    method: string,
    below: string,
    body: unknown,
    refusable: Refusable,
  ): Promise<Asked> {
    const { world, app, judge, random } = this.playing;
    const node = random.pick(world.nodes);
    const machine = ['linux/x86_64', ...(this.isVersionInAddress ? [this.version] : [])].join('/');
    const device = new DdiDevice(node.serving, app.tenant.app, this.id, { machine });
    const asked = performance.now();
    const answer = await within(device.ask(method, below, body));
    const answered = performance.now();
    const told = { node: node.name, device: this.id, asked, answered };
    if (answer === undefined) judge.unanswered(told);
    else if (answer.status !== 404 || refusable !== FETCHED) {
      const isSuccess = answer.status === 200 && answer.headers.get('content-length') !== null;
      if (!isSuccess) judge.refused(told, answer.status, answer.text, refusable);
    }
    return { answer, told, change: { asked, answered, isClosing: false } };
  }

  private seen(told: Unjudged) {
    const { judge } = this.playing;
    const { asked, answered } = told;
    const isKept = (change: DdiChange) => judge.isKept(change);
    return { asked, answered, span: judge.spanOf(told), isLosing: judge.isLosing(told), isKept };
  }

  private judge(told: Unjudged, fault: string | undefined): void {
    this.playing.judge.toldDdi(told, fault);
  }
}
