// Finds the files of a build, as its tool leaves them: in one folder, or in nested folders. Skips unpacked
// apps and the tool's working folders as a whole.

import { type Dirent, existsSync, readdirSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { ServiceError } from '../call/service-client.ts';
import { GORELEASER_LIST, readGoreleaserList } from './goreleaser-list.ts';

/** Maximum number of nested folders between an argument and a file. */
const DEPTH_MAX = 4;
/** Maximum number of files and folders below all arguments. */
const ENTRIES_MAX = 1000;

/** File that may become a part of the release. */
export type BuildFile = {
  readonly path: string;
  /** Name under which it is uploaded: usually the last part of the path. */
  readonly name: string;
  /** Size in bytes. */
  readonly size: number;
};

/** File or folder that does not become a part of the release, and why. */
export type PassedOver = { readonly file: string; readonly reason: string };

/** Result of a search below the arguments of the command. */
export type BuildFiles = {
  readonly files: readonly BuildFile[];
  readonly passedOver: readonly PassedOver[];
};

const UNPACKED = 'an app that is not packed';
const WORKPLACE = 'a folder that the build tool works with';

/** Names of unpacked apps: `win-arm64-unpacked`, `Notes.app`, `Notes.AppDir`. */
const UNPACKED_NAME = /(?:-unpacked|\.(?:app|appdir|framework|dsym|xcarchive|appex))$/i;
/**
 * Names of folders in which a tool works: `.icon-ico`, `__appImage-x64`, Tauri's `share`, Sparkle's
 * `old_updates`.
 */
const WORKPLACE_NAME = /^(?:\..*|__.*|node_modules|share|appimage_deb|old_updates)$/i;
/** Files and folders at the root of an unpacked app: of Electron, of a Linux package, of an AppImage. */
const IN_UNPACKED: ReadonlySet<string> = new Set([
  ...['LICENSES.chromium.html', 'chrome_100_percent.pak', 'icudtl.dat'],
  ...['AppRun', 'DEBIAN', 'debian-binary', 'usr'],
]);

/** Endings of the archives that tools pack a folder of the same name into. */
const ARCHIVE_ENDINGS = ['.zip', '.tar.gz', '.tar.xz', '.tar.zst', '.tgz'];
/** Files that goreleaser writes at the root of its folder, beside a folder for each program. */
const OF_GORELEASER = ['artifacts.json', 'metadata.json'];
/** Names of goreleaser's folders for programs: `notes_windows_amd64_v1`. */
const COMPILED_NAME =
  /_(?:aix|android|darwin|(?:free|net|open)bsd|linux|solaris|windows)_[a-z0-9]+/i;

/**
 * Finds the files that paths name: the path's own file, or all files below its folder. Throws a
 * `ServiceError` when a path does not exist, or there are too many files.
 */
export function filesOfBuild(paths: readonly string[]): BuildFiles {
  const walk = new Walk();
  for (const path of paths) walk.take(path, statOf(path));
  return walk;
}

/** Walk through the folders; counts the files and folders that it finds. */
class Walk implements BuildFiles {
  readonly files: BuildFile[] = [];
  readonly passedOver: PassedOver[] = [];
  private readonly seen = new Set<string>();
  /** Upload names of the files in goreleaser's lists, by path. */
  private readonly uploadNames = new Map<string, string>();
  private entries = 0;

  /** Adds the file or folder that an argument names. Follows a link, because the caller has named it. */
  take(path: string, stat: Stats): void {
    if (stat.isDirectory()) this.enterArgument(path);
    else if (stat.isFile()) this.add(path, stat.size);
    else throw new ServiceError(`neither a file nor a folder: ${path}`);
  }

  /** Enters a folder; passes over goreleaser's folder of a packed program, which `dist/*` names as well. */
  private enterArgument(path: string): void {
    const [parent, name] = [dirname(resolve(path)), basename(resolve(path))];
    const isCompiled = COMPILED_NAME.test(name);
    if (!isCompiled || !existsSync(join(parent, GORELEASER_LIST))) return this.enter(path, 0);
    this.readUploadNames(parent);
    const names = new Set(entriesOf(parent).map((entry) => entry.name));
    if (!this.hasUploads(path) && isPackedBeside(name, names)) this.passOver(path, UNPACKED);
    else this.enter(path, 0);
  }

  private enter(path: string, depth: number): void {
    const name = basename(resolve(path));
    if (depth > DEPTH_MAX) return this.passOver(path, `below more than ${DEPTH_MAX} folders`);
    if (UNPACKED_NAME.test(name)) return this.passOver(path, UNPACKED);
    if (WORKPLACE_NAME.test(name) && path !== '.') return this.passOver(path, WORKPLACE);
    const entries = entriesOf(path);
    if (entries.some((entry) => IN_UNPACKED.has(entry.name))) return this.passOver(path, UNPACKED);
    this.entries += entries.length;
    if (this.entries > ENTRIES_MAX) {
      const words = `more than ${ENTRIES_MAX} files and folders: name the folder of the installers`;
      throw new ServiceError(`${path} leads to ${words}`);
    }
    const names = new Set(entries.map((entry) => entry.name));
    if (names.has(GORELEASER_LIST)) this.readUploadNames(path);
    for (const entry of entries) this.meet(join(path, entry.name), entry, depth, names);
  }

  private meet(path: string, entry: Dirent, depth: number, beside: ReadonlySet<string>): void {
    if (entry.isSymbolicLink()) this.passOver(path, 'a symbolic link');
    else if (entry.isDirectory() && !this.hasUploads(path) && isPackedBeside(entry.name, beside))
      this.passOver(path, UNPACKED);
    else if (entry.isDirectory()) this.enter(path, depth + 1);
    else if (entry.isFile()) this.add(path, statOf(path).size);
    else this.passOver(path, 'no file');
  }

  private readUploadNames(folder: string): void {
    for (const { path, name } of readGoreleaserList(folder) ?? []) this.uploadNames.set(path, name);
  }

  private hasUploads(folder: string): boolean {
    const beginning = resolve(folder) + sep;
    return [...this.uploadNames.keys()].some((path) => path.startsWith(beginning));
  }

  private add(path: string, size: number): void {
    const place = resolve(path);
    if (this.seen.has(place)) return;
    this.seen.add(place);
    this.files.push({ path, name: this.uploadNames.get(place) ?? basename(path), size });
  }

  private passOver(file: string, reason: string): void {
    const place = resolve(file);
    if (this.seen.has(place)) return;
    this.seen.add(place);
    this.passedOver.push({ file, reason });
  }
}

/** Whether a folder's content is packed beside it: in an archive of its name, or in one of goreleaser's. */
function isPackedBeside(name: string, beside: ReadonlySet<string>): boolean {
  if (ARCHIVE_ENDINGS.some((ending) => beside.has(`${name}${ending}`))) return true;
  return COMPILED_NAME.test(name) && OF_GORELEASER.every((file) => beside.has(file));
}

function statOf(path: string): Stats {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new ServiceError(`no such file: ${path}`);
  return stat;
}

/** Returns the entries of a folder, sorted by name. */
function entriesOf(path: string): readonly Dirent[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.sort((left, right) => (left.name < right.name ? -1 : 1));
  } catch (error) {
    throw new ServiceError(`cannot read ${path}: ${(error as Error).message}`);
  }
}
