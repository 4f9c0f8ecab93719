// Mutations: small changes of the source, each of which some test ought to notice. TypeScript is read by its
// syntax; SQL and Lua by their words, because a mutation that does not parse proves nothing.

import { type Node, parseSync } from 'oxc-parser';

/** Change of one piece of a file: characters `start` to `end` (UTF-16) become `after`. */
export type Candidate = {
  readonly start: number;
  readonly end: number;
  readonly before: string;
  readonly after: string;
  /** Kind of change, such as `compare`. */
  readonly mutator: string;
};

/** Returns the mutations of a TypeScript file. */
export function codeCandidates(path: string, text: string): readonly Candidate[] {
  const found: Candidate[] = [];
  const add = (mutator: string, [start, end]: Span, after: string): void => {
    found.push({ start, end, before: text.slice(start, end), after, mutator });
  };
  walk(parseSync(path, text).program, (node) => mutate(node, text, add));
  return found;
}

/** Returns the mutations of the statements that a TypeScript file has as template literals. */
export function statementCandidates(path: string, text: string): readonly Candidate[] {
  const found: Candidate[] = [];
  walk(parseSync(path, text).program, (node) => {
    if (node.type !== 'TemplateElement' || !STATEMENT.test(node.value.raw)) return;
    found.push(...wordCandidates(text, SQL_WORDS, [node.start, node.end]));
  });
  return found;
}

/** Returns the mutations of a file of SQL functions. */
export function sqlCandidates(text: string): readonly Candidate[] {
  return wordCandidates(text, SQL_WORDS, [0, text.length]);
}

/** Returns the mutations of a script in Lua. */
export function luaCandidates(text: string): readonly Candidate[] {
  return wordCandidates(text, LUA_WORDS, [0, text.length]);
}

type Span = readonly [start: number, end: number];
type Add = (mutator: string, span: Span, after: string) => void;

const COMPARED: Readonly<Record<string, string>> = {
  ...{ '===': '!==', '!==': '===', '<': '<=', '<=': '<', '>': '>=', '>=': '>' },
  ...{ '+': '-', '-': '+', '*': '/', '/': '*', '&&': '||', '||': '&&' },
};
const METHODS: Readonly<Record<string, string>> = {
  ...{ some: 'every', every: 'some', min: 'max', max: 'min', startsWith: 'endsWith' },
  ...{ floor: 'ceil', ceil: 'floor', push: 'unshift', find: 'findLast' },
};

/** Adds the mutations of one node. */
function mutate(node: Node, text: string, add: Add): void {
  switch (node.type) {
    case 'BinaryExpression':
    case 'LogicalExpression': {
      const after = COMPARED[node.operator];
      const at = text.indexOf(node.operator, node.left.end);
      const isText = node.operator === '+' && /['"`]/.test(text.slice(node.start, node.end));
      if (after !== undefined && !isText) add('operator', [at, at + node.operator.length], after);
      return;
    }
    case 'UnaryExpression':
      if (node.operator === '!') add('not', [node.start, node.argument.start], '');
      return;
    case 'IfStatement':
    case 'ConditionalExpression':
      for (const value of ['true', 'false'])
        add('condition', [node.test.start, node.test.end], value);
      return;
    case 'Literal':
      if (typeof node.value === 'boolean') add('boolean', spanOf(node), String(!node.value));
      if (typeof node.value === 'number') add('number', spanOf(node), String(node.value + 1));
      return;
    case 'ReturnStatement':
      if (node.argument) add('return', [node.argument.start, node.argument.end], 'undefined');
      return;
    case 'ExpressionStatement':
      if (isCall(node.expression)) add('statement', spanOf(node), ';');
      return;
    case 'MemberExpression': {
      if (node.computed || node.property.type !== 'Identifier') return;
      const after = METHODS[node.property.name];
      if (after !== undefined) add('method', spanOf(node.property), after);
      return;
    }
  }
}

function spanOf({ start, end }: Node): Span {
  return [start, end];
}

function isCall(node: Node): boolean {
  if (node.type === 'AwaitExpression') return isCall(node.argument);
  return node.type === 'CallExpression';
}

/** Calls `visit` for each node that runs; leaves out types, imports, and texts of errors and of the log. */
function walk(node: Node, visit: (node: Node) => void): void {
  if (isLeftOut(node)) return;
  visit(node);
  for (const value of Object.values(node)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (isNode(each)) walk(each, visit);
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}

const RUNNING_TS = new Set(['TSAsExpression', 'TSNonNullExpression', 'TSSatisfiesExpression']);

function isLeftOut(node: Node): boolean {
  if (node.type.startsWith('TS')) return !RUNNING_TS.has(node.type);
  if (node.type === 'ImportDeclaration' || node.type === 'ThrowStatement') return true;
  const callee = node.type === 'CallExpression' ? node.callee : undefined;
  if (callee?.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return false;
  return ['info', 'warn', 'debug', 'error', 'describe'].includes(callee.property.name);
}

type Words = readonly (readonly [mutator: string, pattern: RegExp, after: string])[];

const STATEMENT = /\b(?:SELECT|INSERT|UPDATE|DELETE|WHERE|JOIN|ORDER BY)\b/;

/** A comparison is one only behind a condition: `SET a = b` assigns. */
const SQL_WORDS: Words = [
  ['compare', /(?<=\b(?:WHERE|AND|OR|ON|WHEN)\b[^\n=;]*) = (?!ANY\b)/g, ' <> '],
  ['compare', / <> /g, ' = '],
  ['compare', / < /g, ' <= '],
  ['compare', / <= /g, ' < '],
  ['compare', / > /g, ' >= '],
  ['compare', / >= /g, ' > '],
  ['logic', /\bAND\b(?! \d| clock| now)/g, 'OR'],
  ['logic', /\bOR\b(?! REPLACE)/g, 'AND'],
  ['null', /\bIS NOT NULL\b/g, 'IS NULL'],
  ['null', /\bIS NULL\b/g, 'IS NOT NULL'],
  ['exists', /\bNOT EXISTS\b/g, 'EXISTS'],
  ['arithmetic', /(?<=[\w)]) \+ (?=[\w(])/g, ' - '],
  ['arithmetic', /(?<=[\w)]) - (?=[\w(])/g, ' + '],
  ['extreme', /\bleast\(/g, 'greatest('],
  ['extreme', /\bgreatest\(/g, 'least('],
  ['extreme', /\bmax\(/g, 'min('],
  ['order', / DESC\b/g, ''],
  ['lock', /\bFOR (?:NO KEY )?UPDATE\b(?: OF \w+)?(?: SKIP LOCKED)?/g, ''],
  ['boolean', /\btrue\b/g, 'false'],
  ['boolean', /\bfalse\b/g, 'true'],
];

const LUA_WORDS: Words = [
  ['compare', / == /g, ' ~= '],
  ['compare', / ~= /g, ' == '],
  ['compare', / < /g, ' <= '],
  ['compare', / <= /g, ' < '],
  ['compare', / > /g, ' >= '],
  ['compare', / >= /g, ' > '],
  ['logic', / and /g, ' or '],
  ['logic', / or /g, ' and '],
  ['not', /\bnot /g, ''],
  ['arithmetic', / \+ /g, ' - '],
  ['arithmetic', / - /g, ' + '],
  ['number', /\b1\b/g, '2'],
  ['statement', /^ +redis\.call\([^\n]*\)$/gm, ''],
];

function wordCandidates(text: string, words: Words, [from, to]: Span): readonly Candidate[] {
  return words.flatMap(([mutator, pattern, after]) =>
    [...text.matchAll(pattern)].flatMap(({ index, 0: before }) => {
      const end = index + before.length;
      if (index < from || end > to || isComment(text, index)) return [];
      return [{ start: index, end, before, after, mutator }];
    }),
  );
}

/** Returns whether a place is behind `--` on its line. */
function isComment(text: string, at: number): boolean {
  return text.slice(text.lastIndexOf('\n', at - 1) + 1, at).includes('--');
}
