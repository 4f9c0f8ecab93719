// Compiles src/ to dist/, carries over the files the compiler does not know (.sql, .lua), bundles the console
// for browsers, each of its files also compressed, because the service only ever sends them as they are,
// bundles what a process of the service loads, and makes the migrated ledger that every new embedded ledger
// is a copy of. With --if-stale it does nothing when dist/ is newer than every source, so `npm start` stays
// quick. Plain JavaScript, because it runs before anything has been compiled.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import zlib from 'node:zlib';

const script = fileURLToPath(import.meta.url);
const root = dirname(dirname(script));
const source = join(root, 'src');
const output = join(root, 'dist');
const stamp = join(output, '.built');
/** Programs that load hundreds of modules: each is bundled. */
const PROGRAMS = ['main', 'node/processes/subprocess', 'cli/sluice', 'http/notes/notes-thread'];
/**
 * Packages that are not bundled: they have native code, files or optional packages of their own, or few
 * processes load them.
 */
const UNBUNDLED = [
  ...['uWebSockets.js', '@node-rs/argon2', '@electric-sql/pglite', 'pg'],
  ...['@simplewebauthn/server', 'nodemailer', 'sanitize-html', 'markdown-it'],
  ...['context-async-hooks', 'core', 'otlp-exporter-base', 'otlp-transformer', 'resources'].map(
    (name) => `@opentelemetry/${name}`,
  ),
  '@opentelemetry/sdk-trace-base',
];

const brotli = promisify(zlib.brotliCompress);
const gzip = promisify(zlib.gzip);

/** Every file below src/, as absolute paths. */
function sourceFiles() {
  return readdirSync(source, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function isFresh() {
  if (!existsSync(stamp)) return false;
  const builtAt = statSync(stamp).mtimeMs;
  const inputs = [
    ...sourceFiles(),
    join(root, 'package-lock.json'),
    join(root, 'tsconfig.json'),
    script,
  ];
  return inputs.every((file) => statSync(file).mtimeMs <= builtAt);
}

async function build() {
  // Built aside and put in place at once: whatever runs from dist/ never finds half of it, and a file that
  // was deleted from src/ does not live on.
  const draft = join(root, `dist.${process.pid}`);
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  // `npm run types` checks the types, which takes five times as long as compiling without.
  const args = [compiler, '-p', source, '--outDir', draft, '--noCheck'];
  const compiled = spawnSync(process.execPath, args, { stdio: 'inherit' });
  if (compiled.status !== 0) {
    rmSync(draft, { recursive: true, force: true });
    process.exit(compiled.status ?? 1);
  }
  for (const file of sourceFiles()) {
    if (/\.(sql|lua)$/.test(file)) cpSync(file, join(draft, relative(source, file)));
  }
  try {
    // Before the bundles, which keep this process from hearing the database for seconds.
    await provideTemplate(draft);
    await Promise.all([
      bundlePage('console', join(draft, 'console')),
      bundlePage('console/reference', join(draft, 'reference')),
      bundlePrograms(draft).then(() => packCommand(draft)),
    ]);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    throw error;
  }
  chmodSync(join(draft, 'cli', 'sluice.js'), 0o755);
  for (const folder of [draft, join(draft, 'cli-package', 'dist')]) {
    writeFileSync(join(folder, 'commit'), `${readCommit()}\n`);
  }
  writeFileSync(join(draft, '.built'), '');
  putInPlace(draft);
}

/** Returns the commit of these sources, which `/metrics` and `sluice --version` tell; `unknown` without git. */
function readCommit() {
  // An image is built without .git.
  if (process.env.SLUICE_COMMIT) return process.env.SLUICE_COMMIT;
  // Not the commit of a repository around this one, such as that of a program that has Sluice as a package.
  const args = ['describe', '--always', '--dirty', '--abbrev=12', '--exclude=*'];
  const told = existsSync(join(root, '.git'))
    ? spawnSync('git', args, { cwd: root, encoding: 'utf8' })
    : undefined;
  return told?.status === 0 ? told.stdout.trim() : 'unknown';
}

/**
 * Bundles a page of src/ for browsers. Its files name each other by relative addresses; the page gets those of
 * its assets when it is served.
 *
 * @param {string} name
 * @param {string} folder
 */
async function bundlePage(name, folder) {
  // Loaded here, because a start that builds nothing must not wait for it.
  const vite = await import('vite');
  await vite.build({
    configFile: false,
    root: join(source, name),
    base: './',
    logLevel: 'warn',
    build: {
      outDir: folder,
      emptyOutDir: true,
      target: 'es2022',
      // The first ones that know light-dark(), which would be put in other words for those before.
      cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
      cssCodeSplit: false,
      // Swagger UI is one large file, which only the page of the API loads.
      chunkSizeWarningLimit: 2000,
      // On a busy machine it would warn of how long plugins take.
      rolldownOptions: { checks: { bundlerTimings: false } },
      // Everything is a file of its own: the content security policy knows no exceptions.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
    },
  });
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name === 'index.html') continue;
    const file = join(entry.parentPath, entry.name);
    const bytes = readFileSync(file);
    writeFileSync(`${file}.br`, await brotli(bytes));
    writeFileSync(`${file}.gz`, await gzip(bytes, { level: 9 }));
  }
}

/**
 * Puts the modules of the programs together in a few files, with the packages that every process loads. A node
 * and its background process start in 1.06 s of processor time; when they loaded some 700 modules of packages
 * one by one they took 1.44 s (medians of 6 and 10 starts). The code is not minified, and source maps lead to
 * src/.
 *
 * @param {string} draft
 */
async function bundlePrograms(draft) {
  const vite = await import('vite');
  const built = await vite.build({
    configFile: false,
    root,
    // Warnings would be about comments in packages.
    logLevel: 'error',
    oxc: false,
    plugins: [modulesOf(draft)],
    ssr: { noExternal: true, external: UNBUNDLED },
    build: {
      ssr: true,
      outDir: draft,
      emptyOutDir: false,
      sourcemap: true,
      rolldownOptions: {
        input: Object.fromEntries(PROGRAMS.map((name) => [name, join(draft, `${name}.js`)])),
        output: { entryFileNames: '[name].js', chunkFileNames: 'bundle/[name]-[hash].js' },
      },
    },
  });
  writeFileSync(join(draft, 'THIRD-PARTY-LICENSES'), licencesOf(built));
}

/**
 * Makes a package of the command for machines that the service does not run on: one file, which needs no
 * other package, so that a pipeline installs it without a registry; and the licences of what is in it.
 *
 * @param {string} draft
 */
async function packCommand(draft) {
  const vite = await import('vite');
  const folder = join(draft, 'cli-package');
  const built = await vite.build({
    configFile: false,
    root,
    // Warnings would be about comments in packages.
    logLevel: 'error',
    oxc: false,
    ssr: { noExternal: true },
    build: {
      ssr: true,
      outDir: join(folder, 'dist'),
      rolldownOptions: {
        input: { sluice: join(draft, 'cli', 'remote.js') },
        // Two folders deep, as the modules are that find package.json above them.
        output: { entryFileNames: 'cli/[name].js', codeSplitting: false },
      },
    },
  });
  const { version, license, engines, type } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  const description =
    'Command of Sluice, a release control plane, for machines without the service.';
  const content = {
    ...{ name: 'sluice-cli', version, description, license, type, engines },
    bin: { sluice: 'dist/cli/sluice.js' },
    files: ['dist', 'THIRD-PARTY-LICENSES'],
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(content, undefined, 2)}\n`);
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES'), licencesOf(built));
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  chmodSync(join(folder, 'dist', 'cli', 'sluice.js'), 0o755);
}

/**
 * Returns the licences of the packages that are in bundles, each with its name.
 *
 * @param {Awaited<ReturnType<typeof import('vite').build>>} built
 */
function licencesOf(built) {
  const chunks = [built].flat().flatMap((each) => ('output' in each ? each.output : []));
  const modules = chunks.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []));
  const homes = new Set(
    modules.flatMap((id) => /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/?]+)/.exec(id)?.[1] ?? []),
  );
  const texts = [...homes].sort().map((home) => {
    const file = readdirSync(home).find((name) => /^licen[cs]e/i.test(name));
    if (file === undefined) throw new Error(`${home} has no licence`);
    return `${relative(join(root, 'node_modules'), home)}\n\n${readFileSync(join(home, file), 'utf8').trim()}\n`;
  });
  return texts.join('\n---\n\n');
}

/**
 * Returns the plugin that hands the bundler the compiled modules with their source maps. A module goes on
 * finding the files beside it, because its own address is told as seen from `bundle/`; a program that had
 * such a module in its own file, outside of that folder, is not built.
 *
 * @param {string} draft
 * @returns {import('vite').Plugin}
 */
function modulesOf(draft) {
  return {
    name: 'modules-of-the-service',
    load(id) {
      if (!id.startsWith(draft)) return null;
      const code = readFileSync(id, 'utf8');
      const url = `new URL(${JSON.stringify(`../${relative(draft, id)}`)}, import.meta.url).href`;
      return {
        code: code.replaceAll('import.meta.url', url),
        map: readFileSync(`${id}.map`, 'utf8'),
      };
    },
    generateBundle(_options, bundle) {
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== 'chunk' || chunk.fileName.startsWith('bundle/')) continue;
        if (!chunk.code.includes('import.meta.url')) continue;
        throw new Error(`${chunk.fileName} must hold no module that finds files beside it`);
      }
    },
  };
}

/**
 * Takes the ledger template of the last build, or makes a new one when PGlite or the schema changed.
 *
 * @param {string} draft
 */
async function provideTemplate(draft) {
  const previous = join(output, 'store', 'ledger', 'database', 'template');
  const next = join(draft, 'store', 'ledger', 'database', 'template');
  const key = templateKey(draft);
  if (existsSync(previous) && readFileSync(`${previous}.key`, 'utf8') === key) {
    cpSync(previous, next, { recursive: true });
  } else {
    await makeTemplate(draft, next);
  }
  writeFileSync(`${next}.key`, key);
}

/**
 * Returns a key of all that decides the content of a template: PGlite, and the files of the schema.
 *
 * @param {string} draft
 */
function templateKey(draft) {
  const pglite = join(root, 'node_modules', '@electric-sql', 'pglite', 'package.json');
  const ledger = join(draft, 'store', 'ledger', 'database');
  const scripts = ['schema', 'migration', 'function'].flatMap((folder) =>
    readdirSync(join(ledger, folder))
      .sort()
      .map((name) => join(ledger, folder, name)),
  );
  const hash = createHash('sha256');
  for (const file of [pglite, join(ledger, 'migrate.js'), ...scripts]) {
    hash.update(readFileSync(file)).update('\0');
  }
  return hash.digest('hex');
}

/**
 * @param {string} draft
 * @param {string} template
 */
async function makeTemplate(draft, template) {
  /** @param {string} name */
  const load = (name) =>
    import(pathToFileURL(join(draft, 'store', 'ledger', 'database', name)).href);
  const { openPgliteDatabase } = await load('pglite-database.js');
  const { migrate } = await load('migrate.js');
  const made = `${template}.draft`;
  /** @type {unknown[]} */
  const faults = [];
  const database = await openPgliteDatabase({
    directory: made,
    onFault: (/** @type {unknown} */ error) => faults.push(error),
  });
  await migrate(database);
  await database.close();
  // The marker of a directory that was used.
  rmSync(`${made}.used`);
  if (faults.length > 0) throw new AggregateError(faults, 'The ledger template was not made');
  // The service may run as another user than the build: that user must be able to read the template, and
  // unable to change it.
  chmodSync(made, 0o755);
  for (const entry of readdirSync(made, { recursive: true, withFileTypes: true })) {
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644);
  }
  renameSync(made, template);
}

/** @param {string} draft */
function putInPlace(draft) {
  const previous = `${draft}.previous`;
  if (existsSync(output)) renameSync(output, previous);
  renameSync(draft, output);
  rmSync(previous, { recursive: true, force: true });
}

if (!(process.argv.includes('--if-stale') && isFresh())) {
  const begin = performance.now();
  const cause = existsSync(stamp) ? 'sources are newer than dist/' : 'dist/ is not there yet';
  process.stderr.write(`Building the service (${cause}): this takes about half a minute…\n`);
  await build();
  process.stderr.write(`Built in ${Math.round((performance.now() - begin) / 1000)} s.\n`);
}
