// Keeps the answers of a chaos run, and which faults there were when, and has each answer judged.

import type { DdiChange } from './ddi-oracle.ts';
import type { Moment, Span } from './fact.ts';
import { BEHIND_MS_MAX, type ModelChannel, oldestState, type Told } from './oracle.ts';

/** What a fault keeps from working: a node by its name, or one of the stores. */
export type Struck = 'ledger' | 'engine' | { readonly node: string };

type FaultSpan = {
  readonly struck: Struck;
  readonly from: Moment;
  to: Moment;
  /** Moment since which the ledger loses what it was told; Infinity if it loses nothing. */
  readonly losesSince: Moment;
};
export type Unjudged = Omit<Told, 'version'>;

/** How a request may be refused: with which statuses, and by which faults. */
export type Refusable = { readonly statuses: readonly number[]; readonly by: 'any' | 'node' };
const UNAVAILABLE: Refusable = { statuses: [503], by: 'any' };

const FINDINGS_MAX = 100;
const OF_A_KIND_MAX = 2;

export class Judge {
  readonly counts = {
    ...{ offered: 0, nothing: 0, unavailable: 0, unreachable: 0 },
    /** Answers to devices that speak DDI, and the closings of actions among them. */
    ...{ ddi: 0, closed: 0 },
  };
  /** What was wrong, in words; only the first are kept. */
  readonly findings: string[] = [];
  wrongCount = 0;
  private readonly kinds = new Map<string, number>();
  private readonly faults: FaultSpan[] = [];

  /** `upstreamOf` names the node that each edge follows. */
  constructor(private readonly upstreamOf: ReadonlyMap<string, string>) {}

  /** Notes that a fault begins; the function that is returned ends it. */
  begin(struck: Struck, losesSince = Number.POSITIVE_INFINITY): () => void {
    const fault = { struck, from: performance.now(), to: Number.POSITIVE_INFINITY, losesSince };
    this.faults.push(fault);
    return () => {
      fault.to = performance.now();
    };
  }

  /** Judges what a device was told. */
  told(model: ModelChannel, told: Told): void {
    const { asked, answered, node, version } = told;
    this.counts[version === undefined ? 'nothing' : 'offered'] += 1;
    const from = oldestState(asked, this.deafSpans(node));
    // An edge needs its upstream for a first offer, as a node needs the ledger.
    const isAlone = this.upstreamOf.has(node) && this.ownSpans(node).some(({ to }) => to >= from);
    const isLedgerAway = this.faults.some(({ struck, to }) => struck === 'ledger' && to >= from);
    const mayHoldBack = isAlone || isLedgerAway;
    const span = { from, to: answered };
    // Which writes the ledger loses is not known until it can be read.
    const fault = this.isLosing(told) ? undefined : model.fault(told, span, mayHoldBack);
    if (fault !== undefined) this.wrong(told, fault);
    const release = version === undefined ? undefined : model.releases.get(version);
    if (release !== undefined) release.offeredAt = Math.min(release.offeredAt, answered);
  }

  /** Judges an answer that refuses: it is right only around a fault, and with a status that may be. */
  refused(told: Unjudged, status: number, text: string, { statuses, by } = UNAVAILABLE): void {
    this.counts.unavailable += 1;
    const isDisturbed = by === 'node' ? this.isStruck(told) : this.isDisturbed(told);
    if (statuses.includes(status) && isDisturbed) return;
    this.wrong(told, `${status} ${text}`);
  }

  /** Judges that there was no answer, which is right only around a fault. */
  unanswered(told: Unjudged): void {
    this.counts.unreachable += 1;
    if (!this.isDisturbed(told)) this.wrong(told, 'no answer');
  }

  /**
   * Notes what is wrong; `kind` is what it has in common with others, of which only the first few are kept.
   */
  note(finding: string, kind = finding): void {
    this.wrongCount += 1;
    const known = this.kinds.get(kind) ?? 0;
    this.kinds.set(kind, known + 1);
    if (known < OF_A_KIND_MAX && this.findings.length < FINDINGS_MAX) this.findings.push(finding);
  }

  /** Returns the span of states that an answer may be given by. */
  spanOf({ node, asked, answered }: Unjudged): Span {
    return { from: oldestState(asked, this.deafSpans(node)), to: answered };
  }

  /** Returns whether the ledger was going back during a request. */
  isLosing({ asked, answered }: Pick<Unjudged, 'asked' | 'answered'>): boolean {
    return this.faults.some(({ losesSince, from, to }) => {
      return losesSince !== Number.POSITIVE_INFINITY && from <= answered && to >= asked;
    });
  }

  /** Judges an answer to a device that speaks DDI; `fault` says what is wrong with it. */
  toldDdi(told: Unjudged, fault: string | undefined): void {
    this.counts.ddi += 1;
    if (fault !== undefined) this.wrong(told, fault);
  }

  /**
   * Returns whether the stores surely have a change of a device that speaks DDI: the ledger does, or the
   * engine has not been struck since.
   */
  isKept(change: DdiChange): boolean {
    const { asked, answered } = change;
    if (answered === Number.POSITIVE_INFINITY) return false;
    const isLost = this.faults.some(({ losesSince, to }) => asked <= to && answered >= losesSince);
    if (isLost) return false;
    const until = this.recordedUntil(change);
    return !this.faults.some((fault) => {
      const { struck, from, to } = fault;
      const isLate = to < asked && !this.isBehind(fault, change);
      return struck === 'engine' && from <= until && !isLate;
    });
  }

  /**
   * Returns whether an engine that was struck may not have had, at a change, what the ledger got meanwhile:
   * it follows within seconds, unless the ledger is struck before it has. A change of an older state gives
   * way to the ledger's.
   */
  private isBehind({ to: back }: FaultSpan, { asked, answered }: DdiChange): boolean {
    return this.faults.some(({ struck, from, to }) => {
      const isSoon = from <= back + BEHIND_MS_MAX && to >= back;
      return struck === 'ledger' && isSoon && from <= answered && to + BEHIND_MS_MAX >= asked;
    });
  }

  /** Returns the moment until which the engine alone may have a change. */
  private recordedUntil({ asked, answered, isClosing }: DdiChange): Moment {
    const others = this.faults.filter(({ struck }) => struck !== 'engine');
    const isLedgerAway = others.some(({ struck, from, to }) => {
      return struck === 'ledger' && from <= answered && to >= asked - BEHIND_MS_MAX;
    });
    if (isClosing && !isLedgerAway) return Number.NEGATIVE_INFINITY;
    let until = answered + BEHIND_MS_MAX;
    for (const { from, to } of others) {
      if (from <= until && to >= answered) until = Math.max(until, to + BEHIND_MS_MAX);
    }
    return until;
  }

  private wrong({ node, device, asked, answered }: Unjudged, why: string): void {
    const seconds = (moment: Moment) =>
      moment === Number.POSITIVE_INFINITY ? 'now' : `${((moment - asked) / 1000).toFixed(1)} s`;
    const active = this.faults.filter(({ from, to }) => from <= answered && to >= asked - 10_000);
    const around = active.map(({ struck, from, to }) => {
      const name = typeof struck === 'string' ? struck : struck.node;
      return `${name} ${seconds(from)}..${seconds(to)}`;
    });
    const told = `${node} to ${device} after ${Math.round(answered - asked)} ms`;
    this.note(`${told}: ${why} [faults: ${around.join(', ')}]`, why);
  }

  private isDisturbed({ asked, answered }: Unjudged): boolean {
    const from = oldestState(asked, []);
    return this.faults.some((fault) => fault.from <= answered && fault.to >= from);
  }

  /** Returns whether the node itself was struck around a request. */
  private isStruck({ node, asked, answered }: Unjudged): boolean {
    const earliest = oldestState(asked, []);
    return this.ownSpans(node).some(({ from, to }) => from <= answered && to >= earliest);
  }

  /** Lists the spans in which a node was struck, or the one that it follows. */
  private ownSpans(node: string): readonly FaultSpan[] {
    const isOwn = (name: string) => name === node || name === this.upstreamOf.get(node);
    return this.faults.filter(({ struck }) => typeof struck === 'object' && isOwn(struck.node));
  }

  /**
   * Lists the spans in which a node could not hear of changes: two stores were struck, or one and the node
   * itself, or the node stood still.
   */
  private deafSpans(node: string): readonly Span[] {
    const own = this.ownSpans(node);
    const stores = this.faults.filter(({ struck }) => typeof struck === 'string');
    const pairs = stores.flatMap((one) => {
      const others = stores.filter(({ struck }) => struck !== one.struck);
      return others.map(({ from, to }) => ({
        ...{ from: Math.max(one.from, from), to: Math.min(one.to, to) },
      }));
    });
    return [...own, ...pairs.filter(({ from, to }) => from <= to)];
  }
}
