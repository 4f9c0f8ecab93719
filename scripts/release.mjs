// Makes what a release of Sluice consists of, from the commit that is checked out:
//
//   sluice-VERSION.tgz          package of the service and its command, with the lock of its packages
//   sluice-cli-VERSION.tgz      package of the command alone, which needs no other package
//   sluice-VERSION-image.tgz    context of the image, for `docker build - <FILE`; it knows its commit
//   sluice-VERSION.cdx.json     SBOM of the service, CycloneDX
//   SHA256SUMS                  checksums of these files, for `sha256sum --check`
//
// Then it puts the tag vVERSION on that commit. The tag stays here until it is pushed.
//
// Plain JavaScript, as the build is; npm and git do the work.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const USAGE = `Usage: npm run release -- [FOLDER]

Makes the files of a release in FOLDER (default: release): packages, the context of the image, SBOM and
checksums; then tags the commit as vVERSION, and pushes nothing. The version is that of package.json. CHANGELOG.md
has a heading for it, its tag below, and nothing under Unreleased. Every file is committed, and FOLDER is new or
empty.
`;
const OUTPUT_BYTES_MAX = 64 * 2 ** 20;

/** @param {string} reason */
function refuse(reason) {
  process.stderr.write(`release: ${reason}\n`);
  process.exit(2);
}

/**
 * Runs a program in a folder; returns what it prints.
 *
 * @param {string} cwd
 * @param {string} program
 * @param {readonly string[]} args
 */
function run(cwd, program, args) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    maxBuffer: OUTPUT_BYTES_MAX,
  });
  if (status !== 0) throw new Error(`${program} ${args[0]}: ${error?.message ?? stderr}`);
  return stdout;
}

const [argument, ...others] = process.argv.slice(2);
if (argument === '--help') {
  process.stdout.write(USAGE);
  process.exit(0);
}
if (argument?.startsWith('-') || others.length > 0) refuse('one folder (--help for the usage)');
const folder = resolve(argument ?? join(root, 'release'));
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const { version } = manifest;
const tag = `v${version}`;
examineChangelog(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'));
if (existsSync(folder) && readdirSync(folder).length > 0) refuse(`${folder} is not empty`);
if (run(root, 'git', ['status', '--porcelain']) !== '')
  refuse('there are changes without a commit');

const commit = run(root, 'git', ['rev-parse', 'HEAD']).trim();
const tagged = commitOf(`refs/tags/${tag}`);
if (tagged !== undefined && tagged !== commit) {
  refuse(`the tag ${tag} is on commit ${tagged}, and not on ${commit}, which is checked out`);
}
if (tagged === undefined && !succeeds('git', ['var', 'GIT_COMMITTER_IDENT'])) {
  refuse('git does not know who tags: set user.name and user.email');
}
const tree = mkdtempSync(join(tmpdir(), 'sluice-release-'));
try {
  process.stdout.write(`Sluice ${version} of ${commit}: build, packages, SBOM…\n`);
  run(root, process.execPath, ['scripts/build.mjs']);
  mkdirSync(folder, { recursive: true });
  const content = stageService();
  run(content, 'npm', ['pack', '--pack-destination', folder]);
  run(join(root, 'dist', 'cli-package'), 'npm', ['pack', '--pack-destination', folder]);
  packImage();
  const sbom = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--omit=dev'];
  const bill = run(content, 'npm', [...sbom, '--package-lock-only']);
  writeFileSync(join(folder, `sluice-${version}.cdx.json`), bill);
  const sums = readdirSync(folder).sort().map(sumOf).join('');
  writeFileSync(join(folder, 'SHA256SUMS'), sums);
  // Last, because a tag says that the files were made.
  if (tagged === undefined) {
    run(root, 'git', ['tag', '--annotate', tag, '--message', `Sluice ${version}`, commit]);
  }
  process.stdout.write(`\n${sums}\nin ${folder}\n`);
  process.stdout.write(`Tag ${tag} is on ${commit}. To publish it: git push origin ${tag}\n`);
} finally {
  rmSync(tree, { recursive: true, force: true });
}

/**
 * Refuses a changelog in which the version is not, or not all of it.
 *
 * @param {string} text
 */
function examineChangelog(text) {
  const sections = text.split(/^## /m);
  const section = sections.find((each) => each.startsWith(`[${version}]`));
  if (section === undefined) return refuse(`CHANGELOG.md has no heading for ${version}`);
  if (!section.includes(`\nTag \`${tag}\``)) {
    refuse(`CHANGELOG.md does not name the tag ${tag} below its heading`);
  }
  const pending = sections.find((each) => each.startsWith('[Unreleased]')) ?? '';
  if (/^[-#]/m.test(pending)) refuse('CHANGELOG.md has entries under Unreleased');
}

/**
 * Returns the commit that a name stands for; undefined for no name of this repository.
 *
 * @param {string} name
 */
function commitOf(name) {
  const args = ['rev-parse', '--verify', '--quiet', `${name}^{commit}`];
  return spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout.trim() || undefined;
}

/**
 * Returns whether a program ends well.
 *
 * @param {string} program
 * @param {readonly string[]} args
 */
function succeeds(program, args) {
  return spawnSync(program, args, { cwd: root }).status === 0;
}

/** Copies the service with its lock, by which npm installs the very packages that the tests ran with. */
function stageService() {
  const content = join(tree, 'sluice');
  for (const name of ['dist', 'LICENSE', 'README.md', 'CHANGELOG.md']) {
    cpSync(join(root, name), join(content, name), { recursive: true });
  }
  cpSync(join(root, 'package-lock.json'), join(content, 'npm-shrinkwrap.json'));
  const described = {
    ...manifest,
    files: [...manifest.files, 'CHANGELOG.md', 'npm-shrinkwrap.json'],
  };
  writeFileSync(join(content, 'package.json'), `${JSON.stringify(described, undefined, 2)}\n`);
  return content;
}

/** Packs what the Dockerfile copies, and the Dockerfile with the commit. */
function packImage() {
  const context = join(tree, 'image');
  mkdirSync(context);
  const ignored = readFileSync(join(root, '.dockerignore'), 'utf8');
  const paths = ignored.split('\n').flatMap((line) => (line.startsWith('!') ? line.slice(1) : []));
  const archive = join(tree, 'image.tar');
  run(root, 'git', ['archive', `--output=${archive}`, commit, '.dockerignore', ...paths]);
  run(context, 'tar', ['-xf', archive]);
  const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8');
  const filled = dockerfile.replace('ARG SLUICE_COMMIT=unknown', `ARG SLUICE_COMMIT=${commit}`);
  writeFileSync(join(context, 'Dockerfile'), filled);
  run(context, 'tar', ['-czf', join(folder, `sluice-${version}-image.tgz`), '.']);
}

/** @param {string} name */
function sumOf(name) {
  const digest = createHash('sha256')
    .update(readFileSync(join(folder, name)))
    .digest('hex');
  return `${digest}  ${name}\n`;
}
