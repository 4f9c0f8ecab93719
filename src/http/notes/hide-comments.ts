// Removes HTML comments from Markdown, such as the one that GitHub writes at the head of generated notes.
// They are not for readers, but a parser without HTML would show them. Comments within code stay.

import type { MarkdownIt, StateBlock, StateInline } from 'markdown-it';

const OPEN = '<!--';
const CLOSE = '-->';
/** Offset in `<!--` from which the end is searched: `<!-->` is a whole comment. */
const CLOSE_FROM = 2;
/** Indentation from which a line belongs to a code block. */
const CODE_INDENT = 4;

/** Makes a parser leave out comments; a comment without an end stays as text. */
export function hideComments(parser: MarkdownIt): void {
  const interrupts = { alt: ['paragraph', 'reference', 'blockquote'] };
  parser.block.ruler.before('hr', 'comment', hideBlock, interrupts);
  parser.inline.ruler.before('autolink', 'comment', hideInline);
}

/** Comments at the beginning of a text. */
const AT_HEAD = /^(?:\s*<!--[\s\S]*?-->)+\s*/;

/** Returns notes without the comments at their head. */
export function withoutHeadComments(notes: string): string {
  return notes.replace(AT_HEAD, '');
}

/** Block rule: leaves out comments at the beginning of a line, and parses text after them as usual. */
function hideBlock(state: StateBlock, startLine: number, endLine: number, isSilent: boolean) {
  const { src } = state;
  if (numberAt(state.sCount, startLine) - state.blkIndent >= CODE_INDENT) return false;
  let line = startLine;
  let pos = startOf(state, line);
  if (!src.startsWith(OPEN, pos)) return false;
  while (src.startsWith(OPEN, pos)) {
    const close = closeOf(state, line, pos + CLOSE_FROM, endLine);
    if (close === undefined) return false;
    line = close.line;
    pos = state.skipSpaces(close.pos);
  }
  const hasText = pos < numberAt(state.eMarks, line);
  // The inline rule leaves out a comment that is followed by text on the same line.
  if (hasText && line === startLine) return false;
  if (isSilent) return true;
  if (hasText) {
    state.bMarks[line] = pos;
    state.tShift[line] = 0;
  }
  state.line = hasText ? line : line + 1;
  return true;
}

/** Key in the parser's `env`: line before which no comment ends, so that many beginnings take linear time. */
const OPEN_UNTIL = Symbol('line up to which no comment ends');

/** Returns the position after the end of a comment; undefined if its quote or list item ends first. */
function closeOf(
  state: StateBlock,
  startLine: number,
  startPos: number,
  endLine: number,
): { readonly line: number; readonly pos: number } | undefined {
  const { src, env } = state;
  if (startLine < Number(env[OPEN_UNTIL] ?? 0)) return undefined;
  let line = startLine;
  for (let pos = startPos; line < endLine; pos = startOf(state, line)) {
    const end = src.slice(pos, numberAt(state.eMarks, line)).indexOf(CLOSE);
    if (end !== -1) return { line, pos: pos + end + CLOSE.length };
    line += 1;
    const isOutside = !state.isEmpty(line) && numberAt(state.sCount, line) < state.blkIndent;
    if (isOutside) break;
  }
  env[OPEN_UNTIL] = line;
  return undefined;
}

/** Key in the parser's `env`: text in which no comment ends. */
const WITHOUT_CLOSE = Symbol('text in which no comment ends');

/** Inline rule: leaves out a comment within a paragraph. */
function hideInline(state: StateInline): boolean {
  const { src, pos, env } = state;
  if (!src.startsWith(OPEN, pos) || env[WITHOUT_CLOSE] === src) return false;
  const end = src.indexOf(CLOSE, pos + CLOSE_FROM);
  if (end === -1) env[WITHOUT_CLOSE] = src;
  else state.pos = end + CLOSE.length;
  return end !== -1;
}

function startOf({ bMarks, tShift }: StateBlock, line: number): number {
  return numberAt(bMarks, line) + numberAt(tShift, line);
}

function numberAt(numbers: readonly number[], index: number): number {
  return numbers[index] ?? 0;
}
