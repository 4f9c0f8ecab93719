// Reads goreleaser's list (`artifacts.json`): platform, architecture and checksum of each file, and which
// programs it uploads unpacked. Each program has its own folder, in which all have the same name.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { foldPlatform } from '../../domain/decision/artifact/artifact.ts';
import { knownArch } from '../../domain/decision/artifact/fold-arch.ts';
import type { AssetTarget } from '../../domain/release/asset/classify-assets.ts';
import { readJson } from '../call/text-file.ts';

/** Name of the list, which lies at the root of goreleaser's folder. */
export const GORELEASER_LIST = 'artifacts.json';

/** File that goreleaser uploads, or a program that it has not packed into any archive. */
export type GoreleaserFile = {
  /** Name in the file's address; for a program that is not uploaded, with its folder: `FOLDER/NAME`. */
  readonly name: string;
  /** Path on this machine. */
  readonly path: string;
  readonly target: AssetTarget;
  readonly sha512: string | undefined;
  readonly sha256: string | undefined;
  /** Why no device gets the file; undefined if devices can get it. */
  readonly reason: string | undefined;
};

const text = z.string().default('');
const made = z.object({
  ...{ name: text, path: text, type: text, goos: text, goarch: text, goarm: text },
  ...{ goamd64: text, goarm64: text, gomips: text, goppc64: text, goriscv64: text },
  internal_type: z.unknown().optional(),
  extra: z
    .looseObject({ Checksum: z.unknown().optional(), Format: z.unknown().optional() })
    .nullish(),
});
type Made = z.output<typeof made>;

/** Number of goreleaser's type for programs that are uploaded as they are. */
const UPLOADED_PROGRAM = 2;
/** Types of entries that have a platform but are not files for devices. */
const NO_FILE = /^(?:Published )?Docker|^C |^(?:Wheel|Source)/;
/** Processor variants that Go compiles for by default; programs for a later variant need it. */
const USUAL = { goamd64: 'v1', goarm64: 'v8.0', goppc64: 'power8', goriscv64: 'rva20u64' } as const;
type Variant = keyof typeof USUAL;
const VARIANTS = Object.keys(USUAL) as Variant[];

/** Returns the files of the list in a folder; undefined if goreleaser did not write the list. */
export function readGoreleaserList(folder: string): readonly GoreleaserFile[] | undefined {
  const { data } = z.array(made).safeParse(readJson(join(folder, GORELEASER_LIST)));
  if (data === undefined || data.every(({ goos }) => goos === '')) return undefined;
  const files = data.filter(({ goos, type }) => goos !== '' && !NO_FILE.test(type));
  return files
    .filter((file) => !isLocal(file) || !files.some((other) => packs(other, file)))
    .map((file) => fileOf(folder, file, files));
}

function isLocal({ type, internal_type, extra }: Made): boolean {
  return type === 'Binary' && internal_type !== UPLOADED_PROGRAM && extra?.Format !== 'binary';
}

/** Whether another file contains a program, or is the program itself under its upload name. */
function packs(other: Made, program: Made): boolean {
  return !isLocal(other) && (other.path === program.path || hasSameTarget(other, program));
}

function hasSameTarget(one: Made, other: Made): boolean {
  const fields = ['goos', 'goarch', 'goarm', ...VARIANTS] as const;
  return fields.every((field) => one[field] === other[field]);
}

function fileOf(folder: string, file: Made, files: readonly Made[]): GoreleaserFile {
  const place = placeIn(folder, file.path);
  const [, algorithm, sum] =
    /^(sha256|sha512):([0-9a-f]+)$/i.exec(String(file.extra?.Checksum)) ?? [];
  return {
    name: isLocal(file) ? place : file.name,
    path: resolve(folder, place),
    target: targetOf(file),
    sha256: algorithm === 'sha256' ? sum : undefined,
    sha512: algorithm === 'sha512' ? sum : undefined,
    reason: reasonOf(file, files),
  };
}

/** Makes a path from where goreleaser ran, `dist/tool_linux_amd64_v1/tool`, one below its folder. */
function placeIn(folder: string, path: string): string {
  const parts = path.split(/[\\/]/);
  const places = parts.map((_, index) => parts.slice(index).join('/'));
  return places.find((place) => existsSync(join(folder, place))) ?? parts.slice(-2).join('/');
}

function targetOf({ goos, goarch, goarm }: Made): AssetTarget {
  const platform = foldPlatform(goos);
  if (goarch === 'all') return { platform, arch: 'universal' };
  const word = goarch === 'arm' ? `armv${/^\d/.exec(goarm)?.[0] ?? '6'}` : goarch;
  return { platform, arch: knownArch(word, platform) ?? word };
}

/** Returns why a file is passed over: it needs a later processor than another file for the same devices. */
function reasonOf(file: Made, files: readonly Made[]): string | undefined {
  const variant = VARIANTS.find((each) => file[each] !== '' && file[each] !== USUAL[each]);
  if (variant === undefined) return undefined;
  const usual = USUAL[variant];
  const isBeside = files.some((other) => hasSameTarget({ ...file, [variant]: usual }, other));
  return isBeside
    ? `needs ${variant} ${file[variant]}, and one for ${usual} is beside it`
    : undefined;
}
