// The matrix: on which set-ups a suite over HTTP runs. A suite runs once, on the best set-up that the machine
// has: PostgreSQL and Redis where both are installed, else embedded. What a set-up can change is proved on
// that set-up: the ports by their contract suites (test/store/ledger, test/store/engine), the embedded set-up
// by test/service/embedded.test.ts, an edge by test/service/edge.test.ts, and by the suites of the list
// below. `npm run test:all` does more, in two runs: `SLUICE_MATRIX=all` adds the edge, and the whole engine
// contract on a cluster; `SLUICE_MATRIX=embedded`, on another Node, has suites over HTTP embedded: those on
// the run's nodes, and of those with nodes of their own what an HTTP engine can change.

export type SetUp = 'embedded' | 'PostgreSQL and Redis' | 'edge';

/** Suites with nodes of their own that also run embedded, by title, with what that set-up can change. */
const ALSO_EMBEDDED: Readonly<Record<string, string>> = {
  crash: 'PGlite recovers its directory by itself, PostgreSQL outlives the node',
  stop: 'the ledger closes with the node',
};

const { SLUICE_MATRIX } = process.env;
/** Whether suites of devices run on an edge as well, and the engine contract whole on a cluster. */
export const IS_WHOLE_MATRIX = SLUICE_MATRIX === 'all';
/** Whether suites over HTTP run embedded alone, and the ledger's rules whole on PGlite. */
export const IS_EMBEDDED = SLUICE_MATRIX === 'embedded';

/**
 * Returns the set-ups that a suite runs on, of those that it knows and the machine has, the best first. Empty
 * when the machine has none of them.
 */
export function setUpsOf(title: string, known: readonly SetUp[], hasReal: boolean): SetUp[] {
  const order = ['PostgreSQL and Redis', 'embedded', 'edge'] as const;
  const there = order.filter((setUp) => known.includes(setUp) && (hasReal || setUp !== order[0]));
  if (IS_EMBEDDED) return there.filter((setUp) => setUp === 'embedded');
  return there.filter(
    (setUp, index) =>
      index === 0 || (setUp === 'embedded' ? title in ALSO_EMBEDDED : IS_WHOLE_MATRIX),
  );
}
