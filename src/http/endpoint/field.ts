// Shapes of fields that several bodies and queries share.

import { z } from 'zod';
import { parseUrl } from '../../contract/address.ts';
import { RELEASE_STATUSES, TARGET_OPERATORS } from '../../contract/choice.ts';
import { isFailure } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { TargetExpression, TargetOperator } from '../../contract/resource.ts';
import {
  HAS_CONTROLS,
  hasControls,
  isFoldedAway,
  isLongerThan,
  isStorable,
  NOT_STORABLE,
  turnsText,
  withoutLineBreak,
} from '../../contract/text.ts';
import { readKind } from '../../domain/decision/artifact/artifact-format.ts';
import { parseVersion } from '../../domain/decision/version.ts';
import { refuseLabel } from '../../domain/fleet/labels.ts';

/**
 * Shape of a text of `min` to `max` characters that can be stored: PostgreSQL stores no NUL, and half a
 * surrogate pair has no UTF-8 form. `text` may convert the value before it is checked.
 */
export function textField(max: number, min = 1, text = z.string()) {
  const bound = Number.isFinite(max) ? { maxLength: max } : {};
  return text
    .refine((value) => value.length >= min, { error: 'Must not be empty', abort: true })
    .refine((value) => !isLongerThan(value, max), `Must have at most ${max} characters`)
    .refine((value) => isStorable(value), NOT_STORABLE)
    .meta({ ...bound, minLength: min });
}

/** Shape like `textField` of a text without control characters other than those in `allowed`. */
export function plainTextField(max: number, allowed = '', text = z.string()) {
  return textField(max, 1, text).refine((value) => !hasControls(value, allowed), HAS_CONTROLS);
}

/**
 * Name by which a caller refers to an existing resource: an app's ref or id, a channel's name, an id. Any
 * text is accepted, because an unknown name is refused with 404.
 */
export const nameField = textField(1024);

/** Query that names an app. */
export const appQuery = z.object({ app: nameField.describe('Ref or id of the app.') });

export const versionField = z
  .string()
  .refine((text) => parseVersion(text) !== undefined, 'Invalid version');

/**
 * Returns the value of a parameter that can have no space, such as a version or a format, with each space as
 * `+`: many clients send `+` unescaped, and form decoding has made it a space (docs/contract.md 1.8).
 */
export function withPlus(value: string): string {
  return value.replaceAll(' ', '+');
}

/** Version in a query. */
export const versionParameter = z.string().overwrite(withPlus).pipe(versionField);

export const rolloutField = z.int().min(0).max(LIMIT.rolloutPctMax);

/** Reason of a change, for the audit; an empty text means no reason. */
export const reasonField = textField(LIMIT.reasonLengthMax, 0).transform(
  (text) => text || undefined,
);

const NOT_A_TIME = 'Must be an RFC 3339 time';

/**
 * Time, converted to UTC: PostgreSQL accepts every UTC time of the years 1 to 9999, but not every offset.
 */
export const timeField = z.iso
  .datetime({ offset: true, error: NOT_A_TIME })
  .transform((text) => new Date(text).toISOString())
  .refine((time) => /^(?!0000)\d{4}-/.test(time), NOT_A_TIME);

export const statusField = z.enum(RELEASE_STATUSES);

/** Shape of a whole number in a query, where every value is text. */
export function wholeField(min: number, max: number, fallback: number) {
  return z.coerce.number().int().min(min).max(max).default(fallback);
}

/**
 * Email address, converted to lower case, because accounts are found by it. Only its form is checked, not
 * whether it exists.
 */
export const emailField = z
  .string()
  .transform((text) => text.trim().toLowerCase())
  .refine(
    (text) =>
      /^[^\s@]+@[^\s@]+$/.test(text) && text.length <= LIMIT.emailLengthMax && isStorable(text),
    'Must be an email address',
  );

/** New password of an account. Only its length is checked, because length makes a password strong. */
export const newPasswordField = z
  .string()
  .refine(
    (text) => text.length >= LIMIT.passwordLengthMin,
    `Must have at least ${LIMIT.passwordLengthMin} characters`,
  )
  .refine(
    (text) => !isLongerThan(text, LIMIT.passwordLengthMax),
    `Must have at most ${LIMIT.passwordLengthMax} characters`,
  )
  .refine((text) => text.isWellFormed(), 'Must not contain broken characters');

const FORMAT = new RegExp(`^[a-z0-9][a-z0-9.+-]{0,${LIMIT.artifactFormatLengthMax - 1}}$`);

const TURNS_REASON = 'Must not contain bidirectional control characters';

/** New display name of an app, an organization, an account or a key. */
export const titleField = textField(LIMIT.nameLengthMax).refine(
  (text) => !turnsText(text),
  TURNS_REASON,
);

/** Email address of a new account or an invitation. */
export const newEmailField = emailField.refine((text) => !turnsText(text), TURNS_REASON);

/** URL of an artifact. */
export const urlField = plainTextField(LIMIT.artifactUrlLengthMax).refine(
  isHttpUrl,
  'Must be an absolute http(s) URL',
);

/** Format of an artifact: one that Sluice knows, or a publisher's own name. */
export const formatField = z
  .string()
  .regex(FORMAT, `Must be a format's name of at most ${LIMIT.artifactFormatLengthMax} characters`);

/** Text of a checksum, without the trailing line break that `base64` and `cut` print. */
const sumText = z.string().overwrite(withoutLineBreak);

/** Checksum in any notation, such as base64. */
export const sumField = plainTextField(LIMIT.artifactPassThroughLengthMax, '', sumText);

/** Checksum of `digits` hexadecimal digits, converted to lower case. */
export function hexField(digits: number) {
  return sumText
    .regex(new RegExp(`^[0-9a-fA-F]{${digits}}$`), `Must be ${digits} hexadecimal digits`)
    .transform((text) => text.toLowerCase());
}

/** Version of an operating system: dotted numbers. */
export const systemVersionField = textField(LIMIT.systemVersionLengthMax).regex(
  /^\d+(?:\.\d+)*$/,
  'Must be dotted numbers',
);

/** JSON object whose keys are parsed one by one: `z.record` would drop a key such as `__proto__`. */
const objectField = z.custom<Record<string, unknown>>(isPlainObject, {
  error: 'Expected an object',
});

function isPlainObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isHttpUrl(text: string): boolean {
  return /^https?:\/\/[^\s]+$/i.test(text) && parseUrl(text) !== undefined;
}

// Shape of the targeting object that callers send. It refuses every mistake by which a release could reach
// other devices than the publisher meant, when targeting is set: an update check validates nothing.

const RESERVED_KEYS = new Set(['$version', '$platform', '$arch']);
const VERSION_OPERATORS = new Set<TargetOperator>(['VersionGte', 'VersionLt']);
const PRESENCE_OPERATORS = new Set<TargetOperator>(['Exists', 'DoesNotExist']);

const valueField = textField(LIMIT.labelValueLengthMax, 0);
const valuesField = z.array(valueField);

/**
 * Label rules, parsed key by key instead of by `z.record`, which would drop a key such as `__proto__`:
 * without its rule, the release would be offered to all devices.
 */
const matchLabelsField = objectField
  .transform((record, context) => {
    const entries: [string, string[]][] = [];
    for (const [key, value] of Object.entries(record)) {
      const reason = refuseKey(key);
      if (reason !== undefined) context.addIssue({ code: 'custom', path: [key], message: reason });
      const values = valuesField.min(1).safeParse(value);
      if (values.success) entries.push([key, values.data]);
      else context.addIssue({ code: 'custom', path: [key], message: 'Expected a list of values' });
    }
    return Object.fromEntries(entries);
  })
  .meta({
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'string' }, minItems: 1 },
  });

/** Key of a label. */
export const labelKeyField = z.string().superRefine((key, context) => {
  const reason = refuseKey(key);
  if (reason !== undefined) context.addIssue({ code: 'custom', message: reason });
});

const expressionField = z
  .strictObject({
    key: textField(LIMIT.labelKeyLengthMax),
    operator: z.enum(TARGET_OPERATORS),
    values: valuesField.default([]),
  })
  .superRefine((expression, context) => {
    const refusal = refuseExpression(expression);
    if (refusal === undefined) return;
    context.addIssue({ code: 'custom', path: [refusal.field], message: refusal.reason });
  });

/** Shape of a targeting object; absent parts become empty. */
export const targetingField = z.strictObject({
  matchLabels: matchLabelsField.default({}),
  matchExpressions: z.array(expressionField).default([]),
});

type Refusal = { readonly field: keyof TargetExpression; readonly reason: string };

function refuseExpression({ key, operator, values }: TargetExpression): Refusal | undefined {
  if (key.startsWith('$') && !RESERVED_KEYS.has(key)) {
    return { field: 'key', reason: 'Unknown reserved field' };
  }
  if (VERSION_OPERATORS.has(operator)) return refuseVersionTest(key, operator, values);
  if (PRESENCE_OPERATORS.has(operator)) {
    return values.length === 0
      ? undefined
      : { field: 'values', reason: `${operator} takes no values` };
  }
  if (values.length === 0) return { field: 'values', reason: 'Must have at least 1 item' };
  // A typo in a version list would silently match nothing, or with NotIn everything.
  if (key === '$version' && !values.every(isVersion)) {
    return { field: 'values', reason: 'Invalid version' };
  }
  return undefined;
}

function refuseVersionTest(
  key: string,
  operator: TargetOperator,
  values: readonly string[],
): Refusal | undefined {
  if (key !== '$version') return { field: 'key', reason: `${operator} applies to $version only` };
  const [version, ...others] = values;
  if (version === undefined || others.length > 0) {
    return { field: 'values', reason: `${operator} takes exactly one version` };
  }
  return isVersion(version) ? undefined : { field: 'values', reason: 'Invalid version' };
}

function refuseKey(key: string): string | undefined {
  if (!isStorable(key)) return NOT_STORABLE;
  const refusal = refuseLabel('', key, '');
  return refusal?.message.replace(/^: /, '');
}

function isVersion(text: string): boolean {
  return parseVersion(text) !== undefined;
}

// Shapes of the fields that describe a device, in bodies and in queries.

/** Id of a device that may be on record; earlier versions accepted ids that `deviceIdField` refuses. */
export const recordedIdField = textField(LIMIT.deviceIdLengthMax);
/** Id of a device that may be recorded: `.` and `..` are refused. */
export const deviceIdField = recordedIdField.refine(
  (id) => !isFoldedAway(id),
  'Must not be . or .., which addresses fold away',
);
export const platformField = textField(LIMIT.artifactNameLengthMax);
export const archField = platformField.optional();

/** Kind of a device's installation, which decides what it can be offered. */
export const bundleField = z.string().transform((text, context) => {
  const kind = readKind('', text);
  if (!isFailure(kind)) return kind;
  context.addIssue({ code: 'custom', message: kind.message.replace(/^: /, '') });
  return z.NEVER;
});

/** Version of a device in canonical form, by which the fleet is counted. */
export const deviceVersionField = z.string().transform((text, context) => {
  const version = parseVersion(text);
  if (version !== undefined) return version.canonical;
  context.addIssue({ code: 'custom', message: 'Invalid version' });
  return z.NEVER;
});

/**
 * Labels of a device, parsed key by key, so that no key is dropped or misinterpreted: `__proto__` is a label
 * like any other.
 */
export const labelsField = objectField
  .transform((record, context) => {
    const labels = new Map<string, string>();
    const entries = Object.entries(record);
    if (entries.length > LIMIT.labelCountMax) {
      context.addIssue({ code: 'custom', message: `At most ${LIMIT.labelCountMax} labels` });
    }
    for (const [key, value] of entries) {
      const reason = refuseEntry(key, value);
      if (reason !== undefined) context.addIssue({ code: 'custom', path: [key], message: reason });
      else labels.set(key, String(value));
    }
    return labels;
  })
  .meta({
    type: 'object',
    additionalProperties: { type: 'string' },
    maxProperties: LIMIT.labelCountMax,
  });

function refuseEntry(key: string, value: unknown): string | undefined {
  if (typeof value !== 'string') return 'Expected a string';
  if (!isStorable(key) || !isStorable(value)) return NOT_STORABLE;
  return refuseLabel('', key, value)?.message.replace(/^: /, '');
}
