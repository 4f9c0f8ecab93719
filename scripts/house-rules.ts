// House rules that Biome has no rule for: names of folders, opening comments, doc comments, lines that the
// formatter does not break, and the length of functions in SQL. Looks at one file at a time, and at its text
// only.

const LINE_COLUMNS_MAX = 110;
const SQL_FUNCTION_LINES_MAX = 120;

const TYPESCRIPT = /\.tsx?$/;
const KEBAB_CASE = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const VAGUE_NAME = /^(?:utils?|helpers?|misc)$/;
const BARREL = /^index\.tsx?$/;
const LEFTOVER = /(?:\/\/|^\s*\/?\*|^\s*--).*\b(TODO|FIXME|XXX|HACK)\b/m;
const UNCHECKED = /^\s*\/[/*]\s*@ts-nocheck\b/m;
const DOC_COMMENT = /\/\*\*[ \t]*(?:\n\s*\*)?[ \t]*(.*)/g;
const SQL_FUNCTION = /^CREATE (?:OR REPLACE )?FUNCTION (\w+)[\s\S]*?\$\$[\s\S]*?\$\$;$/gm;
/** Words that a doc comment begins with when it does not name its subject. */
const HEADLESS = /^(?:Of|That|Those|As|Likewise|The same|How many|Where|Whose|Whom?)\b/;

/** Returns what is wrong with a file; `path` is relative to the root of the repository, with `/`. */
export function houseRules(path: string, text: string): string[] {
  const rules = [misnamed, unopened, tooWide, leftover, headless, tooLong];
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

/** Functions in SQL, from the first line of the statement to its last. Biome measures those in TypeScript. */
function tooLong(path: string, text: string): string[] {
  if (!/^src\/.*\.sql$/.test(path)) return [];
  return [...text.matchAll(SQL_FUNCTION)].flatMap(([statement, name]) => {
    const lines = statement.split('\n').length;
    return lines > SQL_FUNCTION_LINES_MAX
      ? [`function ${name} has ${lines} lines (at most ${SQL_FUNCTION_LINES_MAX})`]
      : [];
  });
}
