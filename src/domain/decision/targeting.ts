// Compiles release targeting into predicates when the catalog is built, so that a check interprets nothing.
// One group tests the fields of a request, which all devices with the same platform, arch and version share;
// the other tests the labels of a device.

import type { TargetExpression, Targeting } from '../../contract/resource.ts';
import { foldPlatform } from './artifact/artifact.ts';
import { foldArch, NO_ARCH } from './artifact/fold-arch.ts';
import { compareVersions, parseVersion, type Version } from './version.ts';

/** Reserved fields of a request; platform and arch are folded. */
export type RequestFields = {
  readonly version: Version | undefined;
  readonly platform: string;
  /** `NO_ARCH` if the request names none. */
  readonly arch: string;
};

export type Labels = ReadonlyMap<string, string>;
type FieldTest = (fields: RequestFields) => boolean;
type LabelTest = (labels: Labels) => boolean;

export type CompiledTargeting = {
  readonly fieldTests: readonly FieldTest[];
  readonly labelTests: readonly LabelTest[];
  /** Keys that the label tests read. */
  readonly labelKeys: readonly string[];
  /** Versions that the field tests compare with. */
  readonly versions: readonly Version[];
};

const EVERY_DEVICE: CompiledTargeting = {
  fieldTests: [],
  labelTests: [],
  labelKeys: [],
  versions: [],
};

/** Compiles a validated targeting object; null targets every device. */
export function compileTargeting(targeting: Targeting | null): CompiledTargeting {
  if (targeting === null) return EVERY_DEVICE;
  const fieldTests: FieldTest[] = [];
  const labelTests: LabelTest[] = [];
  const labelKeys = new Set(Object.keys(targeting.matchLabels));
  for (const [key, values] of Object.entries(targeting.matchLabels)) {
    labelTests.push(labelTest(key, { key, operator: 'In', values }));
  }
  for (const expression of targeting.matchExpressions) {
    if (expression.key.startsWith('$')) fieldTests.push(fieldTest(expression));
    else {
      labelKeys.add(expression.key);
      labelTests.push(labelTest(expression.key, expression));
    }
  }
  const versions = targeting.matchExpressions.flatMap(versionsIn);
  return { fieldTests, labelTests, labelKeys: [...labelKeys], versions };
}

/** Returns the versions that an expression names. Values that do not parse are left out. */
function versionsIn({ key, values }: TargetExpression): Version[] {
  if (key !== '$version') return [];
  return values.map(parseVersion).filter((version) => version !== undefined);
}

/** Returns whether every test on a reserved field (`$`) holds. */
export function matchesFields(tests: readonly FieldTest[], fields: RequestFields): boolean {
  for (const test of tests) {
    if (!test(fields)) return false;
  }
  return true;
}

/** Returns whether every test on a label holds. */
export function matchesLabels(tests: readonly LabelTest[], labels: Labels): boolean {
  for (const test of tests) {
    if (!test(labels)) return false;
  }
  return true;
}

function labelTest(key: string, expression: TargetExpression): LabelTest {
  return valueTest(expression, (labels: Labels) => labels.get(key), expression.values);
}

function fieldTest(expression: TargetExpression): FieldTest {
  const { key, operator, values } = expression;
  switch (key) {
    case '$platform':
      return valueTest(expression, (fields) => fields.platform, values.map(foldPlatform));
    case '$arch':
      return valueTest(
        expression,
        (fields) => (fields.arch === NO_ARCH ? undefined : fields.arch),
        values.map((value) => foldArch(value, '')),
      );
    case '$version':
      if (operator === 'VersionGte' || operator === 'VersionLt') return versionTest(expression);
      return valueTest(
        expression,
        (fields) => fields.version?.canonical,
        values.map((value) => parseVersion(value)?.canonical ?? value),
      );
    default:
      // The API refuses unknown fields. A row edited by hand must not widen the release.
      return () => false;
  }
}

function valueTest<Source>(
  expression: TargetExpression,
  read: (source: Source) => string | undefined,
  values: readonly string[],
): (source: Source) => boolean {
  const accepted = new Set(values);
  switch (expression.operator) {
    case 'In':
      return (source) => {
        const value = read(source);
        return value !== undefined && accepted.has(value);
      };
    case 'NotIn':
      return (source) => {
        const value = read(source);
        return value !== undefined && !accepted.has(value);
      };
    case 'Exists':
      return (source) => read(source) !== undefined;
    case 'DoesNotExist':
      return (source) => read(source) === undefined;
    default:
      // The API refuses version operators on other keys. A row edited by hand must not widen the release.
      return () => false;
  }
}

function versionTest(expression: TargetExpression): FieldTest {
  const bound = parseVersion(expression.values[0] ?? '');
  if (bound === undefined) return () => false;
  const wantsAtLeast = expression.operator === 'VersionGte';
  return ({ version }) =>
    version !== undefined && compareVersions(version, bound) >= 0 === wantsAtLeast;
}

/** Returns whether a targeting has a condition. Null and a targeting without any match every device. */
export function isTargeted(targets: Targeting | null): boolean {
  if (targets === null) return false;
  return Object.keys(targets.matchLabels).length > 0 || targets.matchExpressions.length > 0;
}

export const NO_CONDITIONS: Targeting = { matchLabels: {}, matchExpressions: [] };

// Describes the targeting conditions that a device does not meet, for people.

const WORDS: Readonly<Record<TargetExpression['operator'], string>> = {
  In: 'must be one of',
  NotIn: 'must be set, and none of',
  Exists: 'must be set',
  DoesNotExist: 'must not be set',
  VersionGte: 'must be at least',
  VersionLt: 'must be below',
};

/** Returns one sentence without its full stop per unmet condition. */
export function unmetConditions(
  targets: Targeting | null,
  fields: RequestFields,
  labels: Labels,
): readonly string[] {
  return unmetExpressions(targets, fields, labels).map((condition) =>
    describe(condition, fields, labels),
  );
}

/**
 * Returns the unmet conditions as expressions; one on `matchLabels` becomes an `In` expression. Tests them
 * with the same code as update checks.
 */
export function unmetExpressions(
  targets: Targeting | null,
  fields: RequestFields,
  labels: Labels,
): readonly TargetExpression[] {
  if (targets === null) return [];
  const conditions: TargetExpression[] = [
    ...Object.entries(targets.matchLabels).map(
      ([key, values]): TargetExpression => ({ key, operator: 'In', values }),
    ),
    ...targets.matchExpressions,
  ];
  return conditions.filter((condition) => !isMet(condition, fields, labels));
}

function isMet(condition: TargetExpression, fields: RequestFields, labels: Labels): boolean {
  const compiled = compileTargeting({ matchLabels: {}, matchExpressions: [condition] });
  return matchesFields(compiled.fieldTests, fields) && matchesLabels(compiled.labelTests, labels);
}

function describe(
  { key, operator, values }: TargetExpression,
  fields: RequestFields,
  labels: Labels,
): string {
  const wanted = values.length === 0 ? WORDS[operator] : `${WORDS[operator]} ${values.join(', ')}`;
  const present = key.startsWith('$') ? fieldText(key, fields) : labels.get(key);
  const subject = key.startsWith('$') ? key.slice(1) : `label ${key}`;
  return `${subject} ${wanted}, and is ${present === undefined || present === '' ? 'not set' : present}`;
}

function fieldText(key: string, { version, platform, arch }: RequestFields): string | undefined {
  if (key === '$platform') return platform;
  return key === '$arch' ? arch : version?.canonical;
}
