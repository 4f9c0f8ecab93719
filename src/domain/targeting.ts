// Release targeting, compiled: a targeting object becomes predicates once, when the catalog is built, and
// a check interprets nothing. The predicates fall into two groups: those that only need what every
// request of the same (platform, arch, version) shares, decided once per plan, and those over labels.

import type { TargetExpression, Targeting } from '../contract/resource.ts';
import { foldArch, foldPlatform, NO_ARCH } from './artifact.ts';
import { compareVersions, parseVersion, type Version } from './version.ts';

/** The reserved fields of a request; platform and arch are folded. */
export type RequestFields = {
  readonly version: Version | undefined;
  readonly platform: string;
  /** `NO_ARCH` when the device told none. */
  readonly arch: string;
};

export type Labels = ReadonlyMap<string, string>;
type FieldTest = (fields: RequestFields) => boolean;
type LabelTest = (labels: Labels) => boolean;

export type CompiledTargeting = {
  readonly fieldTests: readonly FieldTest[];
  readonly labelTests: readonly LabelTest[];
  /** The keys that the label tests look at. */
  readonly labelKeys: readonly string[];
  /** All that the field tests compare a version with. */
  readonly versions: readonly Version[];
};

const EVERYBODY: CompiledTargeting = {
  fieldTests: [],
  labelTests: [],
  labelKeys: [],
  versions: [],
};

/** Compiles a validated targeting object; `null` targets everybody. */
export function compileTargeting(targeting: Targeting | null): CompiledTargeting {
  if (targeting === null) return EVERYBODY;
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

/** A value that is no version is compared with none: no canonical form is like it. */
function versionsIn({ key, values }: TargetExpression): Version[] {
  if (key !== '$version') return [];
  return values.map(parseVersion).filter((version) => version !== undefined);
}

/** The device-independent group: true when every `$` expression holds. */
export function matchesFields(compiled: CompiledTargeting, fields: RequestFields): boolean {
  for (const test of compiled.fieldTests) {
    if (!test(fields)) return false;
  }
  return true;
}

/** The label group: true when every label test holds. */
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
        values.map(foldArch),
      );
    case '$version':
      if (operator === 'VersionGte' || operator === 'VersionLt') return versionTest(expression);
      return valueTest(
        expression,
        (fields) => fields.version?.canonical,
        values.map((value) => parseVersion(value)?.canonical ?? value),
      );
    default:
      // Refused when the targeting was set; a row edited by hand must not widen a release.
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
      // A version operator on anything but $version: refused when set, closed if it got here.
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
