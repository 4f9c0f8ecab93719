// House rules that Biome has no rule for: names of folders, opening comments, doc comments, namesakes, and
// lines that the formatter does not break. Looks at one file at a time, and at its text only.

import { basename } from 'node:path';

const LINE_COLUMNS_MAX = 110;

/** Files named for what all their exports are, not for one of them, and why. */
const COLLECTIONS: Readonly<Record<string, string>> = {
  'src/contract/resource.ts': "the contract's resources, in its order",
  'src/contract/console-fleet.ts': 'what the console knows of devices',
  'src/contract/rollout-plan.ts': 'plans, signals and health, as the contract has them',
  'src/domain/rollout/plan-state.ts': 'the state of a plan, and its plainest changes',
  'src/setting-shape.ts': 'the shapes of all settings',
  'src/http/shape/device-field.ts': 'the fields by which a device is told',
};

const TYPESCRIPT = /\.tsx?$/;
const KEBAB_CASE = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const VAGUE_NAME = /^(?:utils?|helpers?|misc)$/;
const BARREL = /^index\.tsx?$/;
const LEFTOVER = /(?:\/\/|^\s*\/?\*|^\s*--).*\b(TODO|FIXME|XXX|HACK)\b/m;
const UNCHECKED = /^\s*\/[/*]\s*@ts-nocheck\b/m;
const DOC_COMMENT = /\/\*\*[ \t]*(?:\n\s*\*)?[ \t]*(.*)/g;
/** Words that a doc comment begins with when it does not name its subject. */
const HEADLESS = /^(?:Of|That|Those|As|Likewise|The same|How many|Where|Whose|Whom?)\b/;
const EXPORT =
  /^export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(const|let|function\*?|class|type|interface|enum)\s+([\w$]+)/gm;

/** Returns what is wrong with a file; `path` is relative to the root of the repository, with `/`. */
export function houseRules(path: string, text: string): string[] {
  const rules = [misnamed, unopened, tooWide, leftover, headless, notNamesake];
  return rules.flatMap((rule) => rule(path, text));
}

/** Names of folders and of files in other languages: Biome checks the names of its own files only. */
function misnamed(path: string): string[] {
  return path.split('/').flatMap((part) => {
    const [name = ''] = part.split('.');
    const isVague = BARREL.test(part) || name.split('-').some((word) => VAGUE_NAME.test(word));
    return [
      ...(KEBAB_CASE.test(name) ? [] : [`"${part}" is not kebab-case`]),
      ...(isVague ? [`"${part}" says nothing about what is inside`] : []),
    ];
  });
}

function unopened(path: string, text: string): string[] {
  const opening = /\.(?:sql|lua)$/.test(path) ? /^--/ : /^(?:#!.*\n)?\/[/*]/;
  const isChecked = TYPESCRIPT.test(path) || /^src\/.*\.(?:sql|lua|css|js)$/.test(path);
  return isChecked && !opening.test(text) ? ['does not open with a comment on what it is for'] : [];
}

function tooWide(path: string, text: string): string[] {
  if (!TYPESCRIPT.test(path)) return [];
  return text.split('\n').flatMap((line, index) => {
    // A line without a space inside (an address, a pattern) cannot be broken, and the title of a test stays
    // whole.
    const isTitle = path.startsWith('test/') && /^\s*(?:it|describe|test)\b.*['"`]/.test(line);
    const columns = [...line].length;
    return columns > LINE_COLUMNS_MAX && /\s/.test(line.trim()) && !isTitle
      ? [`line ${index + 1} has ${columns} columns (at most ${LINE_COLUMNS_MAX})`]
      : [];
  });
}

function leftover(path: string, text: string): string[] {
  if (!/\.(?:tsx?|mjs|js|sql|lua|css)$/.test(path)) return [];
  const mark = LEFTOVER.exec(text)?.[1];
  return [
    ...(mark === undefined ? [] : [`${mark} was left behind`]),
    ...(UNCHECKED.test(text) ? ['silences the compiler'] : []),
  ];
}

function headless(path: string, text: string): string[] {
  if (!TYPESCRIPT.test(path)) return [];
  return [...text.matchAll(DOC_COMMENT)].flatMap(([, first = '']) =>
    HEADLESS.test(first) ? [`a doc comment does not begin with its subject: ${first}`] : [],
  );
}

/** Types that the namesake's signature needs may stand before it; any other export may not. */
function notNamesake(path: string, text: string): string[] {
  if (!path.startsWith('src/') || !TYPESCRIPT.test(path) || path in COLLECTIONS) return [];
  const exports = [...text.matchAll(EXPORT)].map(([, kind, name = '']) => ({ kind, name }));
  const main = exports.find(({ kind }) => kind !== 'type') ?? exports[0];
  if (main === undefined) return [];
  const code = exports.find(({ kind }) => kind !== 'type' && kind !== 'interface') ?? main;
  const named = basename(path).replace(TYPESCRIPT, '').replaceAll('-', '');
  const isNamesake = [exports[0] ?? main, main, code].some(({ name }) => {
    const exported = name.replaceAll('_', '').toLowerCase();
    return exported.includes(named) || named.includes(exported);
  });
  return isNamesake ? [] : [`its first export, ${code.name}, is not its namesake`];
}
