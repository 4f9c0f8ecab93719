// The house rules as a function: which room of src/ may import which, how files are named, how long they
// get. `tidy(root)` lists every breach; a test runs it, so that a rule nobody checks is never written.
// Reads text, not syntax trees: rules that formatted code makes easy to see need no compiler.

import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative, sep } from 'node:path';
import { type ImportStatement, importsOf, type SourceText, scanSource } from './scan-source.ts';

/** Who may import whom. A room is the longest of these paths that a file lies in. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  domain: ['contract'],
  ports: ['contract', 'domain'],
  operations: ['contract', 'domain', 'ports', 'observe'],
  'engine/memory': ['contract', 'domain', 'ports'],
  'engine/redis': ['contract', 'domain', 'ports'],
  'engine/disk': ['contract', 'domain', 'ports'],
  password: ['ports'],
  ledger: ['contract', 'domain', 'ports'],
  http: ['contract', 'domain', 'ports', 'operations', 'observe'],
  background: ['contract', 'domain', 'ports', 'operations', 'observe'],
  observe: ['contract', 'config.ts'],
  console: ['contract'],
  cli: ['contract', 'config.ts', 'token-file.ts', 'main.ts'],
  'config.ts': ['contract'],
  'token-file.ts': [],
  // Knows every room, and nothing of how many processes there are.
  compose: [
    ...['contract', 'domain', 'ports', 'operations', 'http', 'background', 'observe', 'ledger'],
    ...['engine/memory', 'engine/redis', 'engine/disk', 'password', 'config.ts', 'token-file.ts'],
  ],
  // Knows processes and what they tell each other, and nothing of what they do.
  processes: ['observe'],
  // The files that bring both together: several processes as one service, and each of those processes.
  'supervisor.ts': ['observe', 'config.ts', 'processes'],
  'start-service.ts': ['observe', 'config.ts', 'compose', 'processes', 'supervisor.ts'],
  'subprocess.ts': ['observe', 'config.ts', 'compose', 'processes'],
  'main.ts': ['contract', 'observe', 'config.ts', 'token-file.ts', 'start-service.ts'],
};

/** Rooms from which only types may be taken: the importing room knows the shape, never the code. */
const TYPES_ONLY: Readonly<Record<string, readonly string[]>> = {
  operations: ['observe'],
  observe: ['config.ts'],
  http: ['ports'],
};

/** What may be taken as code from a room that otherwise gives only types, and why. */
const CODE_FROM_TYPES_ONLY: Readonly<Record<string, string>> = {
  'ports/unavailable.ts': 'the edge tells a store that is away (503) from a bug (500) by its class',
};

/** Packages that belong to one room. */
const PACKAGE_ROOM: Readonly<Record<string, string>> = {
  'uWebSockets.js': 'http',
  ioredis: 'engine/redis',
  argon2: 'password',
  pg: 'ledger',
  '@electric-sql/pglite': 'ledger',
  preact: 'console',
  'preact-iso': 'console',
  uplot: 'console',
};

/** Rooms that import these packages and nothing else from outside: what they import goes to browsers. */
const ONLY_PACKAGES: Readonly<Record<string, readonly string[]>> = {
  console: ['preact', 'preact-iso', 'uplot'],
};

/** Rooms that import no package and no part of Node: they are the same everywhere. */
const PURE_ROOMS: readonly string[] = ['contract', 'domain'];

/** Files beside config.ts that read the environment, and why. */
const ENVIRONMENT_READERS: Readonly<Record<string, string>> = {
  'http/server.ts': 'sets, never reads: uWebSockets.js takes its header limit from there only',
};

/** Files beside main.ts and cli/ that may end the process, and why. */
const PROCESS_ENDERS: Readonly<Record<string, string>> = {
  'ledger/pglite-process.ts': 'a process of its own, which ends itself when its parent is gone',
  'subprocess.ts': 'likewise: it also ends when it was told to stop and has',
};

/** Files that nothing imports, and why. */
const ENTRIES: Readonly<Record<string, string>> = {
  'main.ts': 'starts the service',
  'cli/sluice.ts': 'the command',
  'console/main.tsx': 'begins the console in the browser; its page names it',
  'subprocess.ts': 'forked: a serving process beside others, or the background work',
  'ledger/pglite-process.ts': 'forked, so that the embedded database is off the serving thread',
};

/** Files named for what all their exports are, not for one of them, and why. */
const COLLECTIONS: Readonly<Record<string, string>> = {
  'contract/resource.ts': "the contract's resources, in its order",
  'console/api/resource.ts': 'what the console API answers, in the order of its endpoints',
};

const FILE_LINES_MAX = 400;
const LINE_COLUMNS_MAX = 110;
const FUNCTION_LINES_MAX = 70;

const FOLDERS = ['src', 'test', 'bench', 'scripts'];
const KEBAB_CASE = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const VAGUE_NAME = /^(?:utils?|helpers?|misc)$/;
const LEFTOVER = /\b(?:TODO|FIXME|XXX|HACK)\b/;
const SILENCED = /@ts-(?:ignore|nocheck)\b/;
const ANY_TYPE = /(?:[:<,|&(]|\bas)\s*any\b(?!\s*[:(])/;
const EXPORT =
  /^export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(const|let|function\*?|class|type|interface|enum)\s+([\w$]+)/gm;
const SKIPPED_TEST = /\b(?:it|test|describe|suite)(?:\.\w+)*\.(only|skip)\b/;
const FUNCTION_START =
  /(?:\bfunction\b|=>\s*\{$|^\s*(?:(?:private|protected|public|static|async|override|get|set)\s+)*(?!(?:if|for|while|switch|catch|return|with)\b)[#\w$]+(?:<.*>)?\(.*(?:\{|\()$)/;

/** A file of the tree: `path` is relative to the root, with `/`; `code` is there for TypeScript. */
type TreeFile = {
  readonly path: string;
  readonly text: string;
  readonly lines: readonly string[];
  readonly code: SourceText | undefined;
  readonly imports: readonly ImportStatement[];
};

/** Every breach of the house rules below `root`, as `path: what is wrong`, in path order. */
export function tidy(root: string): string[] {
  const files = FOLDERS.flatMap((folder) => listFiles(root, join(root, folder))).map((path) =>
    readTreeFile(root, path),
  );
  const rules = [...RULES, (file: TreeFile) => whenUnimported(file, files)];
  return files.flatMap((file) =>
    rules.flatMap((rule) => rule(file)).map((what) => `${file.path}: ${what}`),
  );
}

/** A rule looks at one file and says what is wrong with it. */
const RULES: readonly ((file: TreeFile) => string[])[] = [
  whenMisnamed,
  whenWithoutOpeningComment,
  whenTooLong,
  whenFunctionTooLong,
  whenLeftover,
  whenTypesAreSilenced,
  whenSkipped,
  whenExportedBadly,
  whenNotNamesake,
  whenImportedAcrossRooms,
  whenPackageOutOfRoom,
  whenProcessTouched,
];

function whenMisnamed({ path }: TreeFile): string[] {
  const parts = path.split('/');
  const complaints: string[] = [];
  for (const part of parts) {
    const [name = ''] = part.split('.');
    if (!KEBAB_CASE.test(name)) complaints.push(`"${part}" is not kebab-case`);
    if (name.split('-').some((word) => VAGUE_NAME.test(word))) {
      complaints.push(`"${part}" says nothing about what is inside`);
    }
  }
  return complaints;
}

function whenWithoutOpeningComment({ path, text, code }: TreeFile): string[] {
  const opening = path.endsWith('.sql') || path.endsWith('.lua') ? /^--/ : /^(?:#!.*\n)?\/[/*]/;
  const isChecked = code !== undefined || /^src\/.*\.(?:sql|lua|css|js)$/.test(path);
  return isChecked && !opening.test(text) ? ['does not open with a comment on what it is for'] : [];
}

function whenTooLong({ path, code, lines }: TreeFile): string[] {
  if (code === undefined) return [];
  const complaints = lines.flatMap((line, index) => {
    // What has no space inside (an address, a pattern) cannot be broken, and a test's title is a sentence.
    const isTitle = path.startsWith('test/') && /^\s*(?:it|describe|test)\b.*['"`]/.test(line);
    const isBreakable = /\s/.test(line.trim()) && !isTitle;
    const columns = [...line].length;
    return isBreakable && columns > LINE_COLUMNS_MAX
      ? [`line ${index + 1} has ${columns} columns (at most ${LINE_COLUMNS_MAX})`]
      : [];
  });
  // A contract suite is as long as the contract; it is read by its titles.
  if (lines.length > FILE_LINES_MAX && !path.startsWith('test/')) {
    complaints.push(`has ${lines.length} lines (at most ${FILE_LINES_MAX})`);
  }
  return complaints;
}

/** By indentation, which the formatter guarantees: a function ends where a `}` stands below its start. */
function whenFunctionTooLong({ path, code }: TreeFile): string[] {
  // A test's `describe` is a function that only groups.
  if (code === undefined || path.startsWith('test/')) return [];
  const lines = code.code.split('\n');
  return lines.flatMap((line, start) => {
    if (!FUNCTION_START.test(line)) return [];
    const indent = line.length - line.trimStart().length;
    const length = lines.slice(start + 1).findIndex((later) => {
      const isClosing = later[indent] === '}' && later.slice(0, indent).trim() === '';
      return isClosing && !later.endsWith('{');
    });
    return length + 2 > FUNCTION_LINES_MAX
      ? [
          `line ${start + 1} begins a function of ${length + 2} lines (at most ${FUNCTION_LINES_MAX})`,
        ]
      : [];
  });
}

function whenLeftover({ path, code, text }: TreeFile): string[] {
  const remarks = code?.comments ?? (/\.(?:sql|lua|css|js)$/.test(path) ? text : '');
  const found = LEFTOVER.exec(remarks);
  return found === null ? [] : [`${found[0]} was left behind`];
}

function whenTypesAreSilenced({ code }: TreeFile): string[] {
  if (code === undefined) return [];
  const silenced = SILENCED.exec(code.comments);
  return [
    ...(silenced === null ? [] : [`${silenced[0]} silences the compiler`]),
    ...(ANY_TYPE.test(code.code) ? ['uses the type any'] : []),
  ];
}

function whenSkipped({ path, code, lines }: TreeFile): string[] {
  if (code === undefined || !path.startsWith('test/')) return [];
  return code.code.split('\n').flatMap((line, index) => {
    const found = SKIPPED_TEST.exec(line);
    if (found === null) return [];
    // A reason is a comment beside it, or the end of the title in parentheses, where a run shows it.
    const near = lines.slice(Math.max(0, index - 1), index + 3);
    const hasComment = near.slice(0, 2).some((text) => text.includes('//'));
    const hasReason = hasComment || /\.skip\(\s*(['"`]).*\)\1/.test(near.slice(-3).join(' '));
    return found[1] === 'skip' && hasReason
      ? []
      : [`line ${index + 1}: .${found[1]} without a reason`];
  });
}

function whenExportedBadly({ path, code, imports }: TreeFile): string[] {
  if (code === undefined) return [];
  const complaints: string[] = [];
  if (/^\s*export\s+default\b|\bas\s+default\b/m.test(code.code))
    complaints.push('has a default export');
  const isOnlyReexport =
    imports.some((each) => each.isReexport) &&
    imports.reduce((left, each) => left.replace(each.statement, ''), code.code).trim() === '';
  if (isOnlyReexport || /(?:^|\/)index\.ts$/.test(path)) complaints.push('is a barrel');
  return complaints;
}

/** Types that the namesake's signature needs may stand before it; any other export may not. */
function whenNotNamesake({ path, code }: TreeFile): string[] {
  if (code === undefined || !path.startsWith('src/')) return [];
  if (path.slice('src/'.length) in COLLECTIONS) return [];
  const exports = [...code.code.matchAll(EXPORT)].map(([, kind, name = '']) => ({ kind, name }));
  const [first] = exports;
  if (first === undefined) return [];
  const main = exports.find(({ kind }) => kind !== 'type') ?? first;
  const firstCode = exports.find(({ kind }) => kind !== 'type' && kind !== 'interface') ?? main;
  const named = posix
    .basename(path)
    .replace(/\.tsx?$/, '')
    .replaceAll('-', '');
  const isNamesake = [first, main, firstCode].some(({ name }) => {
    const exported = name.replaceAll('_', '').toLowerCase();
    return exported.includes(named) || named.includes(exported);
  });
  return isNamesake ? [] : [`its first export, ${firstCode.name}, is not its namesake`];
}

function whenImportedAcrossRooms(file: TreeFile): string[] {
  if (!file.path.startsWith('src/') || file.code === undefined) return [];
  const room = roomOf(file.path);
  if (room === undefined) return ['lies in no room that the import rules know'];
  return file.imports.flatMap((each) => {
    const target = targetOf(file, each);
    if (target === undefined) return [];
    const targetRoom = roomOf(target);
    if (targetRoom === room) return [];
    const isAllowed = targetRoom !== undefined && ROOMS[room]?.includes(targetRoom);
    if (!isAllowed) return [`${room} must not import ${target}`];
    if (targetRoom === 'main.ts' && !(each.isDynamic || /\bserve[^/]*$/.test(file.path))) {
      return ['only the serve command imports main.ts, or the import is a dynamic one'];
    }
    const needsTypes = TYPES_ONLY[room]?.includes(targetRoom) && !each.isType;
    return needsTypes && !Object.hasOwn(CODE_FROM_TYPES_ONLY, target.slice('src/'.length))
      ? [`${room} may take only types from ${target}`]
      : [];
  });
}

function whenPackageOutOfRoom({ path, imports }: TreeFile): string[] {
  const room = roomOf(path);
  if (room === undefined) return [];
  return imports.flatMap(({ from }) => {
    if (from.startsWith('.')) return [];
    const [name = from] = from.split('/');
    const isBarred = ONLY_PACKAGES[room]?.includes(name) === false;
    if (isBarred || PURE_ROOMS.includes(room)) return [`${room} must not import ${from}`];
    const owner = Object.entries(PACKAGE_ROOM).find(
      ([name]) => from === name || from.startsWith(`${name}/`),
    );
    return owner === undefined || owner[1] === room ? [] : [`only ${owner[1]} imports ${owner[0]}`];
  });
}

function whenProcessTouched({ path, code, imports }: TreeFile): string[] {
  if (code === undefined || !path.startsWith('src/')) return [];
  const inside = path.slice('src/'.length);
  const complaints: string[] = [];
  const mayRead = inside === 'config.ts' || Object.hasOwn(ENVIRONMENT_READERS, inside);
  if (!mayRead && /\bprocess\s*(?:\?\.|\.)\s*env\b|\bprocess\s*(?:\?\.)?\[/.test(code.code)) {
    complaints.push('only config.ts reads process.env');
  }
  const isStart = inside === 'main.ts' || inside.startsWith('cli/');
  const mayExit = isStart || Object.hasOwn(PROCESS_ENDERS, inside);
  if (!mayExit && /\bprocess\s*\.\s*(?:exit|abort|reallyExit)\b/.test(code.code)) {
    complaints.push('only main.ts and cli/ end the process');
  }
  if (imports.some(({ from }) => from === 'node:process' || from === 'process')) {
    complaints.push('imports node:process, which hides who reads the environment: use the global');
  }
  return complaints;
}

function whenUnimported(file: TreeFile, files: readonly TreeFile[]): string[] {
  if (!file.path.startsWith('src/') || file.code === undefined) return [];
  if (Object.hasOwn(ENTRIES, file.path.slice('src/'.length))) return [];
  // A test that imports it does not count: code that only its test knows is dead.
  const isImported = files
    .filter((other) => other.path.startsWith('src/') && other !== file)
    .some((other) => other.imports.some((each) => targetOf(other, each) === file.path));
  return isImported ? [] : ['is imported by nothing in src/'];
}

/** The file a relative import names, relative to the root; undefined for packages. */
function targetOf({ path }: TreeFile, { from }: ImportStatement): string | undefined {
  return from.startsWith('.') ? posix.join(posix.dirname(path), from) : undefined;
}

function roomOf(path: string): string | undefined {
  if (!path.startsWith('src/')) return undefined;
  const inside = path.slice('src/'.length);
  return Object.keys(ROOMS).find((room) => inside === room || inside.startsWith(`${room}/`));
}

function listFiles(root: string, folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
      .sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function readTreeFile(root: string, path: string): TreeFile {
  const text = readFileSync(join(root, path), 'utf8');
  const lines = text.replace(/\n$/, '').split('\n');
  const code = /\.tsx?$/.test(path) ? scanSource(text) : undefined;
  return { path, text, lines, code, imports: code === undefined ? [] : importsOf(text, code) };
}
