// Finds what is new in the entries of an index against those of a known one. Most are the same, at the
// beginning and at the end, and are recognised without taking the texts apart: an index of thousands of
// releases is compared in the time that a few entries take to parse.

const SPACE = 32;

/** Difference of the entries of an index from those of a known one. */
export type EntriesDifference = {
  /** Number of entries at the beginning that both have. */
  readonly first: number;
  /** Number of entries at the end that both have, beyond those at the beginning. */
  readonly last: number;
  /** Entries between them, in the form that `parseEntries` reads. */
  readonly between: string;
  /** Entries that the known index has there. */
  readonly instead: string;
};

/** Compares two texts of entries, which are separated by spaces. */
export function compareEntries(text: string, known: string): EntriesDifference {
  const head = commonHead(text, known);
  const tail = commonTail(text, known, head.length);
  return {
    first: head.count,
    last: tail.count,
    between: partBetween(text, head, tail),
    instead: partBetween(known, head, tail),
  };
}

function partBetween(text: string, head: CommonPart, tail: CommonPart): string {
  return text.slice(head.length, text.length - tail.length).trim();
}

/** Part of a text that is the same in another: its length, and the number of whole entries in it. */
type CommonPart = { readonly length: number; readonly count: number };

/** Returns the beginning that both have, up to and with a space behind whole entries. */
function commonHead(text: string, known: string): CommonPart {
  const limit = Math.min(text.length, known.length);
  let length = 0;
  let count = 0;
  let place = 0;
  for (; place < limit; place++) {
    const code = text.charCodeAt(place);
    if (code !== known.charCodeAt(place)) return { length, count };
    if (code !== SPACE) continue;
    length = place + 1;
    count += 1;
  }
  // One of them is at its end; the last entry is whole if the other one ends or goes on with a space.
  const isWhole = limit > 0 && endsAt(text, limit) && endsAt(known, limit);
  return isWhole
    ? { length: Math.min(limit + 1, text.length), count: count + 1 }
    : { length, count };
}

/** Returns the end that both have behind `head` characters, which begins behind a space. */
function commonTail(text: string, known: string, head: number): CommonPart {
  const limit = Math.min(text.length, known.length) - head;
  let length = 0;
  let count = 0;
  for (let back = 1; back <= limit; back++) {
    const code = text.charCodeAt(text.length - back);
    if (code !== known.charCodeAt(known.length - back)) return { length, count };
    if (code !== SPACE) continue;
    length = back - 1;
    count += 1;
  }
  const isWhole = limit > 0 && beginsAt(text, limit, head) && beginsAt(known, limit, head);
  return isWhole ? { length: limit, count: count + 1 } : { length, count };
}

function endsAt(text: string, place: number): boolean {
  return place === text.length || text.charCodeAt(place) === SPACE;
}

/** Whether an entry begins `back` characters before the end, not before `head`. */
function beginsAt(text: string, back: number, head: number): boolean {
  const place = text.length - back;
  return place === head || text.charCodeAt(place - 1) === SPACE;
}
