// Splits TypeScript text into code and comments, and finds its imports, for the house rules. A scanner, not
// a parser: it only has to know where strings, comments and patterns begin and end, so that a rule about
// code does not trip over a word in a string.

/** Both have the length and the line breaks of the text; what is not theirs is blank. */
export type SourceText = {
  /** Without comments, and without what stands inside quotes. */
  readonly code: string;
  readonly comments: string;
};

export type ImportStatement = {
  /** As written: a package, `node:…` or a relative path. */
  readonly from: string;
  /** Whether nothing of it is left when the types are gone. */
  readonly isType: boolean;
  readonly isReexport: boolean;
  readonly isDynamic: boolean;
  /** How the statement reads in `code`. */
  readonly statement: string;
};

const STATIC_IMPORT = /\b(import|export)\b([^;'"`()=]*?)(?:\bfrom\s*)?(['"])( *)\3;?/g;
const DYNAMIC_IMPORT = /\b(typeof\s+)?import\s*\(\s*(['"])( *)\2\s*\)/g;

/** What a `/` after these begins is a pattern; after anything else it divides. */
const BEFORE_PATTERN =
  /(?:^|[([{,;:=!&|?+\-*%<>~^}\n]|\b(?:return|typeof|case|of|in|void|await|yield))\s*$/;

type Span = 'code' | 'comment' | 'text';

/** Splits the text; see `SourceText`. */
export function scanSource(text: string): SourceText {
  const code: string[] = [];
  const comments: string[] = [];
  for (const [span, piece] of spansOf(text)) {
    const blank = piece.replace(/[^\n]/g, ' ');
    code.push(span === 'code' ? piece : blank);
    comments.push(span === 'comment' ? piece : blank);
  }
  return { code: code.join(''), comments: comments.join('') };
}

/** Every import and re-export of a file, static, for its effect only, or dynamic. */
export function importsOf(text: string, { code }: SourceText): ImportStatement[] {
  const found: ImportStatement[] = [];
  for (const match of code.matchAll(STATIC_IMPORT)) {
    const [statement, keyword, names = '', quote = '', blank = ''] = match;
    // Without `from`, only `import '…'` is an import; `export const a = '…'` never gets here for its `=`.
    const hasFrom = /\bfrom\s*$/.test(statement.slice(0, statement.indexOf(quote)));
    if (!hasFrom && (keyword === 'export' || names.trim() !== '')) continue;
    const start = match.index + statement.indexOf(quote) + 1;
    found.push({
      from: text.slice(start, start + blank.length),
      isType: isTypeOnly(names),
      isReexport: keyword === 'export',
      isDynamic: false,
      statement,
    });
  }
  for (const match of code.matchAll(DYNAMIC_IMPORT)) {
    const [statement, typeQuery, quote = '', blank = ''] = match;
    const start = match.index + statement.indexOf(quote) + 1;
    const from = text.slice(start, start + blank.length);
    const isType = typeQuery !== undefined;
    found.push({ from, isType, isReexport: false, isDynamic: true, statement });
  }
  return found;
}

/** `type X`, `type { X }` or `{ type X, type Y }`. */
function isTypeOnly(names: string): boolean {
  const trimmed = names.trim();
  if (/^type\b/.test(trimmed)) return true;
  const listed = /^\{(.*)\}$/s.exec(trimmed)?.[1];
  if (listed === undefined) return false;
  const each = listed.split(',').filter((name) => name.trim() !== '');
  return each.length > 0 && each.every((name) => /^\s*type\s/.test(name));
}

/** The text in pieces. Quotes count as code, so that a rule sees that a string stood there. */
function* spansOf(text: string): Generator<readonly [Span, string]> {
  /** Braces open inside each template's `${`, innermost last. */
  const templates: number[] = [];
  let at = 0;
  let codeFrom = 0;
  const skip = function* (kind: Span, to: number): Generator<readonly [Span, string]> {
    yield ['code', text.slice(codeFrom, at)];
    yield [kind, text.slice(at, to)];
    at = to;
    codeFrom = to;
  };
  while (at < text.length) {
    const here = text[at];
    const depth = templates.at(-1);
    if (text.startsWith('//', at)) yield* skip('comment', endOf(text, at, '\n', 0));
    else if (text.startsWith('/*', at)) yield* skip('comment', endOf(text, at + 2, '*/', 2));
    else if (here === '"' || here === "'") {
      at += 1;
      yield* skip('text', quotedEnd(text, at, here));
      at += 1;
    } else if (here === '`' || (here === '}' && depth === 0)) {
      if (here === '}') templates.pop();
      at += 1;
      const end = templateEnd(text, at);
      yield* skip('text', end);
      if (text[end] === '$') templates.push(0);
      at += text[end] === '$' ? 2 : 1;
    } else if (here === '/' && beginsPattern(text, at)) {
      at += 1;
      yield* skip('text', patternEnd(text, at));
      at += 1;
    } else {
      if (depth !== undefined && here === '{') templates[templates.length - 1] = depth + 1;
      if (depth !== undefined && here === '}') templates[templates.length - 1] = depth - 1;
      at += 1;
    }
  }
  yield ['code', text.slice(codeFrom)];
}

/** A `</` closes an element and a `/>` ends one: neither ever begins a pattern. */
function beginsPattern(text: string, at: number): boolean {
  if (text[at - 1] === '<' || text[at + 1] === '>') return false;
  return BEFORE_PATTERN.test(text.slice(Math.max(0, at - 40), at));
}

function endOf(text: string, from: number, mark: string, length: number): number {
  const found = text.indexOf(mark, from);
  return found === -1 ? text.length : found + length;
}

function quotedEnd(text: string, from: number, quote: string): number {
  let at = from;
  while (at < text.length && text[at] !== quote && text[at] !== '\n') {
    at += text[at] === '\\' ? 2 : 1;
  }
  return Math.min(at, text.length);
}

/** Where a template's text stops: at its closing quote or at `${`. */
function templateEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== '`' && !text.startsWith('${', at)) {
    at += text[at] === '\\' ? 2 : 1;
  }
  return Math.min(at, text.length);
}

/** Where a pattern's closing `/` stands; a `/` in a class does not close it. */
function patternEnd(text: string, from: number): number {
  let at = from;
  let isInClass = false;
  while (at < text.length && text[at] !== '\n' && (isInClass || text[at] !== '/')) {
    if (text[at] === '[') isInClass = true;
    if (text[at] === ']') isInClass = false;
    at += text[at] === '\\' ? 2 : 1;
  }
  return Math.min(at, text.length);
}
