// Compiles src/ to dist/ and carries over the files the compiler does not know (.sql, .lua).
// With --if-stale it does nothing when dist/ is newer than every source, so `npm start` stays quick.
// Plain JavaScript, because it runs before anything has been compiled.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const source = join(root, 'src');
const output = join(root, 'dist');
const stamp = join(output, '.built');

/** Every file below src/, as absolute paths. */
function sourceFiles() {
  return readdirSync(source, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function isFresh() {
  if (!existsSync(stamp)) return false;
  const builtAt = statSync(stamp).mtimeMs;
  const inputs = [...sourceFiles(), join(root, 'package-lock.json'), join(root, 'tsconfig.json')];
  return inputs.every((file) => statSync(file).mtimeMs <= builtAt);
}

function build() {
  // A file deleted from src/ must not live on in dist/: the compiler never removes one.
  rmSync(output, { recursive: true, force: true });
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const compiled = spawnSync(process.execPath, [compiler, '-p', source], { stdio: 'inherit' });
  if (compiled.status !== 0) process.exit(compiled.status ?? 1);
  for (const file of sourceFiles()) {
    if (/\.(sql|lua)$/.test(file)) cpSync(file, join(output, relative(source, file)));
  }
  chmodSync(join(output, 'cli', 'sluice.js'), 0o755);
  writeFileSync(stamp, '');
}

if (!(process.argv.includes('--if-stale') && isFresh())) build();
